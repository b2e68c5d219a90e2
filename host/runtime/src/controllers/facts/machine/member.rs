//! The state of a Machine, for the others of its deployment and zone.

use k8s_openapi::api::core::v1::Node;
use machinist_api::{Machine, names};
use machinist_core::machine::node::health::{ConditionStatus, READY};
use machinist_core::safety::meltdown::{MemberFact, MemberState, OwnerGroup};
use machinist_core::value::id::{FailureDomain, Name, Namespace, ObjectKey};
use machinist_core::value::phase::Phase;
use machinist_core::value::same_vm::SameVm;

use crate::cache::fields::{node_name_of, phase_of};
use crate::controllers::state::TenantState;
use crate::plugins::policies::reboots;

/// The facts that count for others, by the caches.
pub(crate) fn member(tenant: &TenantState, key: &ObjectKey, machine: &Machine) -> MemberFact {
    let node =
        node_name_of(machine).and_then(|name| tenant.nodes.as_ref()?.get(&ObjectKey::new("", name.as_str())));
    // A Node of another VM says nothing about this one.
    let node = node.filter(|node| is_of(node, machine));
    MemberFact {
        group: group(key, machine),
        zone: zone(machine, node.as_deref()),
        state: state(tenant, machine, node.as_deref()),
        rebooted_at: reboots(machine).times().last().copied(),
    }
}

fn is_of(node: &Node, machine: &Machine) -> bool {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
    SameVm::of_texts(id, machine.provider_id().unwrap_or_default()) != SameVm::Different
}

/// Machines with the same label `name`; without it those of one set. A Machine with neither is alone: nobody
/// replaces it.
fn group(key: &ObjectKey, machine: &Machine) -> Option<OwnerGroup> {
    let namespace = Namespace::new(key.namespace.as_str());
    let labels = machine.metadata.labels.as_ref();
    if let Some(name) =
        labels.and_then(|all| all.get(names::labels::DEPLOYMENT)).filter(|name| !name.is_empty())
    {
        return Some(OwnerGroup::Deployment(namespace, Name::new(name)));
    }
    let owner =
        machine.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    Some(OwnerGroup::Set(namespace, Name::new(&owner.name)))
}

/// Where the VM is: as the driver said, as the Node says, as the template says.
fn zone(machine: &Machine, node: Option<&Node>) -> Option<FailureDomain> {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let reported = own.and_then(|own| own.failure_domain.clone());
    let labels = node.and_then(|node| node.metadata.labels.as_ref());
    let on_node = || labels.and_then(|all| all.get(names::labels::ZONE).cloned());
    let in_template = || machine.spec.node_template.as_ref()?.labels().get(names::labels::ZONE).cloned();
    reported.or_else(on_node).or_else(in_template).filter(|zone| !zone.is_empty()).map(FailureDomain::new)
}

fn state(tenant: &TenantState, machine: &Machine, node: Option<&Node>) -> MemberState {
    let is_silent = tenant.nodes.is_some() && node.is_none_or(is_silent);
    if machine.metadata.deletion_timestamp.is_some() {
        return MemberState::Away;
    }
    let is_kept =
        machine.status.as_ref().is_some_and(|status| status.current_status.preserve_expiry_time.is_some());
    match phase_of(machine) {
        Phase::Running => MemberState::Running { is_silent },
        Phase::Unknown | Phase::InPlaceUpdateFailed => MemberState::Doubtful { is_silent },
        Phase::Terminating => MemberState::Away,
        _ if is_kept => MemberState::Kept,
        Phase::Failed => MemberState::Failed,
        Phase::New
        | Phase::Pending
        | Phase::Available
        | Phase::CrashLoopBackOff
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful => MemberState::Away,
    }
}

/// Returns whether the Node is silent: its kubelet has not reported for so long that Ready is Unknown, or has never
/// reported.
fn is_silent(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().find(|condition| condition.type_ == READY);
    ready.is_none_or(|ready| ConditionStatus::parse(&ready.status) == ConditionStatus::Unknown)
}
