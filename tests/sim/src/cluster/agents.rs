//! In-place updates: an agent on each Node, and the writer that takes the Node back into service.

use std::collections::BTreeSet;

use machinist_api::names::{labels, node_conditions};
use serde_json::{Value, json};

use super::{Cluster, Due};

impl Cluster {
    /// The condition that tells how far the update of this Node is says something else.
    pub(super) fn update_goes_on(&self, node: &str, reason: &str) {
        match reason {
            node_conditions::READY_FOR_UPDATE | node_conditions::UPDATE_FAILED => {
                let after = self.between(10, 400);
                self.later(after, Due::Update(node.to_owned()));
            }
            node_conditions::UPDATE_SUCCESSFUL if self.takes_back => {
                let after = self.between(5, 60);
                self.later(after, Due::TakeBack(node.to_owned()));
            }
            _ => {}
        }
    }

    /// A Node whose update in place has begun and has not come to its end. Its drain may wait for pods as long as any
    /// other.
    pub(crate) fn unfinished_update(&self) -> Option<String> {
        let vm_of = |object: &Value| object["spec"]["providerID"].as_str().map(str::to_owned);
        let vms: BTreeSet<String> = self.api.collect("machines", vm_of).into_iter().collect();
        let unfinished = self.api.collect("nodes", |node| {
            let labels = &node["metadata"]["labels"];
            let is_wanted = |name: &str| labels[name] == "true";
            // Nobody updates the Node of a VM that is no Machine's.
            let is_ours = vm_of(node).is_none_or(|vm| vms.contains(&vm));
            (is_ours && is_wanted(labels::CANDIDATE_FOR_UPDATE) && is_wanted(labels::SELECTED_FOR_UPDATE))
                .then(|| format!("Node {} is being updated: {:?}", node["metadata"]["name"], update_of(node)))
        });
        unfinished.into_iter().next()
    }

    /// Its agent has done it, or could not. A failed update is retried.
    pub(super) fn update(&self, node: &str) {
        let reason = self.api.find("nodes", node).map(|node| update_of(&node).to_owned());
        let is_retry = reason.as_deref() == Some(node_conditions::UPDATE_FAILED);
        if !is_retry && reason.as_deref() != Some(node_conditions::READY_FOR_UPDATE) {
            return;
        }
        if !self.node_works(node) {
            let after = self.between(20, 60);
            return self.later(after, Due::Update(node.to_owned()));
        }
        let fails = !is_retry && self.lock().rng.happens(0.3);
        let result = if fails { "failed" } else { "successful" };
        self.log(("update in place ends:", &format!("{node} {result}")));
        let patch = json!({ "metadata": { "labels": { labels::UPDATE_RESULT: result } } });
        let _ = self.api.edit("nodes", node, &patch);
    }

    /// The Node is in service again.
    pub(super) fn take_back(&self, node: &str) {
        let patch = json!({
            "metadata": { "labels": {
                labels::UPDATE_RESULT: null, labels::SELECTED_FOR_UPDATE: null, labels::CANDIDATE_FOR_UPDATE: null,
            } },
            "spec": { "unschedulable": null },
        });
        let _ = self.api.edit("nodes", node, &patch);
    }
}

/// How far the update of a Node is.
pub(crate) fn update_of(node: &Value) -> &str {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let condition = conditions.find(|condition| condition["type"] == node_conditions::IN_PLACE_UPDATE);
    condition.and_then(|condition| condition["reason"].as_str()).unwrap_or_default()
}
