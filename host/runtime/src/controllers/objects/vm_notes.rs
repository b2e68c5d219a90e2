//! Metadata that an object stores for its VM: the finalizer that holds it, and the note of a create.

use jiff::Timestamp;
use kube::core::ObjectMeta;
use serde_json::{Value, json};

use super::metadata::Metadata;
use crate::client::field_manager::{CREATE_INTENT, CREATE_INTENT_BY};

/// The list of finalizers is written whole, so it must be the list that was read. A successful write also proves that
/// nobody added our finalizer before: this reconcile is the first.
pub(crate) fn with_finalizer(meta: &ObjectMeta, finalizer: &str) -> Metadata {
    let mut finalizers = meta.finalizers.clone().unwrap_or_default();
    if !finalizers.iter().any(|name| name == finalizer) {
        finalizers.push(finalizer.to_owned());
    }
    Metadata::of(meta).in_version(meta).with("finalizers", json!(finalizers))
}

/// Takes our finalizer off the list that was read.
pub(crate) fn without_finalizer(meta: &ObjectMeta, finalizer: &str) -> Metadata {
    let others: Vec<&String> = meta.finalizers.iter().flatten().filter(|name| *name != finalizer).collect();
    Metadata::of(meta).in_version(meta).with("finalizers", json!(others))
}

/// Notes that the process `by` begins a create.
pub(crate) fn with_intent(meta: &ObjectMeta, now: Timestamp, by: &str) -> Metadata {
    Metadata::of(meta).with("annotations", json!({ CREATE_INTENT: now.to_string(), CREATE_INTENT_BY: by }))
}

/// Takes the note of a create off. Only on the version that is known, the last one that this reconcile has `written`:
/// a request that is late must not take off the note of a later create.
pub(crate) fn without_intent(meta: &ObjectMeta, written: Option<&str>) -> Metadata {
    let version = written.or(meta.resource_version.as_deref());
    Metadata::of(meta).with("resourceVersion", json!(version)).with("annotations", no_intent())
}

/// The annotations without a note of a create.
pub(crate) fn no_intent() -> Value {
    json!({ CREATE_INTENT: null, CREATE_INTENT_BY: null })
}
