//! Many unhealthy Machines at a time: how many fail, and when none does.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::{self, Host, Stage, in_namespace};

const MINUTE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(2);

fn name(number: usize) -> String {
    format!("m-{number}")
}

/// Machines of one deployment, all Running. They are all in one zone of the cloud.
async fn running(machines: usize, change: impl Fn(&mut Value)) -> (Stage, Host) {
    let stage = Stage::set();
    let host = stage.host("host");
    for number in 0..machines {
        stage.add_machine_with(&name(number), |machine| {
            machine["metadata"]["labels"] = json!({ "name": "pool" });
            change(machine);
        });
    }
    for number in 0..machines {
        stage.until_running(&name(number)).await;
    }
    tokio::time::sleep(SOON).await;
    (stage, host)
}

fn in_phase(stage: &Stage, machines: usize, phase: &str) -> Vec<String> {
    (0..machines).map(name).filter(|name| stage.phase(name) == phase).collect()
}

/// All Nodes are sick, and say so: that is no silence.
fn sicken(stage: &Stage, machines: usize) {
    (0..machines).for_each(|number| stage.report_ready(&name(number), "False"));
}

/// The Machine goes, as when its set replaces it.
async fn replace(stage: &Stage, machine: &str) {
    stage.api.delete("machines", &in_namespace(machine)).unwrap();
    stage.until_gone(machine).await;
}

#[tokio::test(start_paused = true)]
async fn of_many_sick_machines_of_a_deployment_one_at_a_time_is_failed() {
    let (stage, _host) = running(12, |_| {}).await;
    sicken(&stage, 12);
    tokio::time::sleep(11 * MINUTE).await;
    for replaced in 0..3 {
        let failed = in_phase(&stage, 12, "Failed");
        assert_eq!((failed.len(), in_phase(&stage, 12, "Unknown").len()), (1, 11 - replaced));
        let held = in_phase(&stage, 12, "Unknown").pop().unwrap();
        assert_eq!(stage.reason(&held), "ReplacementHeld");
        let (status, _, message) = stage.reported(&held, "Healthy");
        assert!(status == "False" && message.contains("held"), "{message}");
        // As long as it is there, no other one is failed.
        tokio::time::sleep(30 * MINUTE).await;
        assert_eq!(in_phase(&stage, 12, "Failed"), failed);
        replace(&stage, &failed[0]).await;
        tokio::time::sleep(SOON).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_says_how_many_of_its_deployment_may_be_replaced_at_a_time() {
    for (limit, machines, failed) in [("3", 8, 3), ("25%", 8, 2), ("nonsense", 4, 1), ("0", 3, 0)] {
        let (stage, _host) = running(machines, |machine| {
            machine["metadata"]["annotations"] = json!({ "machinist.dev/max-unhealthy-replacements": limit });
        })
        .await;
        sicken(&stage, machines);
        tokio::time::sleep(15 * MINUTE).await;
        assert_eq!(in_phase(&stage, machines, "Failed").len(), failed, "{limit}");
        let held = in_phase(&stage, machines, "Unknown").pop().unwrap();
        let (_, _, message) = stage.reported(&held, "Ready");
        assert_eq!(message.contains("neither a number"), limit == "nonsense", "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_writes_nothing() {
    let (stage, _host) = running(6, |_| {}).await;
    sicken(&stage, 6);
    tokio::time::sleep(12 * MINUTE).await;
    let begun = stage.wire.len();
    tokio::time::sleep(60 * MINUTE).await;
    let calls = stage.wire.records_since(begun, |call| call.is_request() && call.verb != "WATCH");
    assert!(calls.is_empty(), "{}", memory_api::wire::table(&calls));
}

#[tokio::test(start_paused = true)]
async fn a_silent_zone_whose_vms_are_alive_is_held_and_let_go_when_its_nodes_speak() {
    let (stage, _host) = running(4, |_| {}).await;
    (0..4).for_each(|number| stage.report_ready(&name(number), "Unknown"));
    tokio::time::sleep(40 * MINUTE).await;
    assert_eq!(in_phase(&stage, 4, "Unknown").len(), 4);
    let held = (0..4).map(name).filter(|name| stage.reason(name) == "ZoneHeld").count();
    assert!(held > 0, "{:?}", stage.reported("m-0", "Ready"));
    let events: Vec<String> = (0..4).flat_map(|number| stage.events(&name(number))).collect();
    assert!(events.iter().any(|reason| reason == "ZoneHeld"), "{events:?}");
    (0..4).for_each(|number| stage.report_ready(&name(number), "True"));
    for number in 0..4 {
        stage.until_running(&name(number)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_of_a_silent_zone_fails_when_the_cloud_says_that_its_vm_is_gone() {
    let (stage, _host) = running(3, |_| {}).await;
    (0..3).for_each(|number| stage.report_ready(&name(number), "Unknown"));
    tokio::time::sleep(20 * MINUTE).await;
    assert!(in_phase(&stage, 3, "Failed").is_empty());
    stage.cloud.lose("m-1");
    let fails = || in_phase(&stage, 3, "Failed") == ["m-1"];
    stage.until("the one without a VM fails", 10 * MINUTE, fails).await;
    tokio::time::sleep(30 * MINUTE).await;
    assert!(fails());
}

#[tokio::test(start_paused = true)]
async fn one_silent_node_among_many_is_no_silent_zone() {
    let (stage, _host) = running(5, |_| {}).await;
    stage.report_ready("m-0", "Unknown");
    tokio::time::sleep(11 * MINUTE).await;
    assert_eq!(in_phase(&stage, 5, "Failed"), ["m-0"]);
}

#[tokio::test(start_paused = true)]
async fn before_a_second_machine_of_a_zone_fails_the_cloud_is_asked() {
    let (stage, _host) = running(5, |machine| {
        // Each alone in its deployment.
        let name = machine["metadata"]["name"].clone();
        machine["metadata"]["labels"] = json!({ "name": name });
    })
    .await;
    let looks = || stage.wire.times(|call| call.calls("get-status") && call.name.ends_with("m-1")).len();
    stage.report_ready("m-0", "False");
    tokio::time::sleep(11 * MINUTE).await;
    assert_eq!(in_phase(&stage, 5, "Failed"), ["m-0"]);
    let begun = looks();
    stage.report_ready("m-1", "False");
    tokio::time::sleep(11 * MINUTE).await;
    assert_eq!((in_phase(&stage, 5, "Failed").len(), looks() - begun), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_of_the_api_server_no_machine_is_failed_although_every_node_was_unknown() {
    use memory_api::wire::{Call, Handling};
    let (stage, _host) = running(4, |_| {}).await;
    sicken(&stage, 4);
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(in_phase(&stage, 4, "Unknown").len(), 4);
    stage.wire.plan(|call: &Call| if call.verb != "CALL" { Handling::Lose } else { Handling::Pass });
    tokio::time::sleep(20 * MINUTE).await;
    stage.wire.heal();
    stage
        .until("all are given new time", 2 * MINUTE, || {
            (0..4).all(|number| {
                let notes = stage.event_notes(&name(number));
                notes.iter().any(|note| note.contains("starts again"))
            })
        })
        .await;
    tokio::time::sleep(8 * MINUTE).await;
    assert!(in_phase(&stage, 4, "Failed").is_empty());
    (0..4).for_each(|number| stage.report_ready(&name(number), "True"));
    for number in 0..4 {
        stage.until_running(&name(number)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_cannot_join_in_a_silent_zone_is_held_while_its_vm_is_alive() {
    let (stage, _host) = running(4, |_| {}).await;
    // What a VM of this class boots with lets it join nowhere.
    let (mut account, mut class) = (stage::secret(), stage::class());
    account["metadata"]["name"] = json!("mute");
    account["data"]["userData"] = json!("IyEvYmluL3NoCg==");
    class["metadata"]["name"] = json!("mute");
    class["secretRef"]["name"] = json!("mute");
    stage.api.create("secrets", &account).unwrap();
    stage.api.create("machineclasses", &class).unwrap();
    (0..4).for_each(|number| stage.report_ready(&name(number), "Unknown"));
    stage.add_machine_with("late", |machine| machine["spec"]["class"]["name"] = json!("mute"));
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!((stage.phase("late").as_str(), stage.reason("late").as_str()), ("Pending", "ZoneHeld"));
    let (_, _, message) = stage.reported("late", "Ready");
    assert!(message.contains("silent together") && message.contains("VM is alive"), "{message}");
    (0..4).for_each(|number| stage.report_ready(&name(number), "True"));
    stage.until("its own fault", 5 * MINUTE, || stage.phase("late") == "Failed").await;
}

#[tokio::test(start_paused = true)]
async fn of_silent_machines_that_are_replaced_one_after_the_other_the_cloud_is_asked_about_each() {
    let (stage, _host) = running(10, |_| {}).await;
    (0..4).for_each(|number| stage.report_ready(&name(number), "Unknown"));
    for _ in 0..4 {
        stage.until("one fails", 15 * MINUTE, || !in_phase(&stage, 10, "Failed").is_empty()).await;
        let failed = in_phase(&stage, 10, "Failed");
        assert_eq!(failed.len(), 1);
        let looks = stage.wire.records(|call| call.calls("get-status") && call.name.contains(&failed[0]));
        assert_eq!(looks.len(), 1, "the cloud was asked once about {failed:?}");
        replace(&stage, &failed[0]).await;
    }
}
