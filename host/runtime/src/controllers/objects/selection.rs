//! Selectors of sets and deployments, as the API has them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;
use machinist_core::value::selector::{Error, Labels, RawRequirement, Selector};

/// Labels of an object.
pub(crate) fn labels_of(meta: &ObjectMeta) -> Labels {
    meta.labels.clone().unwrap_or_default()
}

/// The selector, parsed.
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
    let selector = selector.and_then(|selector| parse(selector).ok()).filter(|all| !all.is_everything());
    selector.is_some_and(|selector| selector.matches(&labels_of(meta)))
}
