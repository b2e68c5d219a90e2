//! The penalty of a driver whose call broke or computed for long: its calls begin at low priority for a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The penalty of one driver.
#[derive(Default)]
pub(crate) struct Penalty {
    /// The last time that a call broke or computed for long.
    imposed: Mutex<Option<Instant>>,
    /// A call has ended well.
    is_known: AtomicBool,
}

/// How long a penalty lasts. Calls that end well meanwhile do not shorten it.
const PENALTY_WINDOW: Duration = Duration::from_secs(1);

impl Penalty {
    pub(crate) fn is_active(&self, now: Instant) -> bool {
        self.last().is_some_and(|last| now.saturating_duration_since(last) < PENALTY_WINDOW)
    }

    /// True when a call may begin on its caller's thread. A driver without a good call might block it.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Records a call that was short and did not break.
    pub(crate) fn note_good(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Records a call that broke or computed for long.
    pub(crate) fn impose(&self, now: Instant) {
        *self.last() = Some(now);
    }

    fn last(&self) -> MutexGuard<'_, Option<Instant>> {
        self.imposed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_known_once_a_call_of_it_has_ended_well() {
        let penalty = Penalty::default();
        assert!(!penalty.is_known());
        penalty.impose(Instant::now());
        assert!(!penalty.is_known());
        penalty.note_good();
        assert!(penalty.is_known());
    }

    #[test]
    fn a_penalty_lasts_for_its_window() {
        let (penalty, now) = (Penalty::default(), Instant::now());
        assert!(!penalty.is_active(now));
        penalty.impose(now);
        assert!(penalty.is_active(now) && penalty.is_active(now + PENALTY_WINDOW / 2));
        assert!(!penalty.is_active(now + PENALTY_WINDOW));
    }
}
