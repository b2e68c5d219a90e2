//! The writes of a kubelet about its pods.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::PodFact;
use crate::node::seconds;

/// A strategic merge patch of a pod's status: its containers run.
pub fn running_patch(pod: &PodFact, now: Timestamp) -> Value {
    let is_ready = pod.conduct.is_ready;
    let state = json!({ "running": { "startedAt": seconds(now) } });
    let ready = if is_ready {
        ("True", "", "")
    } else {
        ("False", "ContainersNotReady", "the readiness probe fails")
    };
    let address = address(&pod.uid);
    json!({
        "metadata": { "uid": pod.uid },
        "status": {
            "phase": "Running",
            "startTime": seconds(now),
            "podIP": address,
            "podIPs": [{ "ip": address }],
            "conditions": [
                condition("PodReadyToStartContainers", ("True", "", ""), now),
                condition("Initialized", ("True", "", ""), now),
                condition("ContainersReady", ready, now),
                condition("Ready", ready, now),
            ],
            "containerStatuses": containers(pod, &state, is_ready),
        },
    })
}

/// A strategic merge patch of a pod's status: its containers have ended well.
pub fn finished_patch(pod: &PodFact, now: Timestamp) -> Value {
    // The patch is merged with what is there, and a container has one state.
    let over = json!({ "exitCode": 0, "reason": "Completed", "finishedAt": seconds(now) });
    let state = json!({ "running": null, "terminated": over });
    let over = ("False", "PodCompleted", "");
    json!({
        "metadata": { "uid": pod.uid },
        "status": {
            "phase": "Succeeded",
            "conditions": [
                condition("PodReadyToStartContainers", ("False", "", ""), now),
                condition("ContainersReady", over, now),
                condition("Ready", over, now),
            ],
            "containerStatuses": containers(pod, &state, false),
        },
    })
}

/// The options of the request that removes a pod.
pub fn removal(uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "DeleteOptions",
        "gracePeriodSeconds": 0, "preconditions": { "uid": uid },
    })
}

/// A strategic merge patch of a Node's status: these volumes are in use.
pub fn in_use_patch(volumes: &BTreeSet<String>) -> Value {
    json!({ "status": { "volumesInUse": volumes } })
}

fn containers(pod: &PodFact, state: &Value, is_ready: bool) -> Vec<Value> {
    let of = |(name, image): &(String, String)| {
        json!({
            "name": name, "image": image, "imageID": format!("sim://{image}"),
            "containerID": format!("sim://{}/{name}", pod.uid),
            "restartCount": 0, "ready": is_ready, "started": is_ready, "state": state,
        })
    };
    pod.containers.iter().map(of).collect()
}

fn condition(kind: &str, (status, reason, message): (&str, &str, &str), now: Timestamp) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": seconds(now) })
}

/// Nobody sends anything there: that no two are alike is likely, and enough.
fn address(uid: &str) -> String {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    let [.., b, c, d] = hasher.finish().to_be_bytes();
    format!("100.{}.{c}.{d}", 64 + b % 64)
}
