//! The special rules of pods: they are deleted after their grace period, and evictions check the disruption budgets.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::deletion::DeleteOptions;
use crate::kinds;
use crate::object::Key;
use crate::object::Shared;
use crate::refusal::Refusal;
use crate::scope::Scope;
use crate::store::{Outcome, Part, Store};

/// Evicts a pod, if its budget lets it go.
pub(crate) fn evict(store: &mut Store, key: &Key, options: &DeleteOptions, now: Timestamp) -> Outcome {
    store.is_evicting = true;
    let outcome = evict_within_budget(store, key, options, now);
    store.is_evicting = false;
    outcome
}

fn evict_within_budget(store: &mut Store, key: &Key, options: &DeleteOptions, now: Timestamp) -> Outcome {
    let pod = store.get(key)?;
    let kind = kinds::of("pods");
    let is_going = pod["metadata"]["deletionTimestamp"].is_string();
    let is_unbudgeted =
        is_going || matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"));
    if !is_unbudgeted {
        let budgets = budgets_of(store, &pod);
        match budgets.as_slice() {
            [] => {}
            [budget] => spend(store, budget, &pod, now)?,
            _ => {
                return Err(Refusal::internal(
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        }
    }
    store.delete(kind, key, options, now)
}

fn budgets_of(store: &Store, pod: &Value) -> Vec<Shared> {
    store.budgets_near(pod).filter(|budget| covers(budget, pod)).cloned().collect()
}

/// Whether a PodDisruptionBudget's selector takes this pod.
pub fn covers(budget: &Value, pod: &Value) -> bool {
    let selector = &budget["spec"]["selector"];
    if !selector.is_object() || budget["metadata"]["namespace"] != pod["metadata"]["namespace"] {
        return false;
    }
    let labels = &pod["metadata"]["labels"];
    let has_labels =
        selector["matchLabels"].as_object().into_iter().flatten().all(|(name, value)| labels[name] == *value);
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    has_labels && expressions.map(expression).all(|term| is_met(&term, pod))
}

fn expression(expression: &Value) -> String {
    let key = expression["key"].as_str().unwrap_or_default();
    let values: Vec<&str> =
        expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match expression["operator"].as_str().unwrap_or_default() {
        "In" => format!("{key} in ({})", values.join(",")),
        "NotIn" => values.iter().map(|value| format!("{key}!={value}")).collect::<Vec<_>>().join(","),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    }
}

fn is_met(selector: &str, pod: &Value) -> bool {
    Scope::new(kinds::of("pods"), "", selector, "").is_ok_and(|scope| scope.takes(pod))
}

/// Takes one disruption out of a budget.
fn spend(store: &mut Store, budget: &Value, pod: &Value, now: Timestamp) -> Result<(), Refusal> {
    let (spec, status, meta) = (&budget["spec"], &budget["status"], &budget["metadata"]);
    let name = meta["name"].as_str().unwrap_or_default();
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    let (healthy, wanted) = (number("currentHealthy"), number("desiredHealthy"));
    if !is_ready(pod) {
        let is_met = healthy >= wanted && wanted > 0;
        if spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow" || is_met {
            return Ok(());
        }
    }
    if number("observedGeneration") < meta["generation"].as_i64().unwrap_or(0) {
        let message = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Refusal::over_budget(message, 10));
    }
    let allowed = number("disruptionsAllowed");
    if allowed <= 0 {
        let message =
            format!("The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently");
        return Err(Refusal::over_budget(message, 0));
    }
    let pod_name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let at = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
    let patch = json!({ "status": {
        "disruptionsAllowed": allowed - 1,
        "disruptedPods": { pod_name: at },
    } });
    let text = |field: &str| meta[field].as_str().unwrap_or_default().to_owned();
    let key = ("poddisruptionbudgets", text("namespace"), text("name"));
    store.patch(kinds::of("poddisruptionbudgets"), key, &patch, Part::Status).map(drop)
}

/// The pod's condition Ready is True.
pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter(|condition| condition["type"] == "Ready").any(|condition| condition["status"] == "True")
}
