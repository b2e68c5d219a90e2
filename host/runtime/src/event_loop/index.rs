//! Indexes from a changed object to the objects that depend on it.

use std::collections::BTreeSet;

use machinist_api::{Machine, MachineClass};
use machinist_core::value::id::{NodeName, ObjectKey, ProviderId};
use machinist_core::value::same_vm::vm_name;

use crate::cache::fields;
use crate::cache::fields::secret_keys;
use crate::cache::{Change, Groups};
use crate::controllers::classes::finalizers::Users;
use crate::controllers::facts::SharedNodes;

use super::{Key, Kind};

/// Machines by Node, VM and class, classes by Secret. Follows the caches.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_node: Groups<NodeName, ObjectKey>,
    by_vm: Groups<ProviderId, ObjectKey>,
    by_vm_name: Groups<String, ObjectKey>,
    by_class: Groups<ObjectKey, ObjectKey>,
    by_secret: Groups<ObjectKey, ObjectKey>,
    /// Nodes that several Machines name.
    shared_nodes: BTreeSet<NodeName>,
    /// Machines and classes of which nothing but their metadata is known, since they cannot be decoded.
    unknown: BTreeSet<(Kind, ObjectKey)>,
}

impl Index {
    /// A Machine changed from `old` to `new`.
    pub(super) fn machine(&mut self, key: &ObjectKey, old: Option<&Machine>, new: Option<&Machine>) {
        let (from, to) = (old.and_then(fields::node_name_of), new.and_then(fields::node_name_of));
        self.by_node.change(key, from.clone(), to.clone());
        for node in [from, to].into_iter().flatten() {
            if self.by_node.count(&node) > 1 {
                self.shared_nodes.insert(node)
            } else {
                self.shared_nodes.remove(&node)
            };
        }
        let (old_vm, new_vm) = (old.and_then(vm_of), new.and_then(vm_of));
        let name = |vm: &Option<ProviderId>| vm.as_ref().and_then(|vm| vm_name(vm.as_str()));
        self.by_vm_name.change(key, name(&old_vm), name(&new_vm));
        self.by_vm.change(key, old_vm, new_vm);
        let class = |machine: Option<&Machine>| machine.and_then(|machine| class_key(key, machine));
        self.by_class.change(key, class(old), class(new));
    }

    /// A class changed from `old` to `new`.
    pub(super) fn class(&mut self, key: &ObjectKey, old: Option<&MachineClass>, new: Option<&MachineClass>) {
        for secret in old.map(secret_keys).unwrap_or_default() {
            self.by_secret.remove(key, &secret);
        }
        for secret in new.map(secret_keys).unwrap_or_default() {
            self.by_secret.insert(key, secret);
        }
    }

    /// Machines whose label names this Node.
    pub(super) fn machines_of_node(&self, node: &NodeName) -> Vec<ObjectKey> {
        self.by_node.of(node)
    }

    /// Machines that store this provider id.
    pub(super) fn machines_of_vm(&self, vm: &ProviderId) -> Vec<ObjectKey> {
        self.by_vm.of(vm)
    }

    /// Machines with this name of a VM in their provider id.
    pub(super) fn machines_of_vm_name(&self, name: &str) -> Vec<ObjectKey> {
        self.by_vm_name.of(name)
    }

    pub(super) fn machines_of_class(&self, class: &ObjectKey) -> Vec<ObjectKey> {
        self.by_class.of(class)
    }

    /// Classes that name this Secret.
    pub(super) fn classes_of_secret(&self, secret: &ObjectKey) -> Vec<ObjectKey> {
        self.by_secret.of(secret)
    }

    /// Nodes that several Machines name, with these Machines. There are hardly ever any.
    pub(super) fn shared_nodes(&self) -> SharedNodes {
        let shared = self.shared_nodes.iter().map(|node| (node.clone(), self.machines_of_node(node)));
        SharedNodes(shared.collect())
    }

    /// An object that cannot be decoded, and of which there is no copy, came or went.
    pub(super) fn unknown<T>(&mut self, kind: Kind, change: &Change<T>) {
        let entry = (kind, change.key.clone());
        if change.unreadable.is_some() && change.new.is_none() {
            self.unknown.insert(entry);
        } else {
            self.unknown.remove(&entry);
        }
    }

    /// Some object of this kind cannot be decoded, and there is no copy of it.
    pub(super) fn has_unknown(&self, kind: Kind) -> bool {
        self.unknown.iter().any(|(of, _)| *of == kind)
    }

    /// Objects that use this one.
    pub(super) fn users(&self, key: &Key) -> Users {
        let unknown = |kind| self.has_unknown(kind);
        let (known, may_be_more) = match key {
            Key::Secret(secret) => (self.by_secret.count(secret), unknown(Kind::Class)),
            Key::Class(class) => (self.by_class.count(class), unknown(Kind::Machine)),
            Key::Machine(_)
            | Key::Set(_)
            | Key::Deployment(_)
            | Key::InfraMachine(_)
            | Key::InfraCluster(_)
            | Key::InfraTemplate(_)
            | Key::InfraRemediation(_)
            | Key::InfraIdentity(_)
            | Key::InfraSecret(_) => (0, false),
        };
        Users { known, may_be_more }
    }
}

/// The VM whose id a Machine stores.
pub(super) fn vm_of(machine: &Machine) -> Option<ProviderId> {
    machine.provider_id().map(ProviderId::new)
}

/// The class that a Machine names, in the Machine's namespace.
pub(super) fn class_key(machine_key: &ObjectKey, machine: &Machine) -> Option<ObjectKey> {
    let name = machine.spec.class.name.as_deref().filter(|name| !name.is_empty())?;
    Some(ObjectKey::new(machine_key.namespace.as_str(), name))
}
