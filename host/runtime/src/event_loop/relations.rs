//! Relations of Machines: the same Node or VM, and permits to replace.

use std::collections::BTreeSet;

use machinist_api::Machine;
use machinist_core::scheduling::queue::Priority;
use machinist_core::value::id::ObjectKey;

use crate::cache::fields;
use crate::controllers::facts;

use super::index::vm_of;
use super::{Engine, Key};

impl Engine {
    /// Updates the state of a Machine for its deployment and zone. Machines with a new permit are requeued.
    pub(super) fn update_meltdown(&mut self, key: &ObjectKey, machine: Option<&Machine>) {
        let fact = machine.map(|machine| facts::member(&self.tenant, key, machine));
        let next = self.tenant.meltdown().update(key, fact.as_ref());
        self.wake_machines(next);
    }

    /// The Node of a Machine changed.
    pub(super) fn node_of_machine_changed(&mut self, key: ObjectKey) {
        let machine = self.tenant.machines.get(&key);
        self.update_meltdown(&key, machine.as_deref());
        self.wake(Key::Machine(key), Priority::Event);
    }

    /// A Machine claims another Node or VM than before, or is on its way out: others that claim the same are concerned.
    pub(super) fn ownership_changed(
        &mut self,
        key: &ObjectKey,
        old: Option<&Machine>,
        new: Option<&Machine>,
    ) {
        let ownership = |machine: Option<&Machine>| {
            (
                machine.and_then(fields::node_name_of),
                machine.and_then(vm_of),
                machine.is_some_and(|machine| machine.metadata.deletion_timestamp.is_some()),
            )
        };
        let (before, after) = (ownership(old), ownership(new));
        if before == after {
            return;
        }
        let mut others: BTreeSet<ObjectKey> = BTreeSet::new();
        for (node, vm, _) in [before, after] {
            others.extend(node.iter().flat_map(|node| self.index.machines_of_node(node)));
            others.extend(vm.iter().flat_map(|vm| self.index.machines_of_vm(vm)));
        }
        others.remove(key);
        self.wake_machines(others.into_iter().collect());
    }

    pub(super) fn wake_machines(&mut self, machines: Vec<ObjectKey>) {
        for machine in machines {
            self.wake(Key::Machine(machine), Priority::Event);
        }
    }

    /// Other Machines that claim the same Node or the same VM.
    pub(super) fn conflicts(&self, key: &Key) -> Vec<ObjectKey> {
        let Key::Machine(object) = key else { return Vec::new() };
        let Some(machine) = self.tenant.machines.get(object) else { return Vec::new() };
        let of_node = fields::node_name_of(&machine).map(|node| self.index.machines_of_node(&node));
        let of_vm = vm_of(&machine).map(|vm| self.index.machines_of_vm(&vm));
        let mut all: Vec<ObjectKey> = of_node.into_iter().chain(of_vm).flatten().collect();
        all.retain(|other| other != object);
        all.sort();
        all.dedup();
        all
    }
}
