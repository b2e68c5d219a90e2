//! Which PodDisruptionBudgets select a pod.

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::core::{Selector, SelectorExt};
use machinist_core::drain::{BudgetFact, UnhealthyPods};
use machinist_core::id::ObjectKey;

use super::raw::RawMeta;
use super::sources::Sources;

/// By name. Where budgets are not listed yet, none: the API server knows them all the same.
pub(super) fn of(sources: &Sources, pod: &RawMeta, now: Timestamp) -> Vec<BudgetFact> {
    let of_pod = sources.budgets.in_namespace(&pod.namespace, |budget| selects(budget, pod));
    of_pod
        .iter()
        .map(|(key, budget)| BudgetFact { held_until: sources.held.until(key, now), ..fact(key, budget) })
        .collect()
}

/// A budget without a selector selects nothing, and one with an empty selector all pods of its namespace.
fn selects(budget: &PodDisruptionBudget, pod: &RawMeta) -> bool {
    let Some(selector) = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else { return false };
    let label = |name: &String| pod.labels.as_ref().and_then(|labels| labels.get(name));
    // Of the budgets of a namespace hardly any is about this pod, and the labels tell it: only then is it worth a copy.
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
