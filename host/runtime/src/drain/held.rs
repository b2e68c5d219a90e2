//! Which drains a PodDisruptionBudget concerns, so that one that opens is used at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use machinist_core::drain::PodFact;
use machinist_core::id::{NodeName, ObjectKey};

use crate::cache::Change;

/// Nodes that are remembered. More than are drained at a time; one that is forgotten is looked at when its time comes.
const NODES_REMEMBERED: usize = 4_000;

/// The budgets of the pods that the last look at each Node has shown.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<BTreeMap<NodeName, BTreeSet<ObjectKey>>>>);

impl Held {
    pub(super) fn keep(&self, node: &NodeName, pods: &[PodFact]) {
        let budgets: BTreeSet<ObjectKey> =
            pods.iter().flat_map(|pod| pod.budgets.iter().map(|budget| budget.key.clone())).collect();
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if budgets.is_empty() {
            nodes.remove(node);
            return;
        }
        if nodes.len() >= NODES_REMEMBERED && !nodes.contains_key(node) {
            nodes.pop_first();
        }
        nodes.insert(node.clone(), budgets);
    }

    /// The Nodes whose drain may go on because of this change.
    pub(crate) fn freed_by(&self, change: &Change<PodDisruptionBudget>) -> Vec<NodeName> {
        if !opens(change.old.as_deref(), change.new.as_deref()) {
            return Vec::new();
        }
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = nodes.iter().filter(|(_, budgets)| budgets.contains(&change.key));
        held.map(|(node, _)| node.clone()).collect()
    }
}

/// It allows more than before, or is another one. Each eviction changes it as well, and wakes nobody.
fn opens(old: Option<&PodDisruptionBudget>, new: Option<&PodDisruptionBudget>) -> bool {
    let allowed =
        |budget: &PodDisruptionBudget| budget.status.as_ref().map_or(0, |status| status.disruptions_allowed);
    match (old, new) {
        (Some(old), Some(new)) => {
            allowed(new) > allowed(old) || new.metadata.generation != old.metadata.generation
        }
        (Some(_), None) => true,
        (None, Some(_) | None) => false,
    }
}
