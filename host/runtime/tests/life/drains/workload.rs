//! Pods that end when they are asked to, and volumes that are detached and attached, on the Nodes of a stage.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_runtime::context::clock::Clock;
use memory_api::ApiServer;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::fixture::stage::Stage;

/// Where all pods live.
pub(super) const PODS: &str = "apps";

/// The seconds after which a deleted pod ends; `never`: it hangs.
const ENDS_AFTER: &str = "test/ends-after";

/// A pod on a Node.
pub(super) fn pod(name: &str, node: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": PODS, "labels": { "app": name },
            "annotations": { ENDS_AFTER: "1" },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "s", "controller": true,
            }],
        },
        "spec": { "nodeName": node, "terminationGracePeriodSeconds": 30 },
        "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}

/// The same, ending after so long.
pub(super) fn ending_after(mut pod: Value, seconds: &str) -> Value {
    pod["metadata"]["annotations"][ENDS_AFTER] = json!(seconds);
    pod
}

/// The same, with a volume that is attached to its Node.
pub(super) fn with_volume(stage: &Stage, mut pod: Value, volume: &str) -> Value {
    let claim = format!("claim-{volume}");
    let node = pod["spec"]["nodeName"].as_str().unwrap().to_owned();
    pod["spec"]["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }]);
    let create = |plural: &str, object: Value| stage.api.create(plural, &object).unwrap();
    create(
        "persistentvolumeclaims",
        json!({ "metadata": { "name": claim, "namespace": PODS }, "spec": { "volumeName": volume } }),
    );
    create(
        "persistentvolumes",
        json!({
            "metadata": { "name": volume },
            "spec": { "csi": { "driver": "disk.sim", "volumeHandle": format!("vol-{volume}") } },
        }),
    );
    put(stage, "volumeattachments", &attachment(&node, volume));
    let mut attached = stage.api.find("nodes", &node).unwrap()["status"]["volumesAttached"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    attached.push(json!({ "name": attached_name(volume), "devicePath": "" }));
    let status = json!({ "status": { "volumesAttached": attached } });
    stage.api.edit_status("nodes", &node, &status).unwrap();
    pod
}

/// Puts an object into the API server, and then its status.
pub(super) fn put(stage: &Stage, plural: &str, object: &Value) {
    stage.api.create(plural, object).unwrap();
    let meta = &object["metadata"];
    let name = meta["name"].as_str().unwrap();
    let path = meta["namespace"].as_str().map_or(name.to_owned(), |namespace| format!("{namespace}/{name}"));
    stage.api.edit_status(plural, &path, &json!({ "status": object["status"] })).unwrap();
}

/// A budget over the pods with this label `app`.
pub(super) fn budget(name: &str, app: &str, allowed: i64, healthy: i64) -> Value {
    json!({
        "metadata": { "name": name, "namespace": PODS, "generation": 1 },
        "spec": { "selector": { "matchLabels": { "app": app } }, "minAvailable": healthy },
        "status": {
            "observedGeneration": 1, "expectedPods": 2, "currentHealthy": healthy, "desiredHealthy": healthy,
            "disruptionsAllowed": allowed,
        },
    })
}

fn attachment(node: &str, volume: &str) -> Value {
    json!({
        "metadata": { "name": format!("{node}-{volume}") },
        "spec": {
            "attacher": "disk.sim", "nodeName": node, "source": { "persistentVolumeName": volume },
        },
        "status": { "attached": true },
    })
}

fn attached_name(volume: &str) -> String {
    format!("kubernetes.io/csi/disk.sim^vol-{volume}")
}

/// How long things take.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// From the end of the last pod that uses a volume until it is detached.
    pub(super) detach: SignedDuration,
    /// From then until it is attached to Node `elsewhere`. `None`: never.
    pub(super) arrive: Option<SignedDuration>,
}

/// Kubelets and the controller of attachments. Dropped, they stop.
pub(super) struct Workload {
    task: JoinHandle<()>,
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Workload {
    pub(super) fn start(stage: &Stage, pace: Pace) -> Self {
        let mut actors = Actors {
            api: stage.api.clone(),
            clock: stage.clock.clone(),
            pace,
            unused: BTreeMap::new(),
            detached: BTreeMap::new(),
        };
        Self {
            task: tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    actors.tick();
                }
            }),
        }
    }
}

struct Actors {
    api: ApiServer,
    clock: Clock,
    pace: Pace,
    /// Attachments whose volume nobody uses any more, since when.
    unused: BTreeMap<String, Timestamp>,
    /// Volumes that were detached, since when.
    detached: BTreeMap<String, Timestamp>,
}

impl Actors {
    fn tick(&mut self) {
        let now = self.clock.now();
        self.end_pods(now);
        self.detach(now);
        self.arrive(now);
    }

    fn end_pods(&self, now: Timestamp) {
        for pod in self.api.all("pods") {
            let meta = &pod["metadata"];
            let Some(deadline) = meta["deletionTimestamp"].as_str() else { continue };
            let grace = SignedDuration::from_secs(meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0));
            let reported = deadline.parse::<Timestamp>().unwrap() - grace;
            let takes = meta["annotations"][ENDS_AFTER].as_str().unwrap();
            let has_ended =
                takes.parse().is_ok_and(|takes| now >= reported + SignedDuration::from_secs(takes));
            if has_ended {
                let path = format!("{PODS}/{}", meta["name"].as_str().unwrap());
                self.api.delete_within("pods", &path, Some(0)).unwrap();
            }
        }
    }

    fn detach(&mut self, now: Timestamp) {
        let pods = self.api.all("pods");
        for attachment in self.api.all("volumeattachments") {
            let name = attachment["metadata"]["name"].as_str().unwrap();
            let node = &attachment["spec"]["nodeName"];
            let Some(volume) = attachment["spec"]["source"]["persistentVolumeName"].as_str() else {
                continue;
            };
            let claim = format!("claim-{volume}");
            let uses = |pod: &Value| {
                pod["spec"]["nodeName"] == *node
                    && pod.pointer("/spec/volumes/0/persistentVolumeClaim/claimName") == Some(&json!(claim))
            };
            if node == "elsewhere" || pods.iter().any(uses) {
                continue;
            }
            let since = *self.unused.entry(name.to_owned()).or_insert(now);
            if now >= since + self.pace.detach {
                self.unused.remove(name);
                self.detached.insert(volume.to_owned(), now);
                self.api.delete("volumeattachments", name).unwrap();
                self.forget_on_node(node.as_str().unwrap(), volume);
            }
        }
    }

    fn forget_on_node(&self, node: &str, volume: &str) {
        let Some(object) = self.api.find("nodes", node) else { return };
        let mut attached = object["status"]["volumesAttached"].as_array().cloned().unwrap_or_default();
        attached.retain(|entry| entry["name"] != attached_name(volume));
        let status = json!({ "status": { "volumesAttached": attached } });
        self.api.edit_status("nodes", node, &status).unwrap();
    }

    fn arrive(&mut self, now: Timestamp) {
        let Some(takes) = self.pace.arrive else { return };
        let due: Vec<String> = self
            .detached
            .iter()
            .filter(|(_, since)| now >= **since + takes)
            .map(|(volume, _)| volume.clone())
            .collect();
        for volume in due {
            self.detached.remove(&volume);
            self.api.create("volumeattachments", &attachment("elsewhere", &volume)).unwrap();
            let status = json!({ "status": { "attached": true } });
            self.api.edit_status("volumeattachments", &format!("elsewhere-{volume}"), &status).unwrap();
        }
    }
}
