//! VMs whose deletion this process has requested, so that a probe follows and not the same request again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::{Deletion, DriverResult, Vm, is_not_found};
use machinist_core::machine::DeleteRequestFact;
use machinist_core::value::id::{Name, ObjectKey, Uid};
use tokio::time::Instant;

/// Deletion requests, and how long their VMs took to disappear. Lost with the process, after which each request is sent
/// once more.
#[derive(Debug, Default)]
pub(crate) struct DeletionRequests(Mutex<DeletionRecords>);

#[derive(Debug, Default)]
struct DeletionRecords {
    requests: BTreeMap<ObjectKey, DeletionRecord>,
    /// By class: from the order to the look that found nothing, the last time.
    last_duration: BTreeMap<Name, SignedDuration>,
}

/// The delete requests for the VM of one object.
#[derive(Debug)]
struct DeletionRecord {
    uid: Uid,
    fact: DeleteRequestFact,
    /// When the first one was answered, by a clock that nobody sets.
    first: Instant,
}

/// A smaller difference is that of two readings.
const CLOCK_SET: SignedDuration = SignedDuration::from_secs(1);

/// Classes in memory. Beyond that all are learned again.
const MAX_CLASSES: usize = 10_000;

impl DeletionRequests {
    /// The order that the driver has taken for the VM of this Machine. Its times are those of a clock that says `now`
    /// and was never set: a wait for the cloud must not end because somebody has set the clock meanwhile.
    pub(crate) fn of(&self, machine: &ObjectKey, uid: &Uid, now: Timestamp) -> Option<DeleteRequestFact> {
        let records = self.lock();
        let record = records.requests.get(machine).filter(|record| record.uid == *uid)?;
        let DeleteRequestFact { first, at, asked } = record.fact;
        let waited = SignedDuration::try_from(record.first.elapsed()).ok()?;
        let set_by = now.duration_since(first) - waited;
        if set_by.abs() < CLOCK_SET {
            return Some(record.fact);
        }
        let moved = |at: Timestamp| at.checked_add(set_by).unwrap_or(at);
        Some(DeleteRequestFact { first: moved(first), at: moved(at), asked: moved(asked) })
    }

    /// Returns how long the last deletion of a VM of this class took.
    pub(crate) fn last_duration(&self, class: &Name) -> Option<SignedDuration> {
        self.lock().last_duration.get(class).copied()
    }

    /// The driver has answered an order that was given at this time.
    pub(crate) fn requested(
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
        let mut records = self.lock();
        if is_taken {
            let before = records.requests.get(machine).filter(|request| request.uid == *uid);
            let first = before.map_or(at, |request| request.fact.first);
            let request = DeletionRecord {
                uid: uid.clone(),
                fact: DeleteRequestFact { first, at, asked: at },
                first: before.map_or_else(Instant::now, |request| request.first),
            };
            records.requests.insert(machine.clone(), request);
        } else {
            records.requests.remove(machine);
        }
    }

    /// Notes the answer to a probe that began at this time.
    pub(crate) fn probed(
        &self,
        machine: &ObjectKey,
        uid: &Uid,
        class: Option<&Name>,
        answer: &DriverResult<Vm>,
        at: Timestamp,
    ) {
        let mut records = self.lock();
        let request = records.requests.get_mut(machine).filter(|request| request.uid == *uid);
        let Some(order) = request.map(|request| &mut request.fact) else { return };
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

    /// Each change is one operation, so that a panic elsewhere leaves the memory whole.
    fn lock(&self) -> MutexGuard<'_, DeletionRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
