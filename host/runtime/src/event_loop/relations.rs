//! Machines whose work depends on others: they share a Node, a VM, a permit to replace, a cloud account, or the gate.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use machinist_api::Machine;
use machinist_core::scheduling::gate::Gate;
use machinist_core::scheduling::queue::Priority;
use machinist_core::scheduling::retry::{FailedCall, RetryPolicy};
use machinist_core::value::id::ObjectKey;
use machinist_core::value::phase::Phase;

use super::index::vm_of;
use super::{Engine, Key};
use crate::cache::fields;
use crate::controllers::facts;
use crate::controllers::facts::infra_machine::related::RelatedObjects;
use crate::driver_calls::call_slots::CloudAccount;

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

impl Engine {
    fn account(&self, key: &Key) -> Option<CloudAccount> {
        match key {
            Key::Machine(machine) => {
                let class = self.tenant.class_of(&*self.tenant.machines.get(machine)?)?;
                Some(CloudAccount::of(&class))
            }
            Key::InfraMachine(machine) => {
                Some(RelatedObjects::of(&self.tenant, machine)?.account(&self.tenant))
            }
            Key::Secret(_)
            | Key::Class(_)
            | Key::Set(_)
            | Key::Deployment(_)
            | Key::InfraCluster(_)
            | Key::InfraTemplate(_)
            | Key::InfraRemediation(_)
            | Key::InfraIdentity(_)
            | Key::InfraSecret(_) => None,
        }
    }

    /// Returns true if the account of this Machine has answered a moment ago, and this Machine does not fail alone.
    pub(super) fn has_answering_account(&self, key: &Key, now: Timestamp) -> bool {
        self.account(key).is_some_and(|account| self.accounts.eases(&account, key, now))
    }

    /// A Machine waits until its failed create may be repeated. An answer to another Machine shortens that.
    pub(super) fn account_is_awaited(&mut self, key: &Key, now: Timestamp) {
        if let Some(account) = self.account(key) {
            self.accounts.waits(account, key.clone(), now);
        }
    }

    /// Some of those that wait for this account may be tried.
    pub(super) fn account_answers(&mut self, key: &Key, now: Timestamp) {
        let Some(account) = self.account(key) else { return };
        for (waiting, at) in self.accounts.answered(account, now) {
            // Its own reconcile, or another push, may come first.
            self.queue.push(waiting, at, Priority::Resync);
        }
    }

    /// How long a Machine waits that has failed at its account.
    pub(super) fn account_fails(
        &mut self,
        key: &Key,
        (policy, hint): (RetryPolicy, Option<SignedDuration>),
        (delay, jitter): (SignedDuration, f64),
        now: Timestamp,
    ) -> SignedDuration {
        let Some(account) = self.account(key) else { return delay };
        let attempt = FailedCall { policy, delay, hint, jitter };
        self.accounts.failed(account, key.clone(), attempt, now)
    }
}

/// After a thaw Nodes get this long to report before everything is reconciled again.
const REPORT_TIME: SignedDuration = SignedDuration::from_secs(30);

impl Engine {
    /// Requeues Machines whose work pauses or continues; after a thaw all of them, a little later.
    pub(super) fn gate_changed(&mut self, before: Gate, gate: Gate) {
        let is_open = |gate| gate == Gate::Open;
        if is_open(before) == is_open(gate) {
            return;
        }
        self.wake_owners();
        self.wake_waiting_infra();
        let now = self.context.clock.now();
        let later = now.checked_add(REPORT_TIME).unwrap_or(now);
        for (key, object) in self.tenant.machines.all() {
            let is_paused = match fields::phase_of(&object) {
                Phase::New | Phase::CrashLoopBackOff | Phase::Pending | Phase::Unknown => true,
                Phase::Available
                | Phase::Running
                | Phase::Terminating
                | Phase::Failed
                | Phase::InPlaceUpdating
                | Phase::InPlaceUpdateSuccessful
                | Phase::InPlaceUpdateFailed => false,
            };
            let key = Key::Machine(key);
            if is_paused {
                self.wake(key.clone(), Priority::Event);
            }
            if is_open(gate) && self.tenant.settings.controllers.run(&key) {
                self.queue.push(key, later, Priority::Resync);
            }
        }
    }
}
