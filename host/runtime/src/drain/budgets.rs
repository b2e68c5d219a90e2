//! Finds the PodDisruptionBudgets that select a pod.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::core::{Selector, SelectorExt};
use machinist_core::drain::{BudgetFact, UnhealthyPods};
use machinist_core::value::id::ObjectKey;

use crate::cache::{Change, Groups};

use super::caches::DrainCaches;
use super::list_pods::RawMeta;

/// A namespace, and one label that a budget asks for there.
type IndexKey = (String, Option<(String, String)>);

/// Budgets by the first label of their selectors; those without labels by namespace alone. A cluster has a budget for
/// each application, and a drain searches them for each pod.
#[derive(Clone, Default)]
pub(crate) struct BudgetIndex(Arc<RwLock<Groups<IndexKey, ObjectKey>>>);

impl BudgetIndex {
    /// Updates the index. To be called for each change after the store has it.
    pub(crate) fn change(&self, change: &Change<PodDisruptionBudget>) {
        let index_key = |budget: &PodDisruptionBudget| index_key(&change.key, budget);
        let (old, new) = (change.old.as_deref().map(index_key), change.new.as_deref().map(index_key));
        if old == new {
            return;
        }
        let mut index = self.0.write().unwrap_or_else(PoisonError::into_inner);
        index.change(&change.key, old, new);
    }

    /// By name. Each of them may still turn out not to select the pod.
    fn candidates(&self, pod: &RawMeta) -> BTreeSet<ObjectKey> {
        let index = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let labels = pod.labels.iter().flatten().map(|(name, value)| Some((name.clone(), value.clone())));
        labels.chain([None]).flat_map(|label| index.of(&(pod.namespace.clone(), label))).collect()
    }
}

fn index_key(key: &ObjectKey, budget: &PodDisruptionBudget) -> IndexKey {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let labels = selector.and_then(|selector| selector.match_labels.as_ref());
    let first = labels.and_then(BTreeMap::first_key_value);
    (key.namespace.to_string(), first.map(|(name, value)| (name.clone(), value.clone())))
}

/// By name. Where budgets are not listed yet, none: the API server knows them all the same.
pub(super) fn of(caches: &DrainCaches, pod: &RawMeta, now: Timestamp) -> Vec<BudgetFact> {
    let candidates = caches.budget_index.candidates(pod).into_iter();
    candidates
        .filter_map(|key| {
            let budget = caches.budgets.get(&key).filter(|budget| selects(budget, pod))?;
            Some(BudgetFact { held_until: caches.blocked.until(&key, now), ..fact(&key, &budget) })
        })
        .collect()
}

/// A budget without a selector selects nothing, and one with an empty selector all pods of its namespace.
fn selects(budget: &PodDisruptionBudget, pod: &RawMeta) -> bool {
    let Some(selector) = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else { return false };
    let label = |name: &String| pod.labels.as_ref().and_then(|labels| labels.get(name));
    // Most budgets differ in another label; the rest is worth a copy of the selector.
    if !selector.match_labels.iter().flatten().all(|(name, value)| label(name) == Some(value)) {
        return false;
    }
    let Ok(selector) = Selector::try_from(selector.clone()) else { return false };
    selector.matches(pod.labels.as_ref().unwrap_or(&std::collections::BTreeMap::new()))
}

fn fact(key: &ObjectKey, budget: &PodDisruptionBudget) -> BudgetFact {
    let status = budget.status.as_ref();
    let policy = budget.spec.as_ref().and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
    BudgetFact {
        key: key.clone(),
        generation: budget.metadata.generation.unwrap_or(0),
        observed_generation: status.and_then(|status| status.observed_generation).unwrap_or(0),
        expected_pods: status.map_or(0, |status| status.expected_pods),
        current_healthy: status.map_or(0, |status| status.current_healthy),
        desired_healthy: status.map_or(0, |status| status.desired_healthy),
        disruptions_allowed: status.map_or(0, |status| status.disruptions_allowed),
        has_disrupted_pods: status
            .and_then(|status| status.disrupted_pods.as_ref())
            .is_some_and(|disrupted| !disrupted.is_empty()),
        unhealthy_pods: match policy {
            Some("AlwaysAllow") => UnhealthyPods::AlwaysAllow,
            Some(_) | None => UnhealthyPods::IfHealthyBudget,
        },
        held_until: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn budget(selector: &Value) -> Arc<PodDisruptionBudget> {
        Arc::new(serde_json::from_value(json!({ "metadata": {}, "spec": { "selector": selector } })).unwrap())
    }

    fn change(key: &str, old: Option<&Value>, new: Option<&Value>) -> Change<PodDisruptionBudget> {
        let (namespace, name) = key.split_once('/').unwrap();
        Change::new(ObjectKey::new(namespace, name), old.map(budget), new.map(budget))
    }

    /// Names of the budgets near a pod with labels `app: a` and `tier: b` in namespace `one`.
    fn candidates(index: &BudgetIndex) -> Vec<String> {
        let pod =
            json!({ "name": "p", "namespace": "one", "uid": "u", "labels": { "app": "a", "tier": "b" } });
        let pod: RawMeta = serde_json::from_value(pod).unwrap();
        index.candidates(&pod).into_iter().map(|key| key.name.to_string()).collect()
    }

    #[test]
    fn a_pod_is_held_against_the_budgets_of_its_labels_and_those_that_ask_for_none() {
        let index = BudgetIndex::default();
        for (key, selector) in [
            ("one/its", json!({ "matchLabels": { "app": "a" } })),
            ("one/of-another-app", json!({ "matchLabels": { "app": "b" } })),
            ("one/all", json!({})),
            ("one/by-expression", json!({ "matchExpressions": [{ "key": "app", "operator": "Exists" }] })),
            ("two/elsewhere", json!({ "matchLabels": { "app": "a" } })),
        ] {
            index.change(&change(key, None, Some(&selector)));
        }
        assert_eq!(candidates(&index), ["all", "by-expression", "its"]);
    }

    #[test]
    fn a_budget_that_changes_or_goes_is_found_where_it_is() {
        let index = BudgetIndex::default();
        let [a, b] = ["a", "b"].map(|app| json!({ "matchLabels": { "app": app } }));
        index.change(&change("one/x", None, Some(&b)));
        assert!(candidates(&index).is_empty());
        index.change(&change("one/x", Some(&b), Some(&a)));
        assert_eq!(candidates(&index), ["x"]);
        index.change(&change("one/x", Some(&a), None));
        assert!(candidates(&index).is_empty());
        assert_eq!(*index.0.read().unwrap(), Groups::default(), "no group is left");
    }
}
