//! The state of one key, for queries and metrics.

use jiff::{SignedDuration, Timestamp};
use machinist_api::Machine;
use machinist_core::scheduling::gate::Gate;
use machinist_core::value::id::ObjectKey;

use crate::cache::fields;
use crate::controllers::facts;
use crate::machine_query::{MachineDetails, ReadyCondition};
use crate::metrics::QueueName;

use super::{Engine, Key};

/// How often a long backlog is counted. A short one costs nothing.
const COUNT_EVERY: SignedDuration = SignedDuration::from_secs(1);

/// The size of a short backlog.
const SHORT: usize = 64;

impl Engine {
    pub(super) fn explain(&self, machine: &ObjectKey) -> MachineDetails {
        let key = Key::Machine(machine.clone());
        let object = self.tenant.machines.get(machine);
        let gate_state = *self.context.gate_state.borrow();
        MachineDetails {
            now: self.context.clock.now(),
            leads: *self.context.leads.borrow(),
            synced: self.is_listed(),
            known: object.is_some(),
            is_reconciling: self.queue.is_running(&key),
            next_reconcile: self.queue.due(&key),
            awaits_own_writes: self.barrier.blocked(&key).is_some(),
            failures: self.ledger.attempts(&key),
            thawed_at: gate_state.thawed_at,
            frozen: match gate_state.gate {
                Gate::Open => None,
                Gate::Frozen { since, reason } => Some(format!("{reason} since {since:.0}")),
            },
            timeouts: object.map(|machine| facts::timeouts(&self.tenant.settings, &machine)),
            calls: Vec::new(),
            ready: self.ready.get(machine).cloned(),
        }
    }

    /// Stores the conclusion of the last reconcile. An unchanged reason keeps its time.
    pub(super) fn remember(&mut self, key: &Key, ready: Option<ReadyCondition>) {
        let (Key::Machine(machine), Some(mut ready)) = (key, ready) else { return };
        let before = self.ready.get(machine).filter(|before| before.reason == ready.reason);
        ready.since = before.map_or(ready.since, |before| before.since);
        self.ready.insert(machine.clone(), ready);
    }

    /// Returns the queue of other controllers that this key would be in.
    pub(super) fn queue_name(&self, key: &Key) -> QueueName {
        match key {
            Key::Secret(_) => QueueName::Secret,
            Key::Class(_) => QueueName::MachineClass,
            Key::Set(_) => QueueName::MachineSet,
            Key::Deployment(_) => QueueName::MachineDeployment,
            Key::InfraMachine(_) => QueueName::MachinistMachine,
            Key::InfraCluster(_) => QueueName::MachinistCluster,
            Key::InfraIdentity(_) | Key::InfraSecret(_) => QueueName::MachinistIdentity,
            Key::InfraTemplate(_) => QueueName::MachinistMachineTemplate,
            Key::InfraRemediation(_) => QueueName::MachinistRemediation,
            Key::Machine(machine) => {
                let machine = self.tenant.machines.get(machine);
                let is_deleting =
                    machine.is_some_and(|machine| machine.metadata.deletion_timestamp.is_some());
                if is_deleting { QueueName::MachineTermination } else { QueueName::Machine }
            }
        }
    }

    pub(super) fn show_backlog(&mut self) {
        self.metrics.loop_holds(self.queue.len(), self.reconciles.len());
        let now = self.context.clock.now();
        let is_recent = self.counted.is_some_and(|at| now.duration_since(at) < COUNT_EVERY);
        if is_recent && self.queue.backlog() > SHORT {
            return;
        }
        self.counted = Some(now);
        self.metrics.queue.depth(self.queue.due_keys().map(|key| self.queue_name(key)));
    }

    /// A Machine that left a phase was in it since its status says so.
    pub(super) fn time_phase(&self, old: &Machine, new: &Machine) {
        let phase = fields::phase_of(old);
        if phase == fields::phase_of(new) {
            return;
        }
        let since = |machine: &Machine| -> Option<Timestamp> {
            let time = machine.status.as_ref()?.current_status.last_update_time.as_ref()?;
            Some(time.0)
        };
        let created = || old.metadata.creation_timestamp.as_ref().map(|time| time.0);
        if let (Some(from), Some(until)) = (since(old).or_else(created), since(new)) {
            self.metrics.stages.left_phase(phase, until.duration_since(from));
        }
    }
}
