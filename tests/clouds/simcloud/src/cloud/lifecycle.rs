//! The effects of time on VMs.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::Cloud;
use crate::cloud::journal::EventKind;
use crate::wire::VmState;

/// Something that happens to a VM at its time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    Boot(u64),
    /// It has shut down.
    Terminate(u64),
    /// Its record is dropped.
    Forget(u64),
    /// Reads have caught up with a change.
    ReachFinalState(u64),
}

/// The due changes, in order of time, then of arrival.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: BTreeMap<(Timestamp, u64), Due>,
    arrivals: u64,
}

impl Timers {
    pub(crate) fn push(&mut self, at: Timestamp, due: Due) {
        self.arrivals += 1;
        self.queue.insert((at, self.arrivals), due);
    }

    /// The first that is due at `now`.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<(Timestamp, Due)> {
        let entry = self.queue.first_entry()?;
        let (at, _) = *entry.key();
        (at <= now).then(|| (at, entry.remove()))
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Cloud {
    pub(super) fn fall_due(&mut self, due: Due) {
        match due {
            Due::Boot(seq) => self.boot(seq),
            Due::Terminate(seq) => self.terminate(seq, None),
            Due::Forget(seq) => {
                self.vms.unpublish(seq, self.visible_from());
                self.reach_final_state(seq);
            }
            Due::ReachFinalState(seq) => self.vms.reach_final_state(seq, self.now),
        }
    }

    fn boot(&mut self, seq: u64) {
        let Some(vm) = self.vms.get_mut(seq).filter(|vm| vm.truth.state == VmState::Pending) else { return };
        if vm.is_doomed {
            return self.terminate(seq, Some("boot failed"));
        }
        vm.append_console("booted");
        self.vms.enter(seq, VmState::Running);
        self.publish(seq);
        self.record(seq, EventKind::Running);
    }

    /// The VM shuts down and is terminated after its time.
    pub(super) fn stop(&mut self, seq: u64) {
        self.vms.enter(seq, VmState::Stopping);
        self.publish(seq);
        self.record(seq, EventKind::Stopping);
        let wait = self.jittered(self.latency().terminate_ms);
        self.timers.push(self.after(wait), Due::Terminate(seq));
    }

    /// The VM ends at once; its volumes are deleted or come free.
    pub(super) fn terminate(&mut self, seq: u64, reason: Option<&str>) {
        let Some(vm) = self.vms.get_mut(seq).filter(|vm| vm.truth.state != VmState::Terminated) else {
            return;
        };
        vm.truth.state_reason = reason.map(str::to_owned);
        for volume in std::mem::take(&mut vm.truth.volumes) {
            self.volumes.release(&volume);
        }
        self.vms.enter(seq, VmState::Terminated);
        self.publish(seq);
        self.record(seq, EventKind::Terminated);
        let visible = Duration::from_millis(self.config.terminated_visible_ms);
        self.timers.push(self.after(visible), Due::Forget(seq));
    }

    /// Lets reads see the VM as it is, once the read lag has passed.
    pub(super) fn publish(&mut self, seq: u64) {
        self.vms.publish(seq, self.visible_from());
        self.reach_final_state(seq);
    }

    fn reach_final_state(&mut self, seq: u64) {
        let visible_from = self.visible_from();
        if visible_from <= self.now {
            self.vms.reach_final_state(seq, self.now);
        } else {
            self.timers.push(visible_from, Due::ReachFinalState(seq));
        }
    }

    pub(super) fn record(&mut self, seq: u64, kind: EventKind) {
        if let Some(vm) = self.vms.get(seq) {
            self.journal.push(self.now, kind, vm.for_kubelet(&self.config.types));
        }
    }
}
