//! Volumes: each claim has one, which is attached where its pod is placed, and detached when that has gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use memory_api::Change;
use serde_json::{Value, json};

use super::pods::NAMESPACE;
use super::{Cluster, Due};
use crate::names::{claim_of, volume_of};

/// Holds an attachment until its volume is off the Node.
const FINALIZER: &str = "external-attacher/sim";

/// How soon something that could not be done is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// The claim of this application's pod in this place.
pub(super) fn claim(app: usize, place: usize) -> String {
    format!("data-{app}-{place}")
}

/// As Nodes name it.
fn attached_name(claim: &str) -> String {
    format!("kubernetes.io/csi/disk.sim^vol-{claim}")
}

fn attachment(claim: &str, node: &str) -> String {
    format!("csi-{claim}-{node}")
}

/// Names of attachments, by what they attach and by where: there are as many as pods, and each pod asks for its own.
#[derive(Debug, Default)]
pub(super) struct Attachments {
    by_volume: BTreeMap<String, BTreeSet<String>>,
    by_node: BTreeMap<String, BTreeSet<String>>,
}

impl Attachments {
    /// An attachment appears or disappears. Its volume and its Node never change.
    pub(super) fn change(&mut self, change: &Change<'_>) {
        let Some(object) = change.new.or(change.old).filter(|_| change.new.is_none() != change.old.is_none())
        else {
            return;
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let volume = object["spec"]["source"]["persistentVolumeName"].as_str().unwrap_or_default();
        let node = object["spec"]["nodeName"].as_str().unwrap_or_default();
        for (names, place) in [(&mut self.by_volume, volume), (&mut self.by_node, node)] {
            if change.new.is_some() {
                names.entry(place.to_owned()).or_default().insert(name.to_owned());
            } else if let Some(there) = names.get_mut(place) {
                there.remove(name);
                if there.is_empty() {
                    names.remove(place);
                }
            }
        }
    }
}

impl Cluster {
    /// A claim and the volume that it is bound to.
    pub(super) fn make_volume(&self, claim: &str) {
        let volume = volume_of(claim);
        let objects = [
            (
                "persistentvolumeclaims",
                json!({ "metadata": { "name": claim, "namespace": NAMESPACE }, "spec": { "volumeName": volume } }),
            ),
            (
                "persistentvolumes",
                json!({
                    "metadata": { "name": volume },
                    "spec": { "csi": { "driver": "disk.sim", "volumeHandle": format!("vol-{claim}") } },
                }),
            ),
        ];
        for (plural, object) in objects {
            let made = self.api.create(plural, &object);
            assert!(made.is_ok(), "nothing was there before: {made:?}");
        }
    }

    /// The volume of this claim is wanted on this Node. True when it is there.
    pub(super) fn is_attached(&self, claim: &str, node: &str) -> bool {
        let name = attachment(claim, node);
        if let Some(found) = self.api.find("volumeattachments", &name) {
            return found["status"]["attached"] == true
                && !found["metadata"]["deletionTimestamp"].is_string();
        }
        if self.attachments().by_volume.contains_key(&volume_of(claim)) || !self.node_works(node) {
            return false;
        }
        let object = json!({
            "metadata": { "name": name, "finalizers": [FINALIZER] },
            "spec": { "attacher": "disk.sim", "nodeName": node, "source": { "persistentVolumeName": volume_of(claim) } },
            "status": { "attached": false },
        });
        if self.api.create("volumeattachments", &object).is_ok() {
            let after = self.between(1, 8);
            self.later(after, Due::Attached(claim.to_owned(), node.to_owned()));
        }
        false
    }

    pub(super) fn attached(&self, claim: &str, node: &str) {
        let name = attachment(claim, node);
        let Some(found) = self.api.find("volumeattachments", &name) else { return };
        if found["metadata"]["deletionTimestamp"].is_string() {
            return;
        }
        let _ = self.api.edit_status("volumeattachments", &name, &json!({ "status": { "attached": true } }));
        self.list_on_node(claim, node, true);
    }

    /// The pod of this claim has left this Node: the volume is let go, sooner or later.
    pub(super) fn let_go(&self, claim: &str, node: &str) {
        let hangs = self.lock().rng.happens(0.1);
        let after = if hangs { self.between(60, 300) } else { self.between(1, 8) };
        self.later(after, Due::LetGo(claim.to_owned(), node.to_owned()));
    }

    pub(super) fn detach(&self, claim: &str, node: &str) {
        if self.is_used(claim, node) {
            return;
        }
        // A kubelet that is not there unmounts nothing, until its Node is gone.
        let is_gone = self.api.find("nodes", node).is_none();
        if !is_gone && !self.node_works(node) {
            return self.later(AGAIN * 6, Due::LetGo(claim.to_owned(), node.to_owned()));
        }
        let _ = self.api.delete("volumeattachments", &attachment(claim, node));
    }

    /// Somebody has asked an attachment to go.
    pub(super) fn attachment_goes(&self, name: &str) {
        let after = self.between(1, 10);
        self.later(after, Due::Detached(name.to_owned()));
    }

    pub(super) fn detached(&self, name: &str) {
        let Some(found) = self.api.find("volumeattachments", name) else { return };
        let claim = claim_of(found["spec"]["source"]["persistentVolumeName"].as_str().unwrap_or_default());
        self.list_on_node(&claim, found["spec"]["nodeName"].as_str().unwrap_or_default(), false);
        let _ = self.api.edit("volumeattachments", name, &json!({ "metadata": { "finalizers": null } }));
    }

    /// A Node is gone: what hangs on it is let go.
    pub(super) fn let_go_all(&self, node: &str) {
        let attachments = self.attachments().by_node.get(node).cloned().unwrap_or_default();
        for name in attachments {
            let _ = self.api.delete("volumeattachments", &name);
        }
    }

    fn list_on_node(&self, claim: &str, node: &str, is_attached: bool) {
        let Some(object) = self.api.find("nodes", node) else { return };
        let name = attached_name(claim);
        let all = object["status"]["volumesAttached"].as_array().cloned().unwrap_or_default();
        let mut all: Vec<Value> = all.into_iter().filter(|volume| volume["name"] != name.as_str()).collect();
        if is_attached {
            all.push(json!({ "name": name, "devicePath": "" }));
        }
        let _ = self.api.edit_status("nodes", node, &json!({ "status": { "volumesAttached": all } }));
    }
}
