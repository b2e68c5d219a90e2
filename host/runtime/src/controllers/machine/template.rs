//! A node template as JSON, in the form in which other controllers read and write it.

use machinist_core::machine::node::sync::{NodeMeta, TaintFact};
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
        let mut fields = Map::new();
        fields.insert("key".into(), json!(taint.key));
        fields.insert("effect".into(), json!(taint.effect));
        if !taint.value.is_empty() {
            fields.insert("value".into(), json!(taint.value));
        }
        if let Some(time) = taint.time_added {
            fields.insert("timeAdded".into(), json!(time.to_string()));
        }
        Value::Object(fields)
    };
    Value::Array(taints.iter().map(one).collect())
}
