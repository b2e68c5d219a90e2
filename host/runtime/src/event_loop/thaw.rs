//! What the gate wakes when it shuts or opens.

use jiff::SignedDuration;
use machinist_core::scheduling::gate::Gate;
use machinist_core::scheduling::queue::Priority;
use machinist_core::value::phase::Phase;

use crate::cache::fields;

use super::{Engine, Key};

/// After a thaw Nodes get this long to report before everything is looked at anew.
const REPORT_TIME: SignedDuration = SignedDuration::from_secs(30);

impl Engine {
    /// Machines whose work is held, or goes on, are looked at; after a thaw all of them, a little later.
    pub(super) fn gate_changed(&mut self, before: Gate, gate: Gate) {
        let is_open = |gate| gate == Gate::Open;
        if is_open(before) == is_open(gate) {
            return;
        }
        self.wake_owners();
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
