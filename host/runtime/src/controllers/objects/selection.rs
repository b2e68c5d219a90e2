//! Selectors of sets and deployments, as the API has them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;
use machinist_core::machine_deployment::DeploymentSelectorFact;
use machinist_core::value::selector::{Error, Labels, RawRequirement, Selector};

/// Labels of an object.
pub(crate) fn labels_of(meta: &ObjectMeta) -> Labels {
    meta.labels.clone().unwrap_or_default()
}

pub(crate) fn parse(selector: &LabelSelector) -> Result<Selector, Error> {
    let empty = BTreeMap::new();
    let expressions = selector.match_expressions.iter().flatten().map(|requirement| RawRequirement {
        key: requirement.key.clone(),
        operator: requirement.operator.clone(),
        values: requirement.values.clone().unwrap_or_default(),
    });
    Selector::parse(selector.match_labels.as_ref().unwrap_or(&empty), expressions)
}

/// It selects this object. One that is missing, cannot be understood, or selects everything selects nothing here.
pub(crate) fn selects(selector: Option<&LabelSelector>, meta: &ObjectMeta) -> bool {
    selects_labels(selector, &labels_of(meta))
}

/// It selects these labels.
pub(crate) fn selects_labels(selector: Option<&LabelSelector>, labels: &Labels) -> bool {
    let selector = selector.and_then(|selector| parse(selector).ok());
    selector.is_some_and(|selector| !selector.is_everything() && selector.matches(labels))
}

/// The selector of a deployment, held against the labels of its own template.
pub(crate) fn deployment_selector(
    selector: Option<&LabelSelector>,
    template: &Labels,
) -> DeploymentSelectorFact {
    match selector.map(parse) {
        None => DeploymentSelectorFact::Missing,
        Some(Err(error)) => DeploymentSelectorFact::Invalid(error.to_string()),
        Some(Ok(selector)) if selector.is_everything() => DeploymentSelectorFact::Everything,
        Some(Ok(selector)) if selector.matches(template) => DeploymentSelectorFact::Selects,
        Some(Ok(_)) => DeploymentSelectorFact::Misses,
    }
}

/// The one value that the selector asks for of a label.
pub(crate) fn only_value(selector: Option<&LabelSelector>, label: &str) -> Option<String> {
    let selector = selector?;
    let equal = selector.match_labels.as_ref().and_then(|labels| labels.get(label).cloned());
    let among = selector.match_expressions.iter().flatten().find_map(|expression| {
        let is_it = expression.key == label && expression.operator == "In";
        match expression.values.as_deref() {
            Some([value]) if is_it => Some(value.clone()),
            Some(_) | None => None,
        }
    });
    equal.or(among)
}

/// Returns the labels that an object must have to be selected.
pub(crate) fn equal_labels(selector: Option<&LabelSelector>) -> BTreeMap<String, String> {
    selector.and_then(|selector| selector.match_labels.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selector(value: serde_json::Value) -> LabelSelector {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_selector_is_held_against_the_template() {
        let labels = Labels::from([("pool".to_owned(), "a".to_owned())]);
        let fact_of = |value| deployment_selector(Some(&selector(value)), &labels);
        assert_eq!(deployment_selector(None, &labels), DeploymentSelectorFact::Missing);
        assert_eq!(fact_of(json!({})), DeploymentSelectorFact::Everything);
        assert_eq!(fact_of(json!({ "matchLabels": { "pool": "a" } })), DeploymentSelectorFact::Selects);
        assert_eq!(fact_of(json!({ "matchLabels": { "pool": "b" } })), DeploymentSelectorFact::Misses);
        let invalid =
            fact_of(json!({ "matchExpressions": [{ "key": "pool", "operator": "Is", "values": ["a"] }] }));
        assert!(matches!(invalid, DeploymentSelectorFact::Invalid(why) if why.contains("Is")));
    }

    #[test]
    fn an_invalid_or_empty_selector_selects_nobody_elses_objects() {
        let labels = Labels::from([("pool".to_owned(), "a".to_owned())]);
        assert!(!selects_labels(None, &labels) && !selects_labels(Some(&selector(json!({}))), &labels));
        let invalid = selector(json!({ "matchExpressions": [{ "key": "pool", "operator": "In" }] }));
        assert!(!selects_labels(Some(&invalid), &labels));
        assert!(selects_labels(Some(&selector(json!({ "matchLabels": { "pool": "a" } }))), &labels));
    }

    #[test]
    fn the_one_value_of_a_label_is_found_in_both_forms() {
        let by_label = selector(json!({ "matchLabels": { "hash": "7" } }));
        let by_list = |values: serde_json::Value| {
            selector(json!({ "matchExpressions": [{ "key": "hash", "operator": "In", "values": values }] }))
        };
        assert_eq!(only_value(Some(&by_label), "hash").as_deref(), Some("7"));
        assert_eq!(only_value(Some(&by_list(json!(["8"]))), "hash").as_deref(), Some("8"));
        assert_eq!(only_value(Some(&by_list(json!(["8", "9"]))), "hash"), None);
        assert_eq!(only_value(Some(&by_label), "other"), None);
    }
}
