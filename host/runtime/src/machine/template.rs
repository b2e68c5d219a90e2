//! A node template as JSON, in the form in which other controllers read and write it.

use machinist_core::node_sync::{NodeMeta, TaintFact};
use serde_json::{Map, Value, json};

/// The text of the last-applied annotation.
pub(super) fn last_applied(applied: &NodeMeta) -> String {
    let mut metadata = Map::new();
    if !applied.labels.is_empty() {
        metadata.insert("labels".into(), json!(applied.labels));
    }
    if !applied.annotations.is_empty() {
        metadata.insert("annotations".into(), json!(applied.annotations));
    }
    let mut spec = Map::new();
    if !applied.taints.is_empty() {
        spec.insert("taints".into(), taints(&applied.taints));
    }
    json!({ "metadata": metadata, "spec": spec }).to_string()
}

/// Taints as a Node's spec has them.
pub(super) fn taints(taints: &[TaintFact]) -> Value {
    let one = |taint: &TaintFact| {
        let mut value = json!({ "key": taint.key, "effect": taint.effect });
        if !taint.value.is_empty() {
            value["value"] = json!(taint.value);
        }
        if let Some(time) = taint.time_added {
            value["timeAdded"] = json!(time.to_string());
        }
        value
    };
    Value::Array(taints.iter().map(one).collect())
}
