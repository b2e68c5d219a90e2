//! Effects on the Node of a Machine.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::Api;
use kube::api::Patch;
use machinist_api::names;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::NodeConditionWrite;
use machinist_core::machine::node::sync::{NodeChange, NodeMeta, TaintFact};
use machinist_core::value::id::{NodeName, Uid};
use serde_json::{Map, Value, json};

use crate::client::errors::within_deadline;
use crate::client::writes::{self, WriteOutcome, gone_is_done, merge, only, patch_status};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::facts::machine::observe::ObservedMachine;
use crate::controllers::objects::metadata::Metadata;

/// How often a kubelet may be faster than one write; the next reconcile tries again.
const ATTEMPTS: usize = 3;

fn nodes(context: &Context) -> Result<Api<Node>, ActError> {
    let target = context.target.clone();
    target.map(Api::all).ok_or(ActError::Forbidden { reason: "there is no target cluster" })
}

/// Labels, annotations and taints.
pub(super) async fn sync(
    context: &Context,
    observed: &ObservedMachine,
    name: &NodeName,
    change: &NodeChange,
) -> WriteOutcome {
    let Some(node) = &observed.node else { return Err(ActError::Gone) };
    let mut annotations: Map<String, Value> =
        change.annotations.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    if let Some(applied) = &change.last_applied {
        let text = last_applied(applied);
        annotations.insert(names::annotations::LAST_APPLIED_TEMPLATE.to_owned(), json!(text));
    }
    if let Some(noted) = &change.capacity_note {
        let text = noted.as_ref().map(|noted| json!(noted).to_string());
        annotations.insert(names::annotations::LAST_APPLIED_VIRTUAL_CAPACITY.to_owned(), json!(text));
    }
    let metadata = Metadata::of(&node.metadata).with_change(&change.labels, &annotations);
    let metadata = if change.takes_finalizer {
        metadata.with("finalizers", json!([names::finalizers::NODE]))
    } else {
        metadata
    };
    match &change.taints {
        Some(taints) => {
            let spec = json!({ "taints": taint_values(taints) });
            with_taints(context, name, node, &metadata.patch_with_spec(&spec)).await
        }
        None => patch_node(context, name, metadata.patch()).await,
    }
}

/// The list of taints is written whole, so it must be the list that was read. Kubelets write their Nodes all the time:
/// any other change is no conflict.
async fn with_taints(context: &Context, name: &NodeName, seen: &Node, patch: &Value) -> WriteOutcome {
    let taints = |node: &Node| node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    let mut version = seen.metadata.resource_version.clone();
    for _ in 0..ATTEMPTS {
        let mut patch = patch.clone();
        if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), json!(version));
        }
        match patch_node(context, name, patch).await {
            Err(ActError::Conflict) => {}
            done => return done,
        }
        match within_deadline(nodes(context)?.get_opt(name.as_str())).await? {
            Some(node) if node.metadata.uid == seen.metadata.uid && taints(&node) == taints(seen) => {
                version = node.metadata.resource_version;
            }
            Some(_) => return Err(ActError::Conflict),
            None => return Err(ActError::Gone),
        }
    }
    Err(ActError::Conflict)
}

/// Deletes only the Node that was read. Removes the other controller's finalizer first: its work is done here.
pub(super) async fn delete(
    context: &Context,
    observed: &ObservedMachine,
    name: &NodeName,
    uid: &Uid,
) -> Result<(), ActError> {
    let api = nodes(context)?;
    if let Some(node) = &observed.node {
        gone_is_done(without_finalizer(&api, node).await)?;
    }
    let params = only(Some(uid.to_string()), None);
    match gone_is_done(within_deadline(api.delete(name.as_str(), &params)).await) {
        // Another Node of that name means that ours is gone; but that is not the only conflict there is.
        Err(ActError::Conflict) => match within_deadline(api.get_opt(name.as_str())).await? {
            Some(node) if node.metadata.uid.as_deref() == Some(uid.as_str()) => Err(ActError::Conflict),
            Some(_) | None => Ok(()),
        },
        other => other,
    }
}

/// The list is written whole, so in the version that has it; a Node that others wrote meanwhile is read again.
async fn without_finalizer(api: &Api<Node>, seen: &Node) -> Result<(), ActError> {
    let name = seen.metadata.name.as_deref().unwrap_or_default();
    let is_ours = |finalizer: &&String| *finalizer == names::finalizers::NODE;
    let mut latest = seen.metadata.clone();
    for _ in 0..ATTEMPTS {
        let finalizers = latest.finalizers.as_deref().unwrap_or_default();
        if !finalizers.iter().any(|finalizer| is_ours(&finalizer)) {
            return Ok(());
        }
        let rest: Vec<&String> = finalizers.iter().filter(|finalizer| !is_ours(finalizer)).collect();
        let patch = Metadata::of(&latest).in_version(&latest).with("finalizers", json!(rest)).patch();
        match merge(api, Kind::Node, name, patch).await {
            Err(ActError::Conflict) => {}
            done => return done.map(drop),
        }
        match within_deadline(api.get_metadata_opt(name)).await? {
            Some(node) if node.metadata.uid == seen.metadata.uid => latest = node.metadata,
            // Another Node of that name: that one's finalizer is not ours to take off.
            Some(_) | None => return Ok(()),
        }
    }
    Err(ActError::Conflict)
}

/// Resources of the Node's capacity, which is a part of its status.
pub(super) async fn write_capacity(
    context: &Context,
    observed: &ObservedMachine,
    name: &NodeName,
    resources: &BTreeMap<String, Option<String>>,
) -> WriteOutcome {
    let Some(node) = &observed.node else { return Err(ActError::Gone) };
    let patch = Metadata::of(&node.metadata).patch_with("status", &json!({ "capacity": resources }));
    patch_status(&nodes(context)?, Kind::Node, name.as_str(), Patch::Merge(patch)).await
}

/// No more pods come onto the Node.
pub(super) async fn cordon(context: &Context, observed: &ObservedMachine, name: &NodeName) -> WriteOutcome {
    let Some(node) = &observed.node else { return Err(ActError::Gone) };
    let patch = Metadata::of(&node.metadata).patch_with_spec(&json!({ "unschedulable": true }));
    patch_node(context, name, patch).await
}

/// The API server puts it among the others, so that a kubelet that writes its own at the same time is no conflict.
pub(super) async fn set_condition(
    context: &Context,
    observed: &ObservedMachine,
    name: &NodeName,
    condition: &NodeConditionWrite,
) -> WriteOutcome {
    let Some(node) = &observed.node else { return Err(ActError::Gone) };
    let mut seen = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let old = seen.find(|old| old.type_ == condition.kind);
    let value = condition_value(old, condition, context.clock.now());
    let patch = Metadata::of(&node.metadata).patch_with("status", &json!({ "conditions": [value] }));
    patch_status(&nodes(context)?, Kind::Node, name.as_str(), Patch::Strategic(patch)).await
}

/// The transition time is that of the last change of status or reason, since drains count from it.
fn condition_value(old: Option<&NodeCondition>, new: &NodeConditionWrite, now: Timestamp) -> Value {
    let stamp = json!(machinist_api::value::time(now));
    let is_same = |old: &&NodeCondition| {
        old.status == new.status.to_string() && old.reason.as_deref() == Some(new.reason.as_str())
    };
    let since = old.filter(is_same).and_then(|old| old.last_transition_time.as_ref());
    json!({
        "type": new.kind,
        "status": new.status.to_string(),
        "reason": new.reason,
        "message": new.message,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": since.map_or(stamp.clone(), |since| json!(since)),
    })
}

async fn patch_node(context: &Context, name: &NodeName, patch: Value) -> WriteOutcome {
    writes::patch(&nodes(context)?, Kind::Node, name.as_str(), Patch::Strategic(patch)).await
}

/// The text of the last-applied annotation: a node template as JSON, as other controllers read and write it.
fn last_applied(applied: &NodeMeta) -> String {
    let mut metadata = Map::new();
    if !applied.labels.is_empty() {
        metadata.insert("labels".into(), json!(applied.labels));
    }
    if !applied.annotations.is_empty() {
        metadata.insert("annotations".into(), json!(applied.annotations));
    }
    let mut spec = Map::new();
    if !applied.taints.is_empty() {
        spec.insert("taints".into(), taint_values(&applied.taints));
    }
    json!({ "metadata": metadata, "spec": spec }).to_string()
}

/// Taints as a Node's spec has them.
fn taint_values(taints: &[TaintFact]) -> Value {
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
