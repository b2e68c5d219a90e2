//! Nodes of failed Machines that are preserved.

use super::workload::{budget, ending_after, pod};
use super::*;
use memory_api::wire::{Handling, table};

const HOUR: Duration = Duration::from_secs(3_600);
const PRESERVE: &str = "node.machine.sapcloud.io/preserve";
const TAINT: &str = "node.machine.sapcloud.io/preserved";

/// The Node has, or has not, a full disk: it is unhealthy, and its pods can end.
fn fill_disk(stage: &Stage, is_full: bool) {
    let now = stage.clock.now().to_string();
    let mut conditions = stage.api.find("nodes", "a").unwrap()["status"]["conditions"].clone();
    for condition in conditions.as_array_mut().unwrap() {
        if condition["type"] == "DiskPressure" {
            condition["status"] = json!(if is_full { "True" } else { "False" });
            condition["lastTransitionTime"] = json!(now);
        }
    }
    stage.api.edit_status("nodes", "a", &json!({ "status": { "conditions": conditions } })).unwrap();
}

async fn until_failed(stage: &Stage) {
    stage.until("failed", 12 * MINUTE, || stage.phase("a") == "Failed").await;
}

fn kept_until(stage: &Stage) -> Option<String> {
    let status = stage.machine("a").unwrap()["status"]["currentStatus"].clone();
    status["preserveExpiryTime"].as_str().map(str::to_owned)
}

fn is_tainted(stage: &Stage) -> bool {
    let taints = stage.api.find("nodes", "a").unwrap()["spec"]["taints"].clone();
    taints.as_array().into_iter().flatten().any(|taint| taint["key"] == TAINT)
}

fn wish(stage: &Stage, wish: Option<&str>) {
    edit_machine(stage, &json!({ "metadata": { "annotations": { PRESERVE: wish } } }));
}

async fn a_failed_machine_with_pods(crds: Crds) {
    let (stage, _host) = running_under(crds).await;
    let _workload = Workload::start(&stage, PACE);
    put(&stage, "poddisruptionbudgets", &budget("tight", "held", 0, 1));
    let mut daemon = pod("daemon", "a");
    daemon["metadata"]["ownerReferences"][0]["kind"] = json!("DaemonSet");
    add(&stage, [pod("held", "a"), ending_after(pod("slow", "a"), "25"), daemon]);
    wish(&stage, Some("when-failed"));
    tokio::time::sleep(2 * MINUTE).await;
    assert!(kept_until(&stage).is_none() && !is_gone(&stage, "slow"), "a healthy Machine is left alone");
    let begun = stage.wire.len();
    fill_disk(&stage, true);
    until_failed(&stage).await;
    tokio::time::sleep(2 * MINUTE).await;
    let until = kept_until(&stage).unwrap();
    assert!(is_tainted(&stage) && is_gone(&stage, "slow") && !is_gone(&stage, "held"));
    assert_eq!(evicted_at(&stage, "slow").len(), 1, "asked, not forced");
    assert_eq!(stage.node_says("a", "Preserved").0, "", "it is not drained yet");
    if crds == Crds::Ours {
        let (status, reason, message) = stage.reported("a", "Preserved");
        assert_eq!((status.as_str(), reason.as_str()), ("True", "Draining"));
        assert!(message.contains(&until) && message.contains("apps/tight"), "{message}");
    }
    let opened = stage.wire.elapsed();
    let room = json!({ "status": { "disruptionsAllowed": 1 } });
    stage.api.edit_status("poddisruptionbudgets", "apps/tight", &room).unwrap();
    stage.until("it is drained", MINUTE, || stage.node_says("a", "Preserved").0 == "True").await;
    assert!(stage.wire.elapsed() - opened < 4 * SECOND, "an open budget is used at once");
    let message = format!("Preserved node drained successfully. Machine preserved until {until}.");
    assert_eq!(stage.node_says("a", "Preserved"), ("True".into(), "Preserved by user.".into(), message));
    tokio::time::sleep(SECOND).await;
    if crds == Crds::Ours {
        assert_eq!(stage.reported("a", "Preserved").1, "PreservedAndDrained");
    }
    let writes = stage.wire.records_since(begun, |call| call.is_write() && call.what != "pods/eviction");
    let events = stage.wire.records_since(begun, |call| call.what == "events");
    assert!(writes.len() <= 11, "{} writes:\n{}", writes.len(), table(&writes));
    assert!(events.len() <= 7, "{:?}", stage.events("a"));
    // It is drained once: who comes to look at it brings a pod that stays.
    add(&stage, [pod("toolbox", "a")]);
    let quiet = stage.wire.len();
    tokio::time::sleep(HOUR).await;
    assert!(!is_gone(&stage, "toolbox") && evicted_at(&stage, "toolbox").is_empty());
    let calls = stage.wire.records_since(quiet, |call| call.is_request() || call.what == "events");
    assert!(calls.is_empty(), "{}", table(&calls));
    assert!(!is_gone(&stage, "daemon"));
    // The Node comes back, and its Machine is not kept any more.
    fill_disk(&stage, false);
    stage.until_running("a").await;
    tokio::time::sleep(2 * SECOND).await;
    assert!(kept_until(&stage).is_none() && !is_tainted(&stage) && !is_gone(&stage, "toolbox"));
    assert_eq!(stage.node_says("a", "Preserved").0, "False");
    if crds == Crds::Ours {
        assert_eq!(stage.reported("a", "Preserved").1, "Stopped");
    }
    // The next failure is another one: it is drained again.
    fill_disk(&stage, true);
    until_failed(&stage).await;
    stage.until("the other pod goes", MINUTE, || is_gone(&stage, "toolbox")).await;
    assert!(kept_until(&stage).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_failed_machine_that_is_kept_is_drained_once_for_each_failure() {
    a_failed_machine_with_pods(Crds::Ours).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_machine_is_kept_and_drained_once_under_the_other_controllers_crds_too() {
    a_failed_machine_with_pods(Crds::Theirs).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_of_a_kept_machine_that_cannot_be_drained_says_so_until_it_can() {
    for crds in [Crds::Ours, Crds::Theirs] {
        let (stage, _host) = running_under(crds).await;
        let _workload = Workload::start(&stage, PACE);
        drain_timeout(&stage, "90s");
        wish(&stage, Some("now"));
        add(&stage, [ending_after(pod("stuck", "a"), "never")]);
        stage.wire.plan(|call: &Call| {
            if call.verb == "DELETE" && call.what == "pods" { Handling::Refuse(403) } else { Handling::Pass }
        });
        tokio::time::sleep(MINUTE).await;
        fill_disk(&stage, true);
        until_failed(&stage).await;
        tokio::time::sleep(10 * MINUTE).await;
        let until = kept_until(&stage).unwrap();
        let (status, _, message) = stage.node_says("a", "Preserved");
        let expected = format!("Preserved node could not be drained. Machine preserved until {until}.");
        assert_eq!((status.as_str(), message), ("False", expected), "{crds:?}");
        let last = stage.machine("a").unwrap()["status"]["lastOperation"].clone();
        assert_eq!((&last["type"], &last["state"]), (&json!("DrainNode"), &json!("Failed")));
        let begun = stage.wire.len();
        tokio::time::sleep(HOUR).await;
        let writes = stage.wire.records_since(begun, |call| call.is_write() && call.what != "pods");
        // Our part of the status says when the next try is, so it is written with each.
        let limit = if crds == Crds::Ours { 40 } else { 0 };
        assert!(writes.len() <= limit, "{crds:?}:\n{}", table(&writes));
        stage.wire.heal();
        stage.until("drained", 5 * MINUTE, || stage.node_says("a", "Preserved").0 == "True").await;
        assert!(is_gone(&stage, "stuck"));
        tokio::time::sleep(SECOND).await;
        let last = stage.machine("a").unwrap()["status"]["lastOperation"].clone();
        assert_ne!(last["state"], "Failed", "a failure that is over is not told any longer: {last}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_preservation_that_ends_in_the_middle_of_its_drain_leaves_the_other_pods_alone() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    put(&stage, "poddisruptionbudgets", &budget("tight", "held", 0, 1));
    add(&stage, [pod("held", "a")]);
    edit_machine(&stage, &json!({ "spec": { "machinePreserveTimeout": "20m" } }));
    wish(&stage, Some("when-failed"));
    fill_disk(&stage, true);
    until_failed(&stage).await;
    tokio::time::sleep(19 * MINUTE).await;
    assert!(kept_until(&stage).is_some() && stage.reported("a", "Preserved").1 == "Draining");
    tokio::time::sleep(2 * MINUTE).await;
    assert!(kept_until(&stage).is_none() && !is_tainted(&stage));
    assert_eq!(stage.reported("a", "Preserved").1, "Stopped");
    let annotations = stage.machine("a").unwrap()["metadata"]["annotations"].clone();
    assert_eq!(annotations[PRESERVE], Value::Null, "the wish went with its time");
    let room = json!({ "status": { "disruptionsAllowed": 1 } });
    stage.api.edit_status("poddisruptionbudgets", "apps/tight", &room).unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    assert!(!is_gone(&stage, "held"));
    assert_eq!(stage.phase("a"), "Failed");
}
