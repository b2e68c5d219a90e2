//! Rollouts while servers, watches and kubelets fail, and during a freeze.

use super::*;
use crate::fixture::stage::count_moments;
use memory_api::wire::Handling;

/// Rolls two Machines while the `number`th of these requests fares so. False when there were not so many.
async fn survives(number: usize, handling: &Handling) -> bool {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    let watcher = Watcher::of(&stage);
    let begun = stage.wire.len();
    stage.plan_nth(number, concerns, handling);
    roll_to(&stage, "large");
    until_complete(&stage).await;
    watcher.assert_within(3, 2);
    assert_eq!(wanted(&stage), [("large".into(), 2), ("small".into(), 0)].into(), "{handling:?} {number}");
    assert_tidy(&stage, 2);
    stage.wire.records_since(begun, concerns).len() >= number
}

/// The writes of a deployment, in any of its steps.
fn concerns(call: &Call) -> bool {
    let is_its =
        ["machinedeployments", "machinesets", "nodes"].iter().any(|kind| call.what.starts_with(kind));
    call.is_write() && is_its
}

async fn check(fates: &[Handling]) {
    for handling in fates {
        let moments = count_moments(async |number| survives(number, handling).await).await;
        assert!(moments >= 10, "{handling:?} concerned {moments} requests");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_on_any_write_of_a_rollout_is_overcome() {
    check(&[Handling::Refuse(409)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_a_refusal_at_any_write_of_a_rollout_are_overcome() {
    check(&[Handling::LoseAnswer, Handling::Refuse(500)]).await;
}

#[tokio::test(start_paused = true)]
async fn late_watches_break_no_bound() {
    let stage = slow_stage();
    let mut deployment = pool(5);
    deployment["spec"]["strategy"] = rolling(2, 1);
    let _host = running(&stage, &deployment).await;
    stage.api.delay_watches(3 * SECOND);
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    until_complete(&stage).await;
    watcher.assert_within(7, 4);
    assert_tidy(&stage, 5);
}

#[tokio::test(start_paused = true)]
async fn kubelets_that_write_all_the_time_do_not_keep_marks_off_their_nodes() {
    let habits =
        KubeletHabits { heartbeat: Some(SECOND / 20), ready_after: 3 * SECOND, ..KubeletHabits::default() };
    let stage = Stage::with(crate::fixture::cloud::Habits::default(), habits);
    stage.add_class();
    let stage = with_large(stage);
    let _host = running(&stage, &pool(2)).await;
    let nodes: Vec<String> = stage.api.all("nodes").iter().map(name_of).collect();
    roll_to(&stage, "large");
    let has_taint = |name: &String| {
        let node = stage.api.find("nodes", name).unwrap_or_default();
        node["spec"]["taints"].to_string().contains("prefer-no-schedule")
    };
    stage.until("old Nodes are marked", 3 * SECOND, || nodes.iter().all(has_taint)).await;
    until_complete(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_is_held_while_somebody_asks_for_that_and_goes_on_afterwards() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(3)).await;
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    stage.until("it is begun", LONG, || machines_of(&stage, "large").len() == 1).await;
    let request = json!({ "metadata": { "name": "machinist-freeze", "namespace": NAMESPACE }, "data": {} });
    stage.api.create("configmaps", &request).unwrap();
    until_reported(&stage, "Frozen").await;
    assert!(reported(&stage).1.contains("machinist-freeze"), "{:?}", reported(&stage));
    tokio::time::sleep(MINUTE).await;
    let held = (wanted(&stage), stage.api.count("machines"));
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((wanted(&stage), stage.api.count("machines")), held);
    stage.api.delete("configmaps", &in_namespace("machinist-freeze")).unwrap();
    until_complete(&stage).await;
    watcher.assert_within(4, 3);
    assert_tidy(&stage, 3);
}

#[tokio::test(start_paused = true)]
async fn under_crds_without_our_status_nothing_is_written_or_reported_again_and_again() {
    let stage = stage();
    stage.api.prune_own_status();
    let host = stage.host("host");
    stage.api.create("machinedeployments", &pool(2)).unwrap();
    let is_done = || condition(&stage, "Progressing").1 == "NewMachineSetAvailable";
    stage.until("it is done", LONG, is_done).await;
    roll_to(&stage, "large");
    stage.until("it is rolled", LONG, || is_done() && machines_of(&stage, "small").is_empty()).await;
    assert_quiet(&stage).await;
    let events = stage.events("pool").len();
    drop(host);
    let _next = stage.host("next");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(stage.events("pool").len(), events, "{:?}", stage.event_notes("pool"));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_rolled_without_a_cluster_that_nodes_join() {
    let stage = stage();
    let _host = stage.host_without_target("host");
    stage.api.create("machinedeployments", &pool(2)).unwrap();
    until_complete(&stage).await;
    roll_to(&stage, "large");
    until_complete(&stage).await;
    assert_eq!(wanted(&stage), [("large".into(), 2), ("small".into(), 0)].into());
    assert_tidy(&stage, 2);
    edit(&stage, &json!({ "spec": { "strategy": { "type": "InPlaceUpdate" } } }));
    until_reported(&stage, "InvalidDeployment").await;
    assert!(reported(&stage).1.contains("there is no target cluster"), "{:?}", reported(&stage));
}

#[tokio::test(start_paused = true)]
async fn a_typo_in_an_annotation_is_reported_and_reaches_neither_sets_nor_machines() {
    let stage = stage();
    let mut wrong = pool(2);
    wrong["metadata"]["annotations"] =
        json!({ "node.machine.sapcloud.io/effective-creation-timeout": "20min" });
    wrong["spec"]["template"]["spec"]["healthTimeout"] = json!("ten minutes");
    stage.api.create("machinedeployments", &wrong).unwrap();
    let _host = stage.host("host");
    until_reported(&stage, "InvalidOption").await;
    let (_, message) = reported(&stage);
    for field in ["effective-creation-timeout", "spec.template.spec.healthTimeout"] {
        assert!(message.contains(field), "{field}: {message}");
    }
    for machine in machines_of(&stage, "small") {
        assert_eq!(
            (&machine["spec"]["creationTimeout"], &machine["spec"]["healthTimeout"]),
            (&Value::Null, &Value::Null)
        );
        assert!(is_available(&machine), "{machine}");
    }
    let set = set_of(&stage, "small");
    assert_eq!(set["spec"]["template"]["spec"]["healthTimeout"], Value::Null);
    edit(
        &stage,
        &json!({
            "metadata": { "annotations": { "node.machine.sapcloud.io/effective-creation-timeout": null } },
            "spec": { "template": { "spec": { "healthTimeout": "10m" } } },
        }),
    );
    until_complete(&stage).await;
    assert_eq!(set_of(&stage, "small")["spec"]["template"]["spec"]["healthTimeout"], "10m0s");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_does_nothing_while_one_of_its_sets_cannot_be_decoded() {
    let stage = stage();
    let host = running(&stage, &pool(2)).await;
    host.end().await;
    let set = name_of(&set_of(&stage, "small"));
    let spoil = |labels: Value| {
        let invalid = json!({ "spec": { "selector": { "matchLabels": labels } } });
        stage.api.edit("machinesets", &in_namespace(&set), &invalid).unwrap();
    };
    let selector = set_of(&stage, "small")["spec"]["selector"]["matchLabels"].clone();
    spoil(json!("odd"));
    let _next = stage.host("next");
    until_reported(&stage, "UnreadableMachineSet").await;
    assert!(reported(&stage).1.contains(&set), "{}", reported(&stage).1);
    roll_to(&stage, "large");
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((stage.api.count("machinesets"), stage.api.count("machines")), (1, 2));
    spoil(selector);
    until_complete(&stage).await;
    assert_eq!(machines_of(&stage, "large").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_gone_is_asked_for_with_pauses_while_the_caches_show_it() {
    let stage = stage();
    let _host = running(&stage, &pool(1)).await;
    roll_to(&stage, "large");
    until_complete(&stage).await;
    let old = in_namespace(&name_of(&set_of(&stage, "small")));
    stage.wire.plan(|call: &Call| {
        let hears = call.what == "machinesets" && matches!(call.verb, "WATCH" | "LIST");
        if hears { Handling::Hang } else { Handling::Pass }
    });
    stage.api.drop_watches("host", Some("machinesets"));
    stage.api.edit("machinesets", &old, &json!({ "metadata": { "finalizers": null } })).unwrap();
    stage.api.delete("machinesets", &old).unwrap();
    edit(&stage, &json!({ "spec": { "revisionHistoryLimit": 0 } }));
    tokio::time::sleep(MINUTE).await;
    let deletions = stage.wire.records(|call| call.verb == "DELETE" && call.what == "machinesets");
    let few = 1..=20;
    assert!(few.contains(&deletions.len()), "{}", memory_api::wire::table(&deletions));
    stage.wire.heal();
    stage.api.drop_watches("host", Some("machinesets"));
    until_complete(&stage).await;
    assert_quiet(&stage).await;
}
