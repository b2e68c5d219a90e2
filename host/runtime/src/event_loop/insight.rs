//! What the loop knows of one key, for those who ask, and the figures that are taken from it.

use jiff::{SignedDuration, Timestamp};
use machinist_api::Machine;
use machinist_core::scheduling::gate::Gate;
use machinist_core::value::id::ObjectKey;

use crate::driver_calls::insight::{MachineInsight, Said};
use crate::machine;
use crate::metrics::Part;

use super::{Engine, Key};

/// How often a long backlog is counted. A short one costs nothing.
const COUNT_EVERY: SignedDuration = SignedDuration::from_secs(1);

/// What counts as short.
const SHORT: usize = 64;

impl Engine {
    pub(super) fn explain(&self, machine: &ObjectKey) -> MachineInsight {
        let key = Key::Machine(machine.clone());
        let object = self.world.machines.get(machine);
        let hold = *self.context.hold.borrow();
        MachineInsight {
            now: self.context.clock.now(),
            leads: *self.context.leads.borrow(),
            synced: self.is_listed(),
            known: object.is_some(),
            pass_runs: self.queue.is_running(&key),
            next_pass: self.queue.due(&key),
            awaits_own_writes: self.barrier.blocked(&key).is_some(),
            failures: self.ledger.attempts(&key),
            thawed_at: hold.thawed_at,
            frozen: match hold.gate {
                Gate::Open => None,
                Gate::Frozen { since, reason } => Some(format!("{reason} since {since:.0}")),
            },
            timeouts: object.map(|machine| machine::timeouts(&self.world.settings, &machine)),
            calls: Vec::new(),
            said: self.said.get(machine).cloned(),
        }
    }

    /// The conclusion of the last pass. A reason that stays keeps its time.
    pub(super) fn remember(&mut self, key: &Key, said: Option<Said>) {
        let (Key::Machine(machine), Some(mut said)) = (key, said) else { return };
        let before = self.said.get(machine).filter(|before| before.reason == said.reason);
        said.since = before.map_or(said.since, |before| before.since);
        self.said.insert(machine.clone(), said);
    }

    /// Which queue of other controllers this key would be in.
    pub(super) fn part(&self, key: &Key) -> Part {
        match key {
            Key::Secret(_) => Part::Secret,
            Key::Class(_) => Part::MachineClass,
            Key::Set(_) => Part::MachineSet,
            Key::Deployment(_) => Part::MachineDeployment,
            Key::Machine(machine) => {
                let machine = self.world.machines.get(machine);
                let is_deleting =
                    machine.is_some_and(|machine| machine.metadata.deletion_timestamp.is_some());
                if is_deleting { Part::MachineTermination } else { Part::Machine }
            }
        }
    }

    pub(super) fn show_backlog(&mut self) {
        self.metrics.queue(self.queue.len(), self.passes.len());
        let now = self.context.clock.now();
        let is_recent = self.counted.is_some_and(|at| now.duration_since(at) < COUNT_EVERY);
        if is_recent && self.queue.backlog() > SHORT {
            return;
        }
        self.counted = Some(now);
        self.metrics.due(self.queue.due_keys().map(|key| self.part(key)));
    }

    /// A Machine that left a phase was in it since its status says so.
    pub(super) fn time_phase(&self, old: &Machine, new: &Machine) {
        let phase = machine::phase_of(old);
        if phase == machine::phase_of(new) {
            return;
        }
        let since = |machine: &Machine| -> Option<Timestamp> {
            let time = machine.status.as_ref()?.current_status.last_update_time.as_ref()?;
            Some(time.0)
        };
        let created = || old.metadata.creation_timestamp.as_ref().map(|time| time.0);
        if let (Some(from), Some(until)) = (since(old).or_else(created), since(new)) {
            self.metrics.left_phase(phase, until.duration_since(from));
        }
    }
}
