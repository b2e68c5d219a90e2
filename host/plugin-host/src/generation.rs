//! A version of a plugin that can answer, and what is known about its answers.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use machinist_core::driver_error::{Breakage, CallError, Limit};
use tokio::sync::Semaphore;

use crate::call::Prepared;
use crate::convert::About;
use crate::source::SourceId;
use crate::state::{Health, QuarantineRule};

/// Held by the routes and by each of its calls; it goes when the last of these lets go.
pub(crate) struct Generation {
    /// Where it came from: tells the versions of a plugin apart.
    pub(crate) source: SourceId,
    pub(crate) prepared: Prepared,
    pub(crate) about: About,
    /// Calls of this version at the same time.
    pub(crate) permits: Semaphore,
    pub(crate) counts: Counts,
    health: Mutex<Health>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) total: AtomicU64,
    pub(crate) broken: AtomicU64,
    pub(crate) in_flight: AtomicUsize,
}

impl Generation {
    pub(crate) fn new(source: SourceId, prepared: Prepared, about: About) -> Self {
        let permits = Semaphore::new(prepared.limits.calls_in_flight.min(Semaphore::MAX_PERMITS));
        Self { source, prepared, about, permits, counts: Counts::default(), health: Mutex::default() }
    }

    pub(crate) fn quarantined_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.health().quarantined_until(now)
    }

    /// Keeps the record. Says until when, if this call begins a quarantine.
    pub(crate) fn ended(
        &self,
        error: Option<&CallError>,
        rule: &QuarantineRule,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.counts.total.fetch_add(1, Ordering::Relaxed);
        match error {
            None | Some(CallError::Guest(_)) => {
                self.health().worked();
                None
            }
            Some(CallError::Broken(breakage)) => {
                self.counts.broken.fetch_add(1, Ordering::Relaxed);
                if is_fault(breakage) { self.health().broke(rule, now) } else { None }
            }
            Some(CallError::Refused(_)) => None,
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cloud that hangs makes every driver miss its deadline; that is no reason to stop asking.
fn is_fault(breakage: &Breakage) -> bool {
    match breakage {
        Breakage::Limit { limit: Limit::Deadline | Limit::CallsInFlight, .. } => false,
        Breakage::Limit { .. } | Breakage::Trap { .. } | Breakage::Contract { .. } => true,
    }
}

/// A call is running.
pub(crate) struct InFlight<'a>(&'a Counts);

impl Counts {
    pub(crate) fn enter(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
