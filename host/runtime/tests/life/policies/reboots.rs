//! VMs that policies reboot: how many at a time, when none, and none of a Machine that has failed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_core::health_policy::{Action, Mode, PolicyQuestion, PolicyVerdict};
use serde_json::{Value, json};

use crate::fixture::stage::{Host, Stage, in_namespace};
use crate::policies::ladder;

const MINUTE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(3);

fn name(number: usize) -> String {
    format!("m-{number}")
}

/// Machines of one deployment and one zone, all Running, and a ladder that decides.
async fn running(machines: usize, change: impl Fn(&mut Value)) -> (Stage, Host) {
    let stage = Stage::set();
    stage.policies.seat("ladder", Mode::Enforce, Some(ladder));
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

fn report(stage: &Stage, machines: usize, ready: &str) {
    (0..machines).for_each(|number| stage.report_ready(&name(number), ready));
}

fn in_phase(stage: &Stage, machines: usize, phase: &str) -> Vec<String> {
    (0..machines).map(name).filter(|name| stage.phase(name) == phase).collect()
}

/// The Machines whose VMs were rebooted, in this order.
fn rebooted(stage: &Stage, machines: usize) -> Vec<String> {
    let vm = |name: &String| stage.machine(name).unwrap()["spec"]["providerID"].as_str().unwrap().to_owned();
    let by_vm = |id: String| (0..machines).map(name).find(|name| vm(name) == id).unwrap();
    stage.cloud.rebooted().into_iter().map(by_vm).collect()
}

#[tokio::test(start_paused = true)]
async fn of_many_unhealthy_machines_of_a_deployment_one_at_a_time_is_rebooted() {
    let (stage, _host) = running(8, |_| {}).await;
    report(&stage, 8, "False");
    tokio::time::sleep(9 * MINUTE).await;
    let first = rebooted(&stage, 8);
    assert_eq!(first.len(), 1, "{first:?}");
    let held = in_phase(&stage, 8, "Unknown").into_iter().filter(|name| !first.contains(name));
    for name in held {
        assert_eq!(stage.reason(&name), "RebootHeld", "{name}");
        let (status, _, message) = stage.reported(&name, "Healthy");
        let says = message.contains("others of its deployment are being replaced or rebooted, and 1 may be");
        assert!(status == "False" && says, "{message}");
        assert_eq!(stage.events(&name).iter().filter(|reason| *reason == "RebootHeld").count(), 1);
    }
    // Whoever comes back makes room at once.
    stage.report_ready(&first[0], "True");
    stage.until("the next one", SOON, || rebooted(&stage, 8).len() == 2).await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(rebooted(&stage, 8).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_machine_comes_to_the_end_of_its_ladder_before_the_next_one_is_touched() {
    let (stage, _host) = running(4, |_| {}).await;
    report(&stage, 4, "False");
    let failed = || in_phase(&stage, 4, "Failed");
    stage.until("one has failed", 15 * MINUTE, || failed().len() == 1).await;
    assert_eq!(rebooted(&stage, 4), failed(), "who was rebooted in vain is the one that is replaced");
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!((rebooted(&stage, 4).len(), failed().len()), (1, 1), "all wait for its replacement");
    let gone = failed().remove(0);
    stage.api.delete("machines", &in_namespace(&gone)).unwrap();
    stage.until_gone(&gone).await;
    stage.until("the next one", 2 * MINUTE, || stage.cloud.rebooted().len() == 2).await;
    tokio::time::sleep(9 * MINUTE).await;
    assert_eq!(stage.cloud.rebooted().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_deployment_counts_for_reboots_too() {
    for (limit, expected) in [("3", 3), ("25%", 2), ("0", 0)] {
        let (stage, _host) = running(8, |machine| {
            machine["metadata"]["annotations"] = json!({ "machinist.dev/max-unhealthy-replacements": limit });
        })
        .await;
        report(&stage, 8, "False");
        tokio::time::sleep(9 * MINUTE).await;
        assert_eq!(rebooted(&stage, 8).len(), expected, "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_vm_of_a_silent_zone_is_rebooted_while_the_cloud_says_that_it_is_alive() {
    let (stage, _host) = running(4, |machine| {
        // Each alone in its deployment, so that nothing but the zone holds them.
        let name = machine["metadata"]["name"].clone();
        machine["metadata"]["labels"] = json!({ "name": name });
    })
    .await;
    report(&stage, 4, "Unknown");
    tokio::time::sleep(40 * MINUTE).await;
    // The first was one silent Node among many when its turn came.
    let begun = stage.cloud.rebooted().len();
    assert!(begun <= 1, "{begun}");
    let held = (0..4).map(name).filter(|name| stage.reason(name) == "ZoneHeld").count();
    assert!(held >= 3, "{:?}", stage.reported("m-3", "Ready"));
    let (_, _, message) = stage.reported("m-3", "Healthy");
    assert!(message.contains("rebooted") && message.contains("zone zone-a are silent together"), "{message}");
    assert!(stage.events("m-3").contains(&"ZoneHeld".to_owned()), "{:?}", stage.events("m-3"));
    assert_eq!(in_phase(&stage, 4, "Failed"), Vec::<String>::new());
    report(&stage, 4, "True");
    for number in 0..4 {
        stage.until_running(&name(number)).await;
    }
    assert_eq!(stage.cloud.rebooted().len(), begun);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_starts_again_knows_whose_vm_is_being_rebooted() {
    let (stage, first) = running(3, |_| {}).await;
    report(&stage, 3, "False");
    stage.until("the first", SOON, || stage.cloud.rebooted().len() == 1).await;
    tokio::time::sleep(MINUTE).await;
    drop(first);
    let _second = stage.host("second");
    tokio::time::sleep(8 * MINUTE).await;
    assert_eq!(stage.cloud.rebooted().len(), 1);
}

/// Wants a reboot of whatever it is asked about, and never commits itself.
fn eager(_: &PolicyQuestion, now: Timestamp) -> (PolicyVerdict, Action, SignedDuration) {
    (PolicyVerdict::Unhealthy { since: now }, Action::Reboot, SignedDuration::ZERO)
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_has_failed_keeps_nobody_busy_whatever_a_policy_wants() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    stage.report_ready("a", "False");
    stage.until("it has failed", 12 * MINUTE, || stage.phase("a") == "Failed").await;
    stage.policies.seat("eager", Mode::Enforce, Some(eager));
    stage.report_policies();
    tokio::time::sleep(MINUTE).await;
    let (asked, begun) = (stage.policies.asked("eager").len(), stage.wire.len());
    tokio::time::sleep(60 * MINUTE).await;
    let passes = stage.policies.asked("eager").len() - asked;
    assert!((1..=61).contains(&passes), "{passes} passes in an hour");
    let calls = stage.wire.records_since(begun, |call| call.is_request() && call.verb != "WATCH");
    assert!(calls.is_empty(), "{}", memory_api::wire::table(&calls));
    assert_eq!((stage.cloud.rebooted().len(), stage.phase("a").as_str()), (0, "Failed"));
    let (_, reason, message) = stage.reported("a", "Ready");
    assert_eq!(reason, "Failed");
    assert!(message.contains("until it is replaced or recovers"), "{message}");
    // It recovers when its Node does and the policy says so too.
    stage.report_ready("a", "True");
    stage.policies.dismiss("eager");
    stage.report_policies();
    stage.until_running("a").await;
}
