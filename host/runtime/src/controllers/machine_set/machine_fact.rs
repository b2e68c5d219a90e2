//! A Machine as its set sees it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kube::core::ObjectMeta;
use machinist_api::template::{MachineTemplate, NodeTemplate};
use machinist_api::{Machine, MachineSet, MachineSpec, names};
use machinist_core::driver::error::Code;
use machinist_core::machine::OperationFact;
use machinist_core::machine_set::creation::names::ordinal_of;
use machinist_core::machine_set::{ChildFact, Owner, Part};
use machinist_core::value::id::{Name, ObjectKey, Uid};
use machinist_core::value::phase::{OperationState, OperationType};
use serde_json::Value;

use crate::cache::fields::{operation_of, phase_of};
use crate::controllers::machine::{SharedNodes, own_node};
use crate::controllers::objects::selection::labels_of;
use crate::controllers::objects::{inherited, merge};
use crate::controllers::state::TenantState;

/// A Machine whose metadata is all that can be read: as it was when it could be, and as its metadata says. The facts of
/// its Node are left out, and nothing is handed down to it.
pub(crate) fn unreadable(tenant: &TenantState, meta: &ObjectMeta) -> Machine {
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let name = meta.name.as_deref().unwrap_or_default();
    let copy = tenant.machines.get(&ObjectKey::new(namespace, name));
    let copy = copy.filter(|copy| copy.metadata.uid == meta.uid);
    let (spec, status) = copy.map(|copy| (copy.spec.clone(), copy.status.clone())).unwrap_or_default();
    Machine { metadata: meta.clone(), spec, status }
}

/// The facts of one Machine. `template` is what the set hands down, see [`super::body::inherited`].
pub(super) fn fact(
    tenant: &TenantState,
    shared: &SharedNodes,
    set: &MachineSet,
    template: Option<&MachineTemplate>,
    machine: &Machine,
) -> ChildFact {
    let meta = &machine.metadata;
    let status = machine.status.as_ref();
    let name = Name::new(meta.name.as_deref().unwrap_or_default());
    let annotation = |name: &str| meta.annotations.as_ref().and_then(|all| all.get(name)).cloned();
    let labels = labels_of(meta);
    let (set_name, set_uid) = (set.metadata.name.as_deref(), set.metadata.uid.as_deref());
    let (set_name, set_uid) =
        (Name::new(set_name.unwrap_or_default()), Uid::new(set_uid.unwrap_or_default()));
    ChildFact {
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        owner: owner(meta, &set_uid),
        is_deleting: meta.deletion_timestamp.is_some(),
        phase: phase_of(machine),
        class: machine.spec.class.name.as_deref().map(Name::new),
        is_exhausted: is_exhausted(machine),
        operation: status.and_then(|status| operation_of(&status.last_operation)),
        ordinal: annotation(names::annotations::ORDINAL)
            .and_then(|text| ordinal_of(&set_name, &set_uid, &name, &text)),
        priority: annotation(names::annotations::PRIORITY),
        marked_at: annotation(names::annotations::MARKED_FOR_DELETION_TIME)
            .and_then(|text| text.parse().ok()),
        is_updated_in_place: labels
            .get(names::labels::UPDATE_RESULT)
            .is_some_and(|result| result == "successful"),
        preserve_wish: annotation(names::annotations::PRESERVE),
        is_unreadable: false,
        node_preserve_wish: node_wish(tenant, shared, machine),
        node_wish_heeded: annotation(names::annotations::LAST_APPLIED_NODE_PRESERVE),
        preserved_until: status
            .and_then(|status| status.current_status.preserve_expiry_time.as_ref())
            .map(|time| time.0),
        drift: template.map(|template| drift(&machine.spec, &template.spec)).unwrap_or_default(),
        labels,
        name,
    }
}

/// The cloud said last that it has no capacity for it, and has made no VM.
fn is_exhausted(machine: &Machine) -> bool {
    let last = machine.status.as_ref().map(|status| &status.last_operation);
    let is_creation = last.and_then(operation_of)
        == Some(OperationFact { kind: OperationType::Create, state: OperationState::Failed });
    let code = last.and_then(|last| last.error_code.as_deref());
    machine.provider_id().is_none() && is_creation && code == Some(Code::ResourceExhausted.name())
}

fn owner(meta: &ObjectMeta, set: &Uid) -> Owner {
    let controller = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    match controller {
        None => Owner::None,
        Some(owner) if owner.uid == set.as_str() => Owner::This,
        Some(owner) => Owner::Other(Name::new(owner.name.as_str())),
    }
}

/// What the Node's annotation wishes; empty for nothing, `None` without a Node. One that is another Machine's is none.
fn node_wish(tenant: &TenantState, shared: &SharedNodes, machine: &Machine) -> Option<String> {
    let node = own_node(tenant, shared, machine)?;
    let annotations = node.metadata.annotations.as_ref();
    Some(annotations.and_then(|all| all.get(names::annotations::PRESERVE)).cloned().unwrap_or_default())
}

/// Where a Machine differs from what is handed down.
fn drift(has: &MachineSpec, wanted: &MachineSpec) -> BTreeSet<Part> {
    let differs = [
        (
            Part::NodeTemplate,
            node_templates_differ(has.node_template.as_ref(), wanted.node_template.as_ref()),
        ),
        // The same time in another writing is no difference: nothing is written for it.
        (Part::Configuration, configuration(&inherited::normalized(has)) != configuration(wanted)),
        (Part::ClassKind, has.class.kind != wanted.class.kind),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect()
}

/// Templates are kept as they were written: an empty one is as good as none.
fn node_templates_differ(has: Option<&NodeTemplate>, wanted: Option<&NodeTemplate>) -> bool {
    // Most are equal as they are, and looking further costs.
    if has == wanted {
        return false;
    }
    let change = merge::difference(&node_template(has), &node_template(wanted));
    change.is_some_and(|change| change != Value::Null)
}

/// Its JSON, without parts that are empty.
pub(super) fn node_template(template: Option<&NodeTemplate>) -> Value {
    fn pruned(value: Value) -> Value {
        let Value::Object(fields) = value else { return value };
        let kept = fields.into_iter().map(|(field, value)| (field, pruned(value)));
        let is_something = |(_, value): &(String, Value)| match value {
            Value::Null => false,
            Value::Object(fields) => !fields.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        };
        Value::Object(kept.filter(is_something).collect())
    }
    let value = template.and_then(|template| serde_json::to_value(template).ok());
    pruned(value.unwrap_or(Value::Object(serde_json::Map::new())))
}

/// Time-outs and the like, alone.
pub(super) fn configuration(spec: &MachineSpec) -> MachineSpec {
    let MachineSpec {
        class: _,
        provider_id: _,
        node_template: _,
        drain_timeout,
        health_timeout,
        creation_timeout,
        in_place_update_timeout,
        machine_preserve_timeout,
        disable_health_timeout,
        max_evict_retries,
        node_conditions,
    } = spec.clone();
    MachineSpec {
        drain_timeout,
        health_timeout,
        creation_timeout,
        in_place_update_timeout,
        machine_preserve_timeout,
        disable_health_timeout,
        max_evict_retries,
        node_conditions,
        ..MachineSpec::default()
    }
}
