//! Deletions with pods, hooks, force and missing prerequisites.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `pods` | the Node is drained first, forced or not |
//! | `hooks` | hooks of others block the drain and the deletion of the VM |
//! | `missing` | deletions without their class, their Secret or their VM |
//! | `requests` | the requests, Events and statuses of a deletion |
//! | `taken_over` | deletions that another controller, or a host that crashed, has begun |

mod hooks;
mod missing;
mod pods;
mod requests;
mod taken_over;

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::{Stage, in_namespace};
use memory_api::wire::Call;

/// Longer than a pod of these tests takes to end.
const MOMENT: Duration = Duration::from_secs(60);

/// How long a pod takes to end when it is asked to.
const ENDS_AFTER: Duration = Duration::from_secs(3);

/// A Machine that runs.
async fn running() -> Stage {
    let stage = Stage::set();
    stage.add_machine("a");
    stage
}

fn add_pods(stage: &Stage, names: &[&str]) {
    add_pods_to(stage, "a", names);
}

/// Pods on a Node.
pub(crate) fn add_pods_to(stage: &Stage, node: &str, names: &[&str]) {
    for name in names {
        let pod = json!({
            "metadata": {
                "name": name, "namespace": "default", "labels": { "app": "web" },
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-1", "controller": true,
                }],
            },
            "spec": { "nodeName": node, "terminationGracePeriodSeconds": 30, "containers": [] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        stage.api.create("pods", &pod).unwrap();
    }
}

/// Ends pods that were asked to go, as a kubelet does.
pub(crate) fn kubelet(stage: &Stage) -> tokio::task::JoinHandle<()> {
    kubelet_that_takes(stage, ENDS_AFTER)
}

fn kubelet_that_takes(stage: &Stage, takes: Duration) -> tokio::task::JoinHandle<()> {
    let api = stage.api.clone();
    tokio::spawn(async move {
        loop {
            let ending = api.collect("pods", |pod| {
                let is_ending = pod["metadata"]["deletionTimestamp"].is_string();
                is_ending.then(|| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            });
            tokio::time::sleep(takes).await;
            for name in ending {
                // It may have been deleted at once meanwhile.
                let _ = api.delete_within("pods", &format!("default/{name}"), Some(0));
            }
        }
    })
}

/// A budget that lets no pod go.
pub(crate) fn add_budget(stage: &Stage) {
    let budget = json!({
        "metadata": { "name": "web", "namespace": "default", "generation": 1 },
        "spec": { "minAvailable": 2, "selector": { "matchLabels": { "app": "web" } } },
        "status": {
            "observedGeneration": 1, "expectedPods": 2, "currentHealthy": 1, "desiredHealthy": 2,
            "disruptionsAllowed": 0,
        },
    });
    stage.api.create("poddisruptionbudgets", &budget).unwrap();
}

fn delete(stage: &Stage) {
    stage.api.delete("machines", &in_namespace("a")).unwrap();
}

fn annotate(stage: &Stage, key: &str, value: Option<&str>) {
    let patch = json!({ "metadata": { "annotations": { key: value } } });
    stage.api.edit("machines", &in_namespace("a"), &patch).unwrap();
}

fn label(stage: &Stage, key: &str, value: &str) {
    let patch = json!({ "metadata": { "labels": { key: value } } });
    stage.api.edit("machines", &in_namespace("a"), &patch).unwrap();
}

/// A condition of ours.
fn condition(stage: &Stage, kind: &str) -> Value {
    let machine = stage.machine("a").unwrap_or_default();
    let conditions = machine["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

fn description(stage: &Stage) -> String {
    let machine = stage.machine("a").unwrap_or_default();
    machine["status"]["lastOperation"]["description"].as_str().unwrap_or_default().to_owned()
}

fn for_machine(call: &Call) -> bool {
    call.is_request()
        && !matches!(call.name.as_str(), "small" | "account")
        && !matches!(call.what.as_str(), "events" | "pods/eviction")
}

fn vm_orders(stage: &Stage) -> usize {
    stage.wire.records(|call| call.calls("delete")).len()
}
