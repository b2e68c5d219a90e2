//! Nodes that were left behind, with the names of VMs that have not joined yet.

use std::time::Duration;

use machinist_api::names::labels;
use serde_json::{Value, json};

use super::Actors;
use crate::rng::Rng;

/// How often the next Machine is looked for whose Node is not there yet, and how many times.
const LOOKS_EVERY: Duration = Duration::from_secs(2);
const LOOKS: u32 = 300;

impl Actors {
    /// The Node of another VM has the name of the next one that is to join: mostly for a while.
    pub(super) fn take_name(&self, rng: &mut Rng) {
        let this = self.clone();
        let (number, kind) = (rng.below(1_000_000), rng.below(3));
        let goes_after = rng.between(Duration::from_secs(10), Duration::from_mins(40));
        let goes = rng.happens(0.7);
        tokio::spawn(async move {
            for _ in 0..LOOKS {
                if let Some(name) = this.not_joined()
                    && this.leave_node(&name, number, kind)
                {
                    if goes {
                        tokio::time::sleep(goes_after).await;
                        this.remove_left_node(&name);
                    }
                    return;
                }
                tokio::time::sleep(LOOKS_EVERY).await;
            }
        });
    }

    /// A Machine whose Node has never been there.
    fn not_joined(&self) -> Option<String> {
        let facts = self.watchman.facts();
        if facts.is_calm() {
            return None;
        }
        let mut machines = facts.machines.values();
        let waiting = machines.find(|machine| {
            let has_not_joined = matches!(machine.phase.as_str(), "" | "Pending" | "CrashLoopBackOff");
            has_not_joined && machine.deleting_since.is_none() && !facts.nodes.contains_key(&machine.name)
        });
        waiting.map(|machine| machine.name.clone())
    }

    fn leave_node(&self, name: &str, number: usize, kind: usize) -> bool {
        let id = self.cluster.id_on_node("sim-1a", &format!("left-{number}"));
        let (id, owner) = match kind {
            0 => (Some(id), None),
            1 => (Some(id), Some("left-behind")),
            _ => (None, Some("left-behind")),
        };
        let now = self.clock.now().to_string();
        let node = json!({
            "metadata": { "name": name, "labels": { labels::MACHINE_NAME: owner } },
            "spec": { "providerID": id },
            "status": { "conditions": [{
                "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "",
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            }] },
        });
        // The rules hear of it before they see what hosts make of it.
        self.watchman.facts().left_nodes.insert(name.to_owned());
        let is_made = self.api.create("nodes", &node).is_ok();
        if is_made {
            self.watchman.note(("a Node of another VM has the name", name));
        } else {
            self.watchman.facts().left_nodes.remove(name);
        }
        is_made
    }

    fn remove_left_node(&self, name: &str) {
        let is_there = self.watchman.facts().left_nodes.contains(name);
        if is_there {
            self.watchman.note(("somebody removes the Node of another VM", name));
            let _ = self.api.edit("nodes", name, &json!({ "metadata": { "finalizers": Value::Null } }));
            let _ = self.api.delete("nodes", name);
        }
    }

    /// No Node is left behind any more.
    pub(crate) fn remove_left_nodes(&self) {
        let names = self.watchman.facts().left_nodes.clone();
        for name in names {
            self.remove_left_node(&name);
        }
    }
}
