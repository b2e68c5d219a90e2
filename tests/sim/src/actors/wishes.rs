//! Users who hold deletions, preserve Machines, update Nodes in place, and write Machines that nobody can decode.

use std::time::Duration;

use machinist_api::names::{annotations, labels};
use serde_json::{Value, json};

use super::Actors;
use crate::names::NAMESPACE;
use crate::rng::Rng;

/// A user who changes a wish again does so within this time.
const SOON: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(15));

/// In the place of a list of taints.
const SPOILT: &str = "odd";

impl Actors {
    /// Puts a hook on a Machine, mostly deletes it then, and mostly takes the hook off later.
    pub(super) fn hold_deletion(&self, rng: &mut Rng) {
        let Some(name) = self.fleet.any(rng) else { return };
        let prefix =
            if rng.happens(0.5) { annotations::PRE_DRAIN_HOOK } else { annotations::PRE_TERMINATE_HOOK };
        let hook = format!("{prefix}sim");
        let path = format!("{NAMESPACE}/{name}");
        self.watchman.note(("user puts a hook on", &format!("{name}: {prefix}")));
        let on = json!({ "metadata": { "annotations": { &hook: "somebody" } } });
        let _ = self.api.edit("machines", &path, &on);
        if rng.happens(0.7) {
            let (this, path, name) = (self.clone(), path.clone(), name.clone());
            let after = rng.between(Duration::ZERO, Duration::from_secs(60));
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                this.watchman.note(("user deletes", &name));
                let _ = this.api.delete("machines", &path);
            });
        }
        if rng.happens(0.8) {
            let this = self.clone();
            let after = rng.between(SOON.0, SOON.1);
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                this.watchman.note(("user takes the hook off", &name));
                let off = json!({ "metadata": { "annotations": { &hook: null } } });
                let _ = this.api.edit("machines", &path, &off);
            });
        }
    }

    /// Wishes that a Machine is kept, or not any more: on itself or on its Node.
    pub(super) fn preserve(&self, rng: &mut Rng) {
        let Some(name) = self.fleet.any(rng) else { return };
        let wishes =
            [(4, Some("now")), (4, Some("when-failed")), (1, Some("false")), (1, Some("perhaps")), (1, None)];
        let wish = rng.weighed(&wishes).flatten();
        let patch = json!({ "metadata": { "annotations": { annotations::PRESERVE: wish } } });
        if rng.happens(0.3) {
            self.watchman.note(("user wishes on the Node of", &format!("{name} preservation {wish:?}")));
            let _ = self.api.edit("nodes", &name, &patch);
            return;
        }
        self.watchman.note(("user wishes on", &format!("{name} preservation {wish:?}")));
        let _ = self.api.edit("machines", &format!("{NAMESPACE}/{name}"), &patch);
    }

    /// Marks a Node as one that may be updated, mostly selects it then, and rarely takes that back.
    pub(super) fn update_in_place(&self, rng: &mut Rng) {
        let vm = self.cluster.any_joined(rng);
        let Some(node) = vm.and_then(|vm| self.cluster.node_of(&vm)) else { return };
        let label = |name: &str, value: Value| json!({ "metadata": { "labels": { name: value } } });
        self.watchman.note(("user lets be updated", &node));
        let _ = self.api.edit("nodes", &node, &label(labels::CANDIDATE_FOR_UPDATE, json!("true")));
        if !rng.happens(0.9) {
            return;
        }
        let (selected, gives_up) = (rng.between(Duration::ZERO, Duration::from_secs(60)), rng.happens(0.1));
        let given_up = rng.between(SOON.0, SOON.1);
        let this = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(selected).await;
            this.watchman.note(("user selects for its update", &node));
            let _ = this.api.edit("nodes", &node, &label(labels::SELECTED_FOR_UPDATE, json!("true")));
            if gives_up {
                tokio::time::sleep(given_up).await;
                this.watchman.note(("user gives up the update of", &node));
                for name in [labels::SELECTED_FOR_UPDATE, labels::CANDIDATE_FOR_UPDATE] {
                    let _ = this.api.edit("nodes", &node, &label(name, Value::Null));
                }
            }
        });
    }

    /// Writes something into a Machine that the definitions of an older version let in and that nobody can decode, and
    /// corrects it later.
    pub(super) fn spoil(&self, rng: &mut Rng) {
        let Some(name) = self.fleet.any(rng) else { return };
        self.watchman.note(("user writes taints that are no list on", &name));
        let _ = self.api.edit("machines", &format!("{NAMESPACE}/{name}"), &taints(&json!(SPOILT)));
        let this = self.clone();
        let after = rng.between(SOON.0, SOON.1);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            this.correct(&name);
        });
    }

    /// Corrects all Machines that nobody can decode.
    pub(crate) fn correct_all(&self) {
        for machine in self.api.all("machines") {
            self.correct(machine["metadata"]["name"].as_str().unwrap_or_default());
        }
    }

    fn correct(&self, name: &str) {
        let path = format!("{NAMESPACE}/{name}");
        let machine = self.api.find("machines", &path).unwrap_or_default();
        if machine["spec"]["nodeTemplate"]["spec"]["taints"] == SPOILT {
            self.watchman.note(("user corrects the taints on", name));
            let _ = self.api.edit("machines", &path, &taints(&Value::Null));
        }
    }
}

fn taints(taints: &Value) -> Value {
    json!({ "spec": { "nodeTemplate": { "spec": { "taints": taints } } } })
}
