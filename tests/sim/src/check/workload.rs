//! Pods and volumes on Nodes, as the API server has them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory_api::Change;
use serde_json::Value;

use super::facts::text;
use crate::names::HOST;

/// A pod that has its place.
#[derive(Clone, Debug)]
pub(crate) struct PodFact {
    pub(crate) node: String,
    pub(crate) bound_since: Timestamp,
    /// Its deletion was requested.
    pub(crate) is_going: bool,
    /// Claims that it uses.
    pub(crate) claims: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct AttachmentFact {
    pub(crate) node: String,
    pub(crate) volume: String,
    pub(crate) made: Timestamp,
    pub(crate) is_attached: bool,
    pub(crate) is_deleting: bool,
    /// A host has asked for its deletion, whatever came of it.
    pub(crate) is_tried: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Workload {
    /// By name, of pods that have not ended.
    pods: BTreeMap<String, PodFact>,
    by_node: BTreeMap<String, Vec<String>>,
    attachments: BTreeMap<String, AttachmentFact>,
    /// The time when the deletion of the last pod of a Node that used a claim was requested, or when the pod was gone
    /// without a request. `None`: a host has deleted it by force, which waits for no volume.
    left_at: BTreeMap<(String, String), Option<Timestamp>>,
}

impl Workload {
    pub(super) fn pod(&mut self, change: &Change<'_>, now: Timestamp) {
        let name = text(change.new.or(change.old), "/metadata/name");
        let left = Some(now).filter(|_| change.is_eviction || !change.actor.starts_with(HOST));
        let has_ended = |pod: &Value| matches!(text(Some(pod), "/status/phase"), "Succeeded" | "Failed");
        let node = text(change.new.filter(|pod| !has_ended(pod)), "/spec/nodeName");
        let Some(pod) = change.new.filter(|_| !node.is_empty()) else {
            if let Some(gone) = self.pods.remove(name) {
                self.leave(&gone.node, name);
                if !gone.is_going {
                    self.let_go(&gone, left);
                }
            }
            return;
        };
        let is_going = pod["metadata"]["deletionTimestamp"].is_string();
        if let Some(known) = self.pods.get_mut(name) {
            if is_going && !known.is_going {
                known.is_going = true;
                let going = known.clone();
                self.let_go(&going, left);
            }
            return;
        }
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        let claims = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
        let fact = PodFact {
            node: node.to_owned(),
            bound_since: now,
            is_going,
            claims: claims.map(str::to_owned).collect(),
        };
        self.by_node.entry(fact.node.clone()).or_default().push(name.to_owned());
        self.pods.insert(name.to_owned(), fact);
    }

    fn leave(&mut self, node: &str, pod: &str) {
        if let Some(pods) = self.by_node.get_mut(node) {
            pods.retain(|other| other != pod);
            if pods.is_empty() {
                self.by_node.remove(node);
            }
        }
    }

    fn let_go(&mut self, pod: &PodFact, left: Option<Timestamp>) {
        let claims = pod.claims.iter().map(|claim| ((pod.node.clone(), claim.clone()), left));
        self.left_at.extend(claims);
    }

    pub(super) fn attachment(&mut self, change: &Change<'_>, now: Timestamp) {
        let name = text(change.new.or(change.old), "/metadata/name").to_owned();
        let Some(object) = change.new else {
            self.attachments.remove(&name);
            return;
        };
        let before = self.attachments.get(&name);
        let fact = AttachmentFact {
            node: text(change.new, "/spec/nodeName").to_owned(),
            volume: text(change.new, "/spec/source/persistentVolumeName").to_owned(),
            made: before.map_or(now, |before| before.made),
            is_attached: object["status"]["attached"] == true,
            is_deleting: object["metadata"]["deletionTimestamp"].is_string(),
            is_tried: before.is_some_and(|before| before.is_tried),
        };
        self.attachments.insert(name, fact);
    }

    /// A host asks for the deletion of an attachment.
    pub(super) fn attachment_tried(&mut self, name: &str) {
        if let Some(attachment) = self.attachments.get_mut(name) {
            attachment.is_tried = true;
        }
    }

    /// The pods of a Node, by name.
    pub(super) fn pods_of<'a>(&'a self, node: &str) -> impl Iterator<Item = (&'a str, &'a PodFact)> {
        let names = self.by_node.get(node).into_iter().flatten();
        names.filter_map(|name| Some((name.as_str(), self.pods.get(name)?)))
    }

    /// The attachments of a Node, by name.
    pub(super) fn attachments_of<'a>(
        &'a self,
        node: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a AttachmentFact)> {
        let all = self.attachments.iter();
        all.filter(move |(_, one)| one.node == node).map(|(name, one)| (name.as_str(), one))
    }

    /// The time when the deletion of the last pod of this Node with this claim was requested. Its successor on another
    /// Node does not count for this one.
    pub(super) fn left_at(&self, node: &str, claim: &str) -> Option<Timestamp> {
        self.left_at.get(&(node.to_owned(), claim.to_owned())).copied().flatten()
    }
}
