//! Drains that a PodDisruptionBudget blocks, so that a budget that opens is used at once, and the time until which the
//! API server wants no more requests for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use machinist_core::drain::{PodFact, PodRef};
use machinist_core::value::id::{NodeName, ObjectKey, Uid};

use crate::cache::Change;

use super::limits::LONGEST_PAUSE;

/// Nodes in memory: more than are drained at a time. A forgotten one is reconciled when its time comes.
const NODES_REMEMBERED: usize = 4_000;

/// The budgets of each Node's pods, as listed last.
#[derive(Clone, Default)]
pub(crate) struct BlockedDrains(Arc<Mutex<BlockedState>>);

#[derive(Default)]
struct BlockedState {
    /// The budgets of each pod that has some.
    nodes: BTreeMap<NodeName, BTreeMap<Uid, BTreeSet<ObjectKey>>>,
    /// Until when nobody asks for a pod of the budget.
    until: BTreeMap<ObjectKey, Timestamp>,
}

impl BlockedDrains {
    pub(super) fn record(&self, node: &NodeName, pods: &[PodFact]) {
        let budgets = |pod: &PodFact| pod.budgets.iter().map(|budget| budget.key.clone()).collect();
        let blocked = pods.iter().filter(|pod| !pod.budgets.is_empty());
        let pods: BTreeMap<Uid, BTreeSet<ObjectKey>> =
            blocked.map(|pod| (pod.pod.uid.clone(), budgets(pod))).collect();
        let mut state = self.state();
        if pods.is_empty() {
            state.nodes.remove(node);
            return;
        }
        if state.nodes.len() >= NODES_REMEMBERED && !state.nodes.contains_key(node) {
            state.nodes.pop_first();
        }
        state.nodes.insert(node.clone(), pods);
    }

    /// Notes that the API server has refused this pod's eviction, with a retry-after. The refusal is about the budget,
    /// so it counts for all of the budget's pods, in every drain.
    pub(super) fn refused(&self, pod: &PodRef, after: SignedDuration, now: Timestamp) {
        let mut state = self.state();
        state.until.retain(|_, until| *until > now);
        let budgets = state.nodes.values().find_map(|pods| pods.get(&pod.uid)).cloned().unwrap_or_default();
        let until = now.checked_add(after.clamp(SignedDuration::ZERO, LONGEST_PAUSE)).unwrap_or(now);
        for budget in budgets {
            let known = state.until.entry(budget).or_insert(until);
            *known = until.max(*known);
        }
    }

    /// Returns until when no pod of this budget is evicted. A clock that is set back does not block it forever.
    pub(super) fn until(&self, budget: &ObjectKey, now: Timestamp) -> Option<Timestamp> {
        let until = *self.state().until.get(budget)?;
        let longest = now.checked_add(LONGEST_PAUSE).unwrap_or(now);
        Some(until.min(longest)).filter(|until| *until > now)
    }

    /// Returns the Nodes whose drain may continue after this change.
    pub(crate) fn unblocked_by(&self, change: &Change<PodDisruptionBudget>) -> Vec<NodeName> {
        if !opens(change.old.as_deref(), change.new.as_deref()) {
            return Vec::new();
        }
        let state = self.state();
        let is_blocked = |pods: &BTreeMap<Uid, BTreeSet<ObjectKey>>| {
            pods.values().any(|budgets| budgets.contains(&change.key))
        };
        state.nodes.iter().filter(|(_, pods)| is_blocked(pods)).map(|(node, _)| node.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, BlockedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the budget allows more than before, or its last change is observed, or it was replaced. Each
/// eviction changes it as well, and requeues nothing.
fn opens(old: Option<&PodDisruptionBudget>, new: Option<&PodDisruptionBudget>) -> bool {
    let allowed =
        |budget: &PodDisruptionBudget| budget.status.as_ref().map_or(0, |status| status.disruptions_allowed);
    let is_current = |budget: &PodDisruptionBudget| {
        let observed = budget.status.as_ref().and_then(|status| status.observed_generation);
        observed.unwrap_or(0) >= budget.metadata.generation.unwrap_or(0)
    };
    match (old, new) {
        (Some(old), Some(new)) => {
            allowed(new) > allowed(old)
                || new.metadata.generation != old.metadata.generation
                || (is_current(new) && !is_current(old))
        }
        (Some(_), None) => true,
        (None, Some(_) | None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[test]
    fn a_refusal_speaks_of_all_pods_of_its_budget_for_as_long_as_it_says_within_reason() {
        let blocked = BlockedDrains::default();
        let (pod, key) =
            (PodRef { key: ObjectKey::new("n", "p"), uid: Uid::new("u") }, |name| ObjectKey::new("n", name));
        let pods = BTreeMap::from([(pod.uid.clone(), BTreeSet::from([key("a")]))]);
        blocked.state().nodes.insert(NodeName::new("one"), pods);
        blocked.refused(&pod, seconds(10), at(0));
        blocked.refused(&pod, seconds(2), at(1));
        assert_eq!(blocked.until(&key("a"), at(9)), Some(at(10)));
        assert_eq!(blocked.until(&key("a"), at(10)), None);
        assert_eq!(blocked.until(&key("b"), at(1)), None);
        blocked.refused(&pod, SignedDuration::MAX, at(20));
        assert_eq!(blocked.until(&key("a"), at(20)), Some(at(80)));
        // A clock that is set back does not block it forever.
        assert_eq!(blocked.until(&key("a"), at(-1_000)), Some(at(-940)));
        let other = PodRef { uid: Uid::new("unknown"), ..pod };
        blocked.refused(&other, seconds(10), at(100));
        assert!(blocked.state().until.is_empty(), "what is over is forgotten");
    }

    fn budget(generation: i64, observed: i64, allowed: i32) -> PodDisruptionBudget {
        serde_json::from_value(serde_json::json!({
            "metadata": { "name": "b", "generation": generation },
            "status": {
                "observedGeneration": observed, "disruptionsAllowed": allowed,
                "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_budget_opens_when_it_allows_more_or_its_last_change_is_taken_in() {
        let opened = |old, new| opens(Some(&old), Some(&new));
        assert!(opened(budget(1, 1, 0), budget(1, 1, 1)));
        assert!(opened(budget(2, 1, 1), budget(2, 2, 1)));
        assert!(opened(budget(1, 1, 0), budget(2, 1, 0)));
        assert!(!opened(budget(1, 1, 2), budget(1, 1, 1)));
        assert!(opens(Some(&budget(1, 1, 0)), None) && !opens(None, Some(&budget(1, 1, 1))));
    }
}
