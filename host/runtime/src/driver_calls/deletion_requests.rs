//! Orders to remove VMs that this process has given, so that what follows is a look and not the order again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::{Deletion, DriverResult, Vm, is_not_found};
use machinist_core::machine::DeleteRequestFact;
use machinist_core::value::id::{Name, ObjectKey, Uid};

/// Orders, and how long their VMs took to go. Lost with the process, after which the order is given once more.
#[derive(Debug, Default)]
pub(crate) struct Orders(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    orders: BTreeMap<ObjectKey, (Uid, DeleteRequestFact)>,
    /// By class: from the order to the look that found nothing, the last time.
    usual: BTreeMap<Name, SignedDuration>,
}

/// Classes whose time is remembered. Beyond that all are learned again.
const CLASSES: usize = 10_000;

impl Orders {
    /// The order that the driver has taken for the VM of this Machine.
    pub(crate) fn of(&self, machine: &ObjectKey, uid: &Uid) -> Option<DeleteRequestFact> {
        self.lock().orders.get(machine).filter(|(of, _)| of == uid).map(|(_, order)| *order)
    }

    /// How long the last removal of a VM of this class took.
    pub(crate) fn usual(&self, class: &Name) -> Option<SignedDuration> {
        self.lock().usual.get(class).copied()
    }

    /// The driver has answered an order that was given at this time.
    pub(crate) fn ordered(
        &self,
        machine: &ObjectKey,
        uid: &Uid,
        answer: &DriverResult<Deletion>,
        at: Timestamp,
    ) {
        let is_taken = match answer {
            Ok(Deletion::Deleted { .. }) => true,
            Ok(Deletion::InProgress(_)) => false,
            Err(error) => is_not_found(error),
        };
        let mut book = self.lock();
        if is_taken {
            let before = book.orders.get(machine).filter(|(of, _)| of == uid);
            let first = before.map_or(at, |(_, order)| order.first);
            book.orders.insert(machine.clone(), (uid.clone(), DeleteRequestFact { first, at, asked: at }));
        } else {
            book.orders.remove(machine);
        }
    }

    /// The driver has answered a look that was begun at this time.
    pub(crate) fn looked(
        &self,
        machine: &ObjectKey,
        uid: &Uid,
        class: Option<&Name>,
        answer: &DriverResult<Vm>,
        at: Timestamp,
    ) {
        let mut book = self.lock();
        let Some((_, order)) = book.orders.get_mut(machine).filter(|(of, _)| of == uid) else { return };
        match answer {
            Ok(_) => order.asked = at,
            Err(error) if is_not_found(error) => {
                order.asked = at;
                let took = at.duration_since(order.first).max(SignedDuration::ZERO);
                if book.usual.len() >= CLASSES {
                    book.usual.clear();
                }
                if let Some(class) = class {
                    book.usual.insert(class.clone(), took);
                }
            }
            Err(_) => {}
        }
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.lock().orders.remove(machine);
    }

    /// Each change is one operation, so that a panic elsewhere leaves the book whole.
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
