//! What Machines are to each other: who claims the same Node, and who waits for whose replacement.

use machinist_api::Machine;
use machinist_core::id::{NodeName, ObjectKey};
use machinist_core::queue::Priority;

use crate::machine;

use super::{Engine, Key};

impl Engine {
    /// A Machine is as it is from here on. Those whose turn it is are woken.
    pub(super) fn stands(&mut self, key: &ObjectKey, machine: Option<&Machine>) {
        let fact = machine.map(|machine| machine::member(&self.world, key, machine));
        let next = self.world.meltdown().update(key, fact.as_ref());
        self.wake_machines(next);
    }

    /// The Node of a Machine changed.
    pub(super) fn node_of_machine_changed(&mut self, key: ObjectKey) {
        let machine = self.world.machines.get(&key);
        self.stands(&key, machine.as_deref());
        self.wake(Key::Machine(key), Priority::Event);
    }

    /// A Machine claims a Node no more that others may be waiting for.
    pub(super) fn claims_changed(&mut self, old: Option<&Machine>, new: Option<&Machine>) {
        let left = old.and_then(machine::node_name_of);
        if left != new.and_then(machine::node_name_of) {
            let others = left.map(|node| self.index.machines_of_node(&node)).unwrap_or_default();
            self.wake_machines(others);
        }
    }

    pub(super) fn wake_machines(&mut self, machines: Vec<ObjectKey>) {
        for machine in machines {
            self.wake(Key::Machine(machine), Priority::Event);
        }
    }

    /// Other Machines that claim the same Node.
    pub(super) fn rivals(&self, key: &Key) -> Vec<ObjectKey> {
        let Key::Machine(object) = key else { return Vec::new() };
        let node = self.world.machines.get(object).and_then(|machine| machine::node_name_of(&machine));
        let of_node = |node: NodeName| self.index.machines_of_node(&node);
        let mut all = node.map(of_node).unwrap_or_default();
        all.retain(|other| other != object);
        all
    }
}
