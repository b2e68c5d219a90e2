//! Nodes that do not join, become unhealthy, recover, or are deleted.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, in_namespace};

const MINUTE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(1);

async fn until_phase(stage: &Stage, phase: &str, limit: Duration) {
    stage.until(phase, limit, || stage.phase("a") == phase).await;
}

/// After so long the Machine has failed, and not a second earlier.
async fn assert_fails_after(stage: &Stage, limit: Duration) {
    let begun = stage.wire.elapsed();
    until_phase(stage, "Failed", limit + MINUTE).await;
    let waited = stage.wire.elapsed() - begun;
    assert!(waited >= limit - SOON && waited <= limit + 3 * SOON, "failed after {waited:?}");
    assert_eq!(stage.machine("a").unwrap()["status"]["currentStatus"]["timeoutActive"], json!(false));
}

async fn assert_goes(stage: &Stage) {
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    tokio::time::sleep(SOON).await;
    stage.assert_nothing_left();
    assert_eq!(stage.cloud.made().values().sum::<usize>(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_node_never_joins_fails_after_its_time_and_goes_without_a_trace() {
    let habits = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    let _host = stage.host("host");
    stage.add_machine("a");
    until_phase(&stage, "Pending", SOON).await;
    assert_fails_after(&stage, 20 * MINUTE).await;
    assert_eq!(stage.reason("a"), "JoinTimedOut");
    let begun = stage.wire.len();
    tokio::time::sleep(60 * MINUTE).await;
    assert!(stage.wire.records_since(begun, |call| call.verb == "CALL").is_empty());
    assert_goes(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_not_ready_makes_its_machine_unknown_and_after_ten_minutes_failed() {
    let (stage, _host) = Stage::running_for(SOON).await;
    stage.report_ready("a", "Unknown");
    until_phase(&stage, "Unknown", SOON).await;
    assert_eq!(stage.reason("a"), "NodeUnhealthy");
    assert_fails_after(&stage, 10 * MINUTE).await;
    assert_eq!(stage.reason("a"), "HealthTimedOut");
    assert_goes(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_recovers_in_time_makes_its_machine_run_again() {
    let (stage, _host) = Stage::running_for(SOON).await;
    for _ in 0..5 {
        stage.report_ready("a", "False");
        until_phase(&stage, "Unknown", SOON).await;
        tokio::time::sleep(9 * MINUTE).await;
        stage.report_ready("a", "True");
        until_phase(&stage, "Running", SOON).await;
    }
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.phase("a"), "Running");
    let reported = stage.events("a");
    assert_eq!(reported.iter().filter(|reason| *reason == "NodeUnhealthy").count(), 5, "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_somebody_deletes_takes_its_machine_with_it() {
    let (stage, _host) = Stage::running_for(SOON).await;
    stage.api.delete("nodes", "a").unwrap();
    stage.until("the Machine is going", SOON, || stage.phase("a") == "Terminating").await;
    stage.until_gone("a").await;
    tokio::time::sleep(SOON).await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_vanishes_makes_its_machine_unknown_and_then_failed() {
    let (stage, _host) = Stage::running_for(SOON).await;
    vanish(&stage);
    until_phase(&stage, "Unknown", SOON).await;
    assert_eq!(stage.reason("a"), "NodeMissing");
    assert_fails_after(&stage, 10 * MINUTE).await;
    assert_goes(&stage).await;
}

/// As when etcd is restored from before the Node's creation: it is gone without having been deleted.
fn vanish(stage: &Stage) {
    stage.api.edit("nodes", "a", &json!({ "metadata": { "finalizers": [] } })).unwrap();
    stage.api.delete("nodes", "a").unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_others_change_on_a_node_is_put_right_once_and_what_is_theirs_is_left() {
    let (stage, _host) = Stage::running_for(SOON).await;
    let begun = stage.wire.len();
    let labels = json!({ "pool": "other", "theirs": "1", "node.gardener.cloud/machine-name": null });
    stage.api.edit("nodes", "a", &json!({ "metadata": { "labels": labels } })).unwrap();
    tokio::time::sleep(MINUTE).await;
    let node = stage.api.find("nodes", "a").unwrap();
    let labels = &node["metadata"]["labels"];
    assert_eq!((&labels["pool"], &labels["theirs"]), (&json!("a"), &json!("1")));
    assert_eq!(labels["node.gardener.cloud/machine-name"], "a");
    let writes = stage.wire.records_since(begun, |call| call.is_write() && call.what == "nodes");
    assert_eq!(writes.len(), 1, "{}", memory_api::wire::table(&writes));
}

#[tokio::test(start_paused = true)]
async fn a_changed_template_reaches_the_node() {
    let (stage, _host) = Stage::running_for(SOON).await;
    let template = json!({
        "metadata": { "labels": { "pool": null, "tier": "b" }, "annotations": { "note": "n" } },
        "spec": { "taints": [] },
    });
    stage.api.edit("machines", &in_namespace("a"), &json!({ "spec": { "nodeTemplate": template } })).unwrap();
    tokio::time::sleep(SOON).await;
    let node = stage.api.find("nodes", "a").unwrap();
    let meta = &node["metadata"];
    assert_eq!((&meta["labels"]["pool"], &meta["labels"]["tier"]), (&Value::Null, &json!("b")));
    assert_eq!(meta["annotations"]["note"], "n");
    assert_eq!(node["spec"]["taints"].as_array().map_or(0, Vec::len), 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_target_cluster_a_machine_becomes_available_without_node_and_token() {
    let habits = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    let _host = stage.host_without_target("host");
    stage.add_machine("a");
    until_phase(&stage, "Available", SOON).await;
    let machine = stage.machine("a").unwrap();
    assert_eq!(machine["metadata"]["labels"], Value::Null, "no label names a Node");
    assert_eq!(machine["status"]["addresses"][0], json!({ "type": "Hostname", "address": "a" }));
    let tokens =
        stage.wire.records(|call| call.is_request() && call.what == "secrets" && call.name != "account");
    assert!(tokens.is_empty(), "{}", memory_api::wire::table(&tokens));
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.phase("a"), "Available");
    assert_goes(&stage).await;
}
