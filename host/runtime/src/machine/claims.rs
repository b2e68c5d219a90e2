//! Which Node is the Machine's, and who else claims it or its VM.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use machinist_api::{Machine, names};
use machinist_core::id::{ObjectKey, ProviderId};
use machinist_core::machine::contest::{Claimant, NodeClaim, Rivals, Whose, whose};
use machinist_core::machine::{ConditionKind, MachineFact, NodePresence, TargetFact};
use machinist_core::same_vm::Vms;

use crate::world::World;

use super::observe::{node_fact, node_name_of, told};

/// What a Machine claims, and whether it is its own.
pub(super) struct Claims {
    pub(super) target: TargetFact,
    /// The Node, when it is the Machine's.
    pub(super) node: Option<Arc<Node>>,
    pub(super) rivals: Rivals,
}

/// `others`: Machines that name the same Node or store the same provider id.
pub(super) fn of(world: &World, machine: &Machine, fact: &MachineFact, others: &[ObjectKey]) -> Claims {
    let claimants: Vec<Claimant> = others.iter().filter_map(|key| claimant(world, key)).collect();
    let rivals = rivals_for_vm(machine, fact, &claimants);
    let Some(node) = node(world, machine, fact) else {
        let target =
            if world.nodes.is_some() { TargetFact::Cluster(NodePresence::Absent) } else { TargetFact::None };
        return Claims { target, node: None, rivals };
    };
    let claim = NodeClaim { provider_id: provider_id(&node), mark: mark(&node).map(str::to_owned) };
    let all = with_hidden(world, fact, &node, claimants);
    match whose(&claim, &claimant_of(&fact.key, machine), &all) {
        Whose::Foreign(vm) => {
            Claims { target: TargetFact::Cluster(NodePresence::Foreign(vm)), node: None, rivals }
        }
        Whose::Contested(others) => {
            Claims { target: TargetFact::Cluster(NodePresence::Contested(others)), node: None, rivals }
        }
        Whose::Own(others) => Claims {
            target: TargetFact::Cluster(NodePresence::Present(node_fact(&node))),
            node: Some(node),
            rivals: Rivals { of_node: others, ..rivals },
        },
    }
}

fn rivals_for_vm(machine: &Machine, fact: &MachineFact, claimants: &[Claimant]) -> Rivals {
    let of_vm = |is_deleting: bool| {
        let is_it = |claimant: &&Claimant| {
            Vms::of(claimant.provider_id.as_ref(), fact.provider_id.as_ref()) == Vms::Same
                && claimant.is_deleting == is_deleting
        };
        claimants.iter().filter(is_it).map(|claimant| claimant.key.clone()).collect()
    };
    Rivals {
        living_on_vm: of_vm(false),
        leaving_vm: of_vm(true),
        of_node: Vec::new(),
        is_told: told(machine, ConditionKind::Contested),
    }
}

/// The Node that the label names. A Machine that has none, though it has a VM or is on its way out, has lost it: its Node is known by
/// the VM, or by the mark that it carries. That is rare, so that nothing is indexed for it.
fn node(world: &World, machine: &Machine, fact: &MachineFact) -> Option<Arc<Node>> {
    let nodes = world.nodes.as_ref()?;
    if let Some(name) = &fact.node_name {
        return nodes.get(&ObjectKey::new("", name.as_str()));
    }
    if fact.provider_id.is_none() && fact.deletion.is_none() {
        return None;
    }
    let all: Vec<Arc<Node>> = nodes.all().into_iter().map(|(_, node)| node).collect();
    let is_its_vm =
        |node: &&Arc<Node>| Vms::of(provider_id(node).as_ref(), fact.provider_id.as_ref()) == Vms::Same;
    let is_marked =
        |node: &&Arc<Node>| mark(node).is_some() && mark(node) == machine.metadata.name.as_deref();
    let is_told_alike =
        |node: &&Arc<Node>| fact.provider_id.is_some() && provider_id(node) == fact.provider_id;
    let of_vm = all.iter().find(is_told_alike).or_else(|| all.iter().find(is_its_vm));
    of_vm.or_else(|| all.iter().find(is_marked)).cloned()
}

/// With the Machine that has marked the Node, whose label may be gone, and for a Machine without a label with those that name the
/// Node which was found for it.
fn with_hidden(world: &World, fact: &MachineFact, node: &Node, claimants: Vec<Claimant>) -> Vec<Claimant> {
    let name = node.metadata.name.as_deref();
    let names_it =
        |machine: &Machine| node_name_of(machine).as_ref().map(machinist_core::id::NodeName::as_str) == name;
    let known: BTreeSet<ObjectKey> = claimants.iter().map(|claimant| claimant.key.clone()).collect();
    let is_hidden = |key: &ObjectKey| *key != fact.key && !known.contains(key);
    let mut all = claimants;
    if let Some(marked) = mark(node).map(|name| ObjectKey::new(fact.key.namespace.as_str(), name))
        && is_hidden(&marked)
        && let Some(machine) = world.machines.get(&marked)
        && (node_name_of(&machine).is_none() || names_it(&machine))
    {
        all.push(claimant_of(&marked, &machine));
    }
    if fact.node_name.is_none() {
        let naming =
            world.machines.all().into_iter().filter(|(key, machine)| is_hidden(key) && names_it(machine));
        all.extend(naming.map(|(key, machine)| claimant_of(&key, &machine)));
    }
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all.dedup_by(|one, other| one.key == other.key);
    all
}

fn claimant(world: &World, key: &ObjectKey) -> Option<Claimant> {
    world.machines.get(key).map(|machine| claimant_of(key, &machine))
}

fn claimant_of(key: &ObjectKey, machine: &Machine) -> Claimant {
    let meta = &machine.metadata;
    Claimant {
        key: key.clone(),
        created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        provider_id: machine.provider_id().map(ProviderId::new),
        is_deleting: meta.deletion_timestamp.is_some(),
    }
}

fn provider_id(node: &Node) -> Option<ProviderId> {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    id.filter(|id| !id.is_empty()).map(ProviderId::new)
}

/// The label with which its Machine marked the Node.
fn mark(node: &Node) -> Option<&str> {
    node.metadata.labels.as_ref()?.get(names::labels::MACHINE_NAME).map(String::as_str)
}
