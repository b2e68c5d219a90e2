//! The Node of a Machine, and the other Machines that name it or its VM.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use machinist_api::Machine;
use machinist_core::machine::ownership::conflict::{
    NamingMachine, NodeNameHolder, NodeOwner, NodeOwnership, OwnershipConflict, is_anothers, owner_of,
};
use machinist_core::machine::{MachineConditionKind, MachineFact, NodePresence, TargetFact};
use machinist_core::value::id::{NodeName, ObjectKey, ProviderId};
use machinist_core::value::phase::{OperationType, Phase};
use machinist_core::value::same_vm::SameVm;

use crate::cache::fields::{node_name_of, operation_of, phase_of};
use crate::cache::node_index::mark_of;
use crate::controllers::state::TenantState;

use super::observe::{node_fact, reports_problem};

/// Nodes that several Machines name, and which Machines these are.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedNodes(pub(crate) BTreeMap<NodeName, Vec<ObjectKey>>);

/// Returns the Node that a Machine's label names, for its owners: only if it is the Machine's, by the rule for the
/// Machine itself.
pub(crate) fn own_node(tenant: &TenantState, shared: &SharedNodes, machine: &Machine) -> Option<Arc<Node>> {
    let name = node_name_of(machine)?;
    let node = tenant.nodes.as_ref()?.get(&ObjectKey::new("", name.as_str()))?;
    let meta = &machine.metadata;
    let key = ObjectKey::new(
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default(),
    );
    let others = shared.0.get(&name).into_iter().flatten().filter(|other| **other != key);
    let naming_machines = others.filter_map(|other| naming_machine(tenant, other)).collect();
    let claim = NodeOwnership { provider_id: provider_id(&node), mark: mark_of(&node).map(str::to_owned) };
    let all = with_hidden(tenant, (&key, Some(&name)), &node, naming_machines);
    match owner_of(&claim, &naming_machine_of(&key, machine), &all) {
        NodeOwner::Own(_) => Some(node),
        NodeOwner::Foreign(_) | NodeOwner::Contested(_) => None,
    }
}

/// The Node of a Machine, if it is its own, and the Machines that compete for it.
pub(crate) struct NodeMatch {
    pub(crate) target: TargetFact,
    /// The Node, when it is the Machine's.
    pub(crate) node: Option<Arc<Node>>,
    pub(crate) conflict: OwnershipConflict,
}

/// `others`: Machines that name the same Node or store the same provider id.
pub(crate) fn of(
    tenant: &TenantState,
    machine: &Machine,
    fact: &MachineFact,
    others: &[ObjectKey],
) -> NodeMatch {
    let naming_machines: Vec<NamingMachine> =
        others.iter().filter_map(|key| naming_machine(tenant, key)).collect();
    let conflict = conflicts_over_vm(machine, fact, &naming_machines);
    let Some(nodes) = tenant.nodes.as_ref() else {
        return NodeMatch { target: TargetFact::None, node: None, conflict };
    };
    let own = naming_machine_of(&fact.key, machine);
    let named = fact.node_name.as_ref().and_then(|name| nodes.get(&ObjectKey::new("", name.as_str())));
    let candidate = named.map(|node| NodeCandidate::of(tenant, fact, node, &own, naming_machines.clone()));
    let candidate = match candidate {
        Some(candidate) if matches!(candidate.whose, NodeOwner::Own(_)) => Some(candidate),
        // Its Node may have registered under another name than the driver said.
        candidate => {
            let other = unnamed(tenant, machine, fact);
            let other = other.map(|node| NodeCandidate::of(tenant, fact, node, &own, naming_machines));
            other
                .filter(|other| candidate.is_none() || matches!(other.whose, NodeOwner::Own(_)))
                .or(candidate)
        }
    };
    let Some(NodeCandidate { node, whose, taken }) = candidate else {
        return NodeMatch { target: TargetFact::Cluster(NodePresence::Absent), node: None, conflict };
    };
    let conflict = OwnershipConflict { name_holder: taken, ..conflict };
    match whose {
        NodeOwner::Foreign(vm) => {
            NodeMatch { target: TargetFact::Cluster(NodePresence::Foreign(vm)), node: None, conflict }
        }
        NodeOwner::Contested(others) => {
            NodeMatch { target: TargetFact::Cluster(NodePresence::Contested(others)), node: None, conflict }
        }
        NodeOwner::Own(others) => NodeMatch {
            target: TargetFact::Cluster(NodePresence::Present(node_fact(&node))),
            node: Some(node),
            conflict: OwnershipConflict { of_node: others, ..conflict },
        },
    }
}

/// A Node that may be a Machine's, and its owner.
struct NodeCandidate {
    node: Arc<Node>,
    whose: NodeOwner,
    taken: Option<NodeNameHolder>,
}

impl NodeCandidate {
    fn of(
        tenant: &TenantState,
        fact: &MachineFact,
        node: Arc<Node>,
        own: &NamingMachine,
        naming_machines: Vec<NamingMachine>,
    ) -> Self {
        let claim =
            NodeOwnership { provider_id: provider_id(&node), mark: mark_of(&node).map(str::to_owned) };
        let all = with_hidden(tenant, (&fact.key, fact.node_name.as_ref()), &node, naming_machines);
        let leaves = |other: &NamingMachine| {
            let is_of_vm = SameVm::of(claim.provider_id.as_ref(), other.provider_id.as_ref()) == SameVm::Same;
            other.is_deleting && (is_of_vm || claim.mark.as_deref() == Some(other.key.name.as_str()))
        };
        let is_leaving = node.metadata.deletion_timestamp.is_some() || all.iter().any(leaves);
        let taken = is_anothers(&claim, own, &all).then_some(if is_leaving {
            NodeNameHolder::Leaving
        } else {
            NodeNameHolder::Staying
        });
        Self { whose: owner_of(&claim, own, &all), node, taken }
    }
}

fn conflicts_over_vm(
    machine: &Machine,
    fact: &MachineFact,
    naming_machines: &[NamingMachine],
) -> OwnershipConflict {
    let of_vm = |is_deleting: bool| {
        let is_it = |naming_machine: &&NamingMachine| {
            SameVm::of(naming_machine.provider_id.as_ref(), fact.provider_id.as_ref()) == SameVm::Same
                && naming_machine.is_deleting == is_deleting
        };
        naming_machines.iter().filter(is_it).map(|naming_machine| naming_machine.key.clone()).collect()
    };
    OwnershipConflict {
        vm_users: of_vm(false),
        vm_users_in_deletion: of_vm(true),
        of_node: Vec::new(),
        name_holder: None,
        is_reported: reports_problem(machine, MachineConditionKind::Contested),
    }
}

/// Finds the Node of a Machine whose label leads to none: by the VM, or, for a Machine that has lost its label, by the
/// Node's label with the Machine's name.
fn unnamed(tenant: &TenantState, machine: &Machine, fact: &MachineFact) -> Option<Arc<Node>> {
    let nodes = tenant.nodes.as_ref()?;
    let get = |name: &String| nodes.get(&ObjectKey::new("", name.as_str()));
    if let Some(own) = &fact.provider_id {
        let candidates: Vec<Arc<Node>> = tenant.node_index.of_vm(own).iter().filter_map(get).collect();
        let has_same_id = |node: &&Arc<Node>| provider_id(node).as_ref() == Some(own);
        let is_its_vm = |node: &&Arc<Node>| SameVm::of(provider_id(node).as_ref(), Some(own)) == SameVm::Same;
        let of_vm = candidates.iter().find(has_same_id).or_else(|| candidates.iter().find(is_its_vm));
        if let Some(node) = of_vm {
            return Some(node.clone());
        }
    }
    let is_lost = fact.node_name.is_none() && (fact.provider_id.is_some() || fact.deletion.is_some());
    if !is_lost {
        return None;
    }
    let own_name = machine.metadata.name.as_deref()?;
    let marked = |node: &Arc<Node>| mark_of(node) == Some(own_name);
    tenant.node_index.marked(own_name).iter().filter_map(get).find(marked)
}

/// Adds the Machine that has labelled the Node, although its own label may be gone, and for a Machine without a label
/// those that name the Node found for it.
fn with_hidden(
    tenant: &TenantState,
    (own, node_name): (&ObjectKey, Option<&NodeName>),
    node: &Node,
    naming_machines: Vec<NamingMachine>,
) -> Vec<NamingMachine> {
    let name = node.metadata.name.as_deref();
    let names_it = |machine: &Machine| node_name_of(machine).as_ref().map(NodeName::as_str) == name;
    let known: BTreeSet<ObjectKey> =
        naming_machines.iter().map(|naming_machine| naming_machine.key.clone()).collect();
    let is_hidden = |key: &ObjectKey| *key != *own && !known.contains(key);
    let mut all = naming_machines;
    if let Some(marked) = mark_of(node).map(|name| ObjectKey::new(own.namespace.as_str(), name))
        && is_hidden(&marked)
        && let Some(machine) = tenant.machines.get(&marked)
        && (node_name_of(&machine).is_none() || names_it(&machine))
    {
        all.push(naming_machine_of(&marked, &machine));
    }
    if node_name.map(NodeName::as_str) != name {
        let naming =
            tenant.machines.all().into_iter().filter(|(key, machine)| is_hidden(key) && names_it(machine));
        all.extend(naming.map(|(key, machine)| naming_machine_of(&key, &machine)));
    }
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all.dedup_by(|one, other| one.key == other.key);
    all
}

fn naming_machine(tenant: &TenantState, key: &ObjectKey) -> Option<NamingMachine> {
    tenant.machines.get(key).map(|machine| naming_machine_of(key, &machine))
}

fn naming_machine_of(key: &ObjectKey, machine: &Machine) -> NamingMachine {
    let meta = &machine.metadata;
    NamingMachine {
        key: key.clone(),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        provider_id: machine.provider_id().map(ProviderId::new),
        is_deleting: meta.deletion_timestamp.is_some(),
        has_joined: has_joined(machine),
    }
}

fn provider_id(node: &Node) -> Option<ProviderId> {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    id.filter(|id| !id.is_empty()).map(ProviderId::new)
}

/// Returns whether a Node of its name was its own: it runs, or has run. A Machine that is being deleted does not show
/// it.
fn has_joined(machine: &Machine) -> bool {
    let last = machine.status.as_ref().and_then(|status| operation_of(&status.last_operation));
    match phase_of(machine) {
        Phase::Running
        | Phase::Unknown
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => true,
        Phase::Failed => last.is_some_and(|last| last.kind != OperationType::Create),
        Phase::New | Phase::CrashLoopBackOff | Phase::Pending | Phase::Available | Phase::Terminating => {
            false
        }
    }
}
