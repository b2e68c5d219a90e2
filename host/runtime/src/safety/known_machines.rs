//! Memory of Machines that are gone: by that a VM without a Machine is told from one of another control plane.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use machinist_core::safety::orphans::Kin;
use machinist_core::value::id::Uid;

use super::owners::Cached;

/// A Machine that is gone is remembered for so long: longer than any VM of it waits for its end.
const MEMORY: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Uids of Machines, with when they were seen last. Lost with the process, which then keeps more.
#[derive(Debug, Default)]
pub(super) struct KnownMachines(BTreeMap<Uid, Timestamp>);

impl KnownMachines {
    /// Takes note of the Machines that are there.
    pub(super) fn note(&mut self, machines: &Cached, now: Timestamp) {
        for uid in machines.iter().filter_map(|(_, machine)| machine.metadata.uid.as_deref()) {
            self.0.insert(Uid::new(uid), now);
        }
        self.0.retain(|_, seen| now.duration_since(*seen) <= MEMORY);
    }

    /// All that shows whose Machine was whose.
    pub(super) fn kin(&self) -> Kin {
        Kin(self.0.keys().cloned().collect())
    }
}
