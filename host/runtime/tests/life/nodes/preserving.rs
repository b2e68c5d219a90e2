//! Machines that are preserved although they failed.

use std::time::Duration;

use serde_json::{Value, json};

use machinist_core::driver::error::Code;

use crate::fixture::cloud::guest_error;
use crate::fixture::stage::{Host, Stage, in_namespace};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const SOON: Duration = Duration::from_secs(2);
const PRESERVE: &str = "node.machine.sapcloud.io/preserve";
const OFF: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
const OFF_BY_US: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm";
const TAINT: &str = "node.machine.sapcloud.io/preserved";

async fn failed(wish: Option<&str>) -> (Stage, Host) {
    let (stage, host) = Stage::running_for(SOON).await;
    if let Some(wish) = wish {
        annotate(&stage, "machines", Some(wish));
    }
    stage.report_ready("a", "False");
    stage.until("failed", 12 * MINUTE, || stage.phase("a") == "Failed").await;
    tokio::time::sleep(SOON).await;
    (stage, host)
}

fn annotate(stage: &Stage, plural: &str, wish: Option<&str>) {
    let path = if plural == "nodes" { "a".to_owned() } else { in_namespace("a") };
    stage.api.edit(plural, &path, &json!({ "metadata": { "annotations": { PRESERVE: wish } } })).unwrap();
}

fn kept_until(stage: &Stage) -> Option<String> {
    let status = stage.machine("a").unwrap()["status"]["currentStatus"].clone();
    status["preserveExpiryTime"].as_str().map(str::to_owned)
}

fn node(stage: &Stage) -> Value {
    stage.api.find("nodes", "a").unwrap()
}

fn is_tainted(stage: &Stage) -> bool {
    let taints = node(stage)["spec"]["taints"].clone();
    taints
        .as_array()
        .is_some_and(|all| all.iter().any(|taint| taint["key"] == TAINT && taint["effect"] == "NoSchedule"))
}

fn is_off(stage: &Stage) -> bool {
    let annotations = node(stage)["metadata"]["annotations"].clone();
    annotations[OFF] == "true" && annotations[OFF_BY_US] == "true"
}

/// The visible state: preserved, hidden from the autoscaler, tainted.
fn seen(stage: &Stage) -> (bool, bool, bool) {
    (kept_until(stage).is_some(), is_off(stage), is_tainted(stage))
}

#[tokio::test(start_paused = true)]
async fn a_failed_machine_is_kept_by_each_wish_that_says_so() {
    for (wish, reason) in [
        ("now", "Preserved by user."),
        ("when-failed", "Preserved by user."),
        ("auto-preserved", "Preserved by MCM."),
    ] {
        let (stage, _host) = failed(Some(wish)).await;
        if wish == "auto-preserved" {
            // Sets give this wish to Machines that have failed: before that it is taken off again.
            annotate(&stage, "machines", Some(wish));
            tokio::time::sleep(SOON).await;
        }
        assert_eq!(seen(&stage), (true, true, true), "{wish}");
        let until = kept_until(&stage).unwrap();
        let message = format!("Preserved node drained successfully. Machine preserved until {until}.");
        assert_eq!(stage.node_says("a", "Preserved"), ("True".into(), reason.into(), message));
        assert_eq!(stage.reported("a", "Preserved").1, "PreservedAndDrained");
        assert_eq!(node(&stage)["spec"]["unschedulable"], Value::Null, "a cordon is the user's");
        let begun = stage.wire.len();
        tokio::time::sleep(HOUR).await;
        assert!(stage.wire.records_since(begun, memory_api::wire::Call::is_write).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_says_that_a_machine_is_kept_in_the_write_that_says_that_it_failed() {
    let (stage, _host) = Stage::running_for(SOON).await;
    annotate(&stage, "machines", Some("when-failed"));
    tokio::time::sleep(SOON).await;
    assert_eq!(kept_until(&stage), None);
    stage.report_ready("a", "False");
    let failed_unpreserved = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    stage
        .until("failed", 12 * MINUTE, || {
            let status = stage.machine("a").unwrap()["status"]["currentStatus"].clone();
            let has_failed = status["phase"] == "Failed";
            if has_failed && status["preserveExpiryTime"] == Value::Null {
                failed_unpreserved.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            has_failed
        })
        .await;
    assert!(!failed_unpreserved.load(std::sync::atomic::Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_running_machine_is_kept_only_by_now() {
    for (wish, kept) in
        [("now", true), ("when-failed", false), ("auto-preserved", false), ("false", false), ("what", false)]
    {
        let (stage, _host) = Stage::running_for(SOON).await;
        annotate(&stage, "machines", Some(wish));
        tokio::time::sleep(SOON).await;
        assert_eq!(seen(&stage), (kept, kept, false), "{wish}");
    }
}

#[tokio::test(start_paused = true)]
async fn false_or_nothing_ends_it_and_the_wish_stays_as_it_was_said() {
    for wish in [Some("false"), None] {
        let (stage, _host) = failed(Some("now")).await;
        assert_eq!(seen(&stage), (true, true, true));
        annotate(&stage, "machines", wish);
        tokio::time::sleep(SOON).await;
        assert_eq!(seen(&stage), (false, false, false), "{wish:?}");
        let (status, reason, _) = stage.node_says("a", "Preserved");
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Preservation stopped."));
        let stored = stage.machine("a").unwrap()["metadata"]["annotations"][PRESERVE].clone();
        assert_eq!(stored, json!(wish));
    }
}

#[tokio::test(start_paused = true)]
async fn when_its_time_is_over_it_ends_and_the_wish_is_taken_off() {
    let (stage, _host) = failed(Some("when-failed")).await;
    tokio::time::sleep(95 * HOUR).await;
    assert_eq!(seen(&stage), (true, true, true));
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(seen(&stage), (false, false, false));
    assert_eq!(stage.machine("a").unwrap()["metadata"]["annotations"][PRESERVE], Value::Null);
    assert_eq!(stage.reported("a", "Preserved").1, "Stopped");
}

#[tokio::test(start_paused = true)]
async fn a_kept_machine_that_recovers_runs_again_and_stays_kept_by_now_alone() {
    for (wish, kept) in [("now", true), ("when-failed", false)] {
        let (stage, _host) = failed(Some(wish)).await;
        stage.report_ready("a", "True");
        stage.until("running", SOON, || stage.phase("a") == "Running").await;
        tokio::time::sleep(SOON).await;
        assert_eq!(seen(&stage), (kept, kept, false), "{wish}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wish_on_the_node_wins_takes_the_machines_away_and_ends_with_its_going() {
    let (stage, _host) = Stage::running_for(SOON).await;
    annotate(&stage, "machines", Some("false"));
    annotate(&stage, "nodes", Some("now"));
    tokio::time::sleep(SOON).await;
    assert_eq!(seen(&stage), (true, true, false));
    let annotations = stage.machine("a").unwrap()["metadata"]["annotations"].clone();
    assert_eq!(annotations[PRESERVE], Value::Null);
    assert_eq!(annotations["node.machine.sapcloud.io/last-applied-node-preserve-value"], "now");
    annotate(&stage, "nodes", None);
    tokio::time::sleep(SOON).await;
    assert_eq!(seen(&stage), (false, false, false));
}

#[tokio::test(start_paused = true)]
async fn a_wish_on_the_node_that_nobody_understands_changes_nothing_and_is_reported() {
    let (stage, _host) = Stage::running_for(SOON).await;
    annotate(&stage, "nodes", Some("forever"));
    tokio::time::sleep(SOON).await;
    assert_eq!(seen(&stage), (false, false, false));
    let (status, reason, message) = stage.reported("a", "Preserved");
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "UnknownWish"));
    assert!(message.contains("forever"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_user_who_switched_the_autoscaler_off_himself_keeps_it_so() {
    let (stage, _host) = Stage::running_for(SOON).await;
    stage.api.edit("nodes", "a", &json!({ "metadata": { "annotations": { OFF: "true" } } })).unwrap();
    annotate(&stage, "machines", Some("now"));
    tokio::time::sleep(SOON).await;
    annotate(&stage, "machines", None);
    tokio::time::sleep(SOON).await;
    let annotations = node(&stage)["metadata"]["annotations"].clone();
    assert_eq!((&annotations[OFF], &annotations[OFF_BY_US]), (&json!("true"), &Value::Null));
    assert_eq!(kept_until(&stage), None);
}

#[tokio::test(start_paused = true)]
async fn a_machine_without_its_node_is_kept_as_well() {
    let (stage, _host) = Stage::running_for(SOON).await;
    annotate(&stage, "machines", Some("when-failed"));
    stage.api.edit("nodes", "a", &json!({ "metadata": { "finalizers": [] } })).unwrap();
    stage.api.delete("nodes", "a").unwrap();
    stage.until("failed", 12 * MINUTE, || stage.phase("a") == "Failed").await;
    assert!(kept_until(&stage).is_some());
    annotate(&stage, "machines", Some("false"));
    stage.until("kept no more", SOON, || kept_until(&stage).is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_the_cloud_refuses_is_kept_in_the_write_that_says_that_it_failed() {
    use memory_api::wire::{Call, Handling};
    let stage = Stage::set();
    let _host = stage.host("host");
    let refused = |call: &Call| {
        if call.calls("create") { Handling::Answer(guest_error(Code::Internal)) } else { Handling::Pass }
    };
    stage.wire.plan(refused);
    stage.add_machine_with("a", |machine| {
        machine["metadata"]["annotations"] = json!({ PRESERVE: "when-failed" });
    });
    tokio::time::sleep(MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), kept_until(&stage)), ("CrashLoopBackOff", None));
    let failed_unpreserved = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    stage
        .until("failed", 30 * MINUTE, || {
            let has_failed = stage.phase("a") == "Failed";
            if has_failed && kept_until(&stage).is_none() {
                failed_unpreserved.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            has_failed
        })
        .await;
    tokio::time::sleep(SOON).await;
    assert!(!failed_unpreserved.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(stage.reported("a", "Preserved").1, "Preserved");
    // The clean end of it, as for any other Machine.
    tokio::time::sleep(97 * HOUR).await;
    assert_eq!(kept_until(&stage), None);
}
