//! A Machine as its set sees it.

use std::collections::BTreeSet;

use kube::core::ObjectMeta;
use machinist_api::template::{MachineTemplate, NodeTemplate};
use machinist_api::{Machine, MachineSet, MachineSpec, names};
use machinist_core::driver::error::Code;
use machinist_core::machine::OperationFact;
use machinist_core::machine_set::creation::names::ordinal_of;
use machinist_core::machine_set::{ChildFact, MachineOwner, SyncedPart};
use machinist_core::value::id::{Name, ObjectKey, Uid};
use machinist_core::value::phase::{OperationState, OperationType};
use serde_json::Value;

use crate::cache::fields::operation_of;
use crate::controllers::facts::{SharedNodes, own_node, summary};
use crate::controllers::objects::inherited;
use crate::controllers::objects::metadata::{annotation, controller, difference};
use crate::controllers::objects::selection::labels_of;
use crate::controllers::state::TenantState;

/// Returns a Machine of which only the metadata can be decoded: the last copy, with that metadata. The facts of its
/// Node are left out, and it gets no settings of its set.
pub(crate) fn unreadable(tenant: &TenantState, meta: &ObjectMeta) -> Machine {
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let name = meta.name.as_deref().unwrap_or_default();
    let copy = tenant.machines.get(&ObjectKey::new(namespace, name));
    let copy = copy.filter(|copy| copy.metadata.uid == meta.uid);
    let (spec, status) = copy.map(|copy| (copy.spec.clone(), copy.status.clone())).unwrap_or_default();
    Machine { metadata: meta.clone(), spec, status }
}

/// Returns the facts of one Machine. `template` is that of [`crate::controllers::machine_set::body::machine_template`].
pub(crate) fn fact(
    tenant: &TenantState,
    shared: &SharedNodes,
    set: &MachineSet,
    template: Option<&MachineTemplate>,
    machine: &Machine,
) -> ChildFact {
    let meta = &machine.metadata;
    let id = &set.metadata;
    let (set_name, set_uid) =
        (Name::new(id.name.as_deref().unwrap_or_default()), Uid::new(id.uid.as_deref().unwrap_or_default()));
    let summary = summary(machine, own_node(tenant, shared, machine).as_deref());
    let ordinal = annotation(meta, names::annotations::ORDINAL);
    ChildFact {
        labels: labels_of(meta),
        owner: owner(meta, &set_uid),
        class: machine.spec.class.name.as_deref().map(Name::new),
        is_exhausted: is_exhausted(machine),
        operation: machine.status.as_ref().and_then(|status| operation_of(&status.last_operation)),
        ordinal: ordinal.and_then(|text| ordinal_of(&set_name, &set_uid, &summary.name, text)),
        drift: template.map(|template| drift(&machine.spec, &template.spec)).unwrap_or_default(),
        summary,
    }
}

/// Returns whether the cloud reported last that it has no capacity for it, and no VM exists.
fn is_exhausted(machine: &Machine) -> bool {
    let last = machine.status.as_ref().map(|status| &status.last_operation);
    let is_creation = last.and_then(operation_of)
        == Some(OperationFact { kind: OperationType::Create, state: OperationState::Failed });
    let code = last.and_then(|last| last.error_code.as_deref());
    machine.provider_id().is_none() && is_creation && code == Some(Code::ResourceExhausted.name())
}

fn owner(meta: &ObjectMeta, set: &Uid) -> MachineOwner {
    match controller(meta) {
        None => MachineOwner::None,
        Some(owner) if owner.uid == set.as_str() => MachineOwner::This,
        Some(owner) => MachineOwner::Other(Name::new(owner.name.as_str())),
    }
}

/// Where a Machine differs from what is handed down.
fn drift(has: &MachineSpec, wanted: &MachineSpec) -> BTreeSet<SyncedPart> {
    let differs = [
        (
            SyncedPart::NodeTemplate,
            node_templates_differ(has.node_template.as_ref(), wanted.node_template.as_ref()),
        ),
        // The same time in another writing is no difference: nothing is written for it.
        (SyncedPart::Configuration, configuration(&inherited::normalized(has)) != configuration(wanted)),
        (SyncedPart::ClassKind, has.class.kind != wanted.class.kind),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect()
}

/// Templates are stored as they were written: an empty one is equal to none.
fn node_templates_differ(has: Option<&NodeTemplate>, wanted: Option<&NodeTemplate>) -> bool {
    // Most are equal as they are, and looking further costs.
    if has == wanted {
        return false;
    }
    let change = difference(&node_template(has), &node_template(wanted));
    change.is_some_and(|change| change != Value::Null)
}

/// Its JSON, without parts that are empty.
pub(crate) fn node_template(template: Option<&NodeTemplate>) -> Value {
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
pub(crate) fn configuration(spec: &MachineSpec) -> MachineSpec {
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
