//! Orders to remove VMs that this process has given, so that what follows is a look and not the order again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::{Answer, Deletion, Vm, is_not_found};
use machinist_core::machine::OrderFact;
use machinist_core::value::id::{Name, ObjectKey, Uid};

/// Orders, and how long their VMs took to go. Lost with the process, after which the order is given once more.
#[derive(Debug, Default)]
pub(crate) struct DeletionRequests(Mutex<DeletionRecords>);

#[derive(Debug, Default)]
struct DeletionRecords {
    requests: BTreeMap<ObjectKey, (Uid, OrderFact)>,
    /// By class: from the order to the look that found nothing, the last time.
    last_duration: BTreeMap<Name, SignedDuration>,
}

/// Classes whose time is remembered. Beyond that all are learned again.
const MAX_CLASSES: usize = 10_000;

impl DeletionRequests {
    /// The order that the driver has taken for the VM of this Machine.
    pub(crate) fn of(&self, machine: &ObjectKey, uid: &Uid) -> Option<OrderFact> {
        self.lock().requests.get(machine).filter(|(of, _)| of == uid).map(|(_, order)| *order)
    }

    /// How long the last removal of a VM of this class took.
    pub(crate) fn last_duration(&self, class: &Name) -> Option<SignedDuration> {
        self.lock().last_duration.get(class).copied()
    }

    /// The driver has answered an order that was given at this time.
    pub(crate) fn requested(&self, machine: &ObjectKey, uid: &Uid, answer: &Answer<Deletion>, at: Timestamp) {
        let is_taken = match answer {
            Ok(Deletion::Deleted { .. }) => true,
            Ok(Deletion::InProgress(_)) => false,
            Err(error) => is_not_found(error),
        };
        let mut records = self.lock();
        if is_taken {
            let before = records.requests.get(machine).filter(|(of, _)| of == uid);
            let first = before.map_or(at, |(_, order)| order.first);
            records.requests.insert(machine.clone(), (uid.clone(), OrderFact { first, at, asked: at }));
        } else {
            records.requests.remove(machine);
        }
    }

    /// The driver has answered a look that was begun at this time.
    pub(crate) fn probed(
        &self,
        machine: &ObjectKey,
        uid: &Uid,
        class: Option<&Name>,
        answer: &Answer<Vm>,
        at: Timestamp,
    ) {
        let mut records = self.lock();
        let Some((_, order)) = records.requests.get_mut(machine).filter(|(of, _)| of == uid) else { return };
        match answer {
            Ok(_) => order.asked = at,
            Err(error) if is_not_found(error) => {
                order.asked = at;
                let took = at.duration_since(order.first).max(SignedDuration::ZERO);
                if records.last_duration.len() >= MAX_CLASSES {
                    records.last_duration.clear();
                }
                if let Some(class) = class {
                    records.last_duration.insert(class.clone(), took);
                }
            }
            Err(_) => {}
        }
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.lock().requests.remove(machine);
    }

    /// Each change is one operation, so that a panic elsewhere leaves the book whole.
    fn lock(&self) -> MutexGuard<'_, DeletionRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
