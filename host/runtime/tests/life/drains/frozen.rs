//! Drains for updates and preservation during a freeze.

use crate::fixture::stage::{NAMESPACE, in_namespace};

use super::workload::pod;
use super::*;

const LABEL: &str = "node.machine.sapcloud.io";

fn hold(stage: &Stage) {
    let map = json!({ "metadata": { "name": "machinist-freeze", "namespace": NAMESPACE } });
    stage.api.create("configmaps", &map).unwrap();
}

fn let_go(stage: &Stage) {
    stage.api.delete("configmaps", &in_namespace("machinist-freeze")).unwrap();
}

fn select(stage: &Stage) {
    let labels = json!({ format!("{LABEL}/candidate-for-update"): "true", format!("{LABEL}/selected-for-update"): "true" });
    stage.api.edit("nodes", "a", &json!({ "metadata": { "labels": labels } })).unwrap();
}

fn is_cordoned(stage: &Stage) -> bool {
    stage.api.find("nodes", "a").unwrap()["spec"]["unschedulable"] == true
}

#[tokio::test(start_paused = true)]
async fn a_frozen_host_empties_no_node_for_an_update_and_goes_on_after_the_thaw() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    add(&stage, [pod("web", "a")]);
    hold(&stage);
    tokio::time::sleep(11 * SECOND).await;
    select(&stage);
    stage.until("it says what is held", MINUTE, || stage.reported("a", "InPlaceUpdated").1 == "Held").await;
    let (_, _, message) = stage.reported("a", "InPlaceUpdated");
    assert!(message.contains("ConfigMap machinist-freeze"), "{message}");
    tokio::time::sleep(300 * MINUTE).await;
    assert!(!is_cordoned(&stage) && !is_gone(&stage, "web"));
    assert!(evicted_at(&stage, "web").is_empty() && deleted_at(&stage, "pods", "web").is_empty());
    assert_eq!(stage.phase("a"), "Running");
    let_go(&stage);
    stage.until("it goes on", 2 * MINUTE, || stage.phase("a") == "InPlaceUpdating").await;
    assert!(is_cordoned(&stage) && !evicted_at(&stage, "web").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_drain_for_an_update_stops_when_the_host_freezes_and_is_not_forced_for_the_time_that_this_takes() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    drain_timeout(&stage, "30m");
    add(&stage, [workload::ending_after(pod("first", "a"), "never"), pod("web", "a")]);
    put(&stage, "poddisruptionbudgets", &workload::budget("web", "web", 0, 1));
    select(&stage);
    stage.until("it drains", MINUTE, || stage.reported("a", "InPlaceUpdated").1 == "Draining").await;
    hold(&stage);
    tokio::time::sleep(120 * MINUTE).await;
    assert!(!is_gone(&stage, "web") && !is_gone(&stage, "first"), "deleted without being asked");
    let_go(&stage);
    tokio::time::sleep(10 * MINUTE).await;
    assert!(!is_gone(&stage, "web"), "its time counts from the thaw");
    stage
        .until("forced in the end", 40 * MINUTE, || is_gone(&stage, "web") && is_gone(&stage, "first"))
        .await;
}
