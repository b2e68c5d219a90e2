//! A Machine as others see it: its owners, and the Machines of its deployment and zone.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use machinist_api::{Machine, names};
use machinist_core::machine::node::health::{ConditionStatus, READY};
use machinist_core::machine::summary::{DEFAULT_PRIORITY, MachineSummary};
use machinist_core::safety::meltdown::{MemberFact, MemberState, OwnerGroup};
use machinist_core::value::id::{FailureDomain, Name, Namespace, ObjectKey, Uid};
use machinist_core::value::phase::Phase;
use machinist_core::value::same_vm::SameVm;

use crate::cache::fields::{node_name_of, phase_of};
use crate::controllers::objects::metadata::{self, controller, label};
use crate::controllers::state::TenantState;
use crate::plugins::policies::reboots;

/// The value of the label of a successful update in place.
pub(crate) const UPDATED: &str = "successful";

/// Returns the facts that count for the owners of a Machine. `node` is its own Node, if it exists.
pub(crate) fn summary(machine: &Machine, node: Option<&Node>) -> MachineSummary {
    let meta = &machine.metadata;
    let annotation = |key: &str| metadata::annotation(meta, key);
    let priority = annotation(names::annotations::PRIORITY).and_then(|text| text.trim().parse().ok());
    let preserved_until =
        machine.status.as_ref().and_then(|status| status.current_status.preserve_expiry_time.as_ref());
    MachineSummary {
        name: Name::new(meta.name.as_deref().unwrap_or_default()),
        uid: Uid::new(meta.uid.as_deref().unwrap_or_default()),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        is_deleting: meta.deletion_timestamp.is_some(),
        phase: phase_of(machine),
        priority: priority.unwrap_or(DEFAULT_PRIORITY),
        marked_at: annotation(names::annotations::MARKED_FOR_DELETION_TIME)
            .and_then(|text| text.parse().ok()),
        is_updated_in_place: label(meta, names::labels::UPDATE_RESULT) == Some(UPDATED),
        is_unreadable: false,
        preserve_request: annotation(names::annotations::PRESERVE).map(str::to_owned),
        node_preserve_request: node.map(|node| {
            metadata::annotation(&node.metadata, names::annotations::PRESERVE).unwrap_or_default().to_owned()
        }),
        applied_node_request: annotation(names::annotations::LAST_APPLIED_NODE_PRESERVE).map(str::to_owned),
        preserved_until: preserved_until.map(|time| time.0),
    }
}

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
    let meta = &machine.metadata;
    if let Some(name) = label(meta, names::labels::DEPLOYMENT).filter(|name| !name.is_empty()) {
        return Some(OwnerGroup::Deployment(namespace, Name::new(name)));
    }
    Some(OwnerGroup::Set(namespace, Name::new(&controller(meta)?.name)))
}

/// Where the VM is: as the driver said, as the Node says, as the template says.
fn zone(machine: &Machine, node: Option<&Node>) -> Option<FailureDomain> {
    let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
    let reported = own.and_then(|own| own.failure_domain.clone());
    let on_node = || label(&node?.metadata, names::labels::ZONE).map(str::to_owned);
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn summary_of(object: Value) -> MachineSummary {
        summary(&serde_json::from_value(object).unwrap(), None)
    }

    #[test]
    fn marks_and_priorities_that_cannot_be_read_count_as_none() {
        let read = |priority: &str, mark: &str| {
            let annotations = json!({
                names::annotations::PRIORITY: priority, names::annotations::MARKED_FOR_DELETION_TIME: mark,
            });
            let summary = summary_of(json!({ "metadata": { "annotations": annotations } }));
            (summary.priority, summary.marked_at.map(|at| at.to_string()))
        };
        let at = "2026-01-01T00:00:00Z";
        assert_eq!(read(" 1 ", at), (1, Some(at.to_owned())));
        assert_eq!(read("first", "soon"), (3, None));
    }

    #[test]
    fn a_machine_that_says_so_in_its_phase_is_going() {
        let read = json!({ "metadata": {}, "status": { "currentStatus": { "phase": "Terminating" } } });
        assert!(summary_of(read).is_terminating());
    }
}
