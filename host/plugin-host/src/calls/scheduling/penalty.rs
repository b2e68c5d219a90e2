//! How a driver behaved lately.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is known of a driver's calls.
#[derive(Default)]
pub(crate) struct Manners {
    /// When one of them last broke or computed for long: for a while its calls let others go first.
    rude: Mutex<Option<Instant>>,
    /// One of them has ended well.
    is_known: AtomicBool,
}

/// For so long. Others of its calls, that end well meanwhile, change nothing.
const RUDE_FOR: Duration = Duration::from_secs(1);

impl Manners {
    pub(crate) fn is_rude(&self, now: Instant) -> bool {
        self.last().is_some_and(|last| now.saturating_duration_since(last) < RUDE_FOR)
    }

    /// True when a call may begin on its caller's thread: one that nobody has seen at work might keep it.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// A call of it was short and did not break.
    pub(crate) fn note_good(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// A call of it was rude.
    pub(crate) fn note(&self, now: Instant) {
        *self.last() = Some(now);
    }

    fn last(&self) -> MutexGuard<'_, Option<Instant>> {
        self.rude.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_known_once_a_call_of_it_has_ended_well() {
        let manners = Manners::default();
        assert!(!manners.is_known());
        manners.note(Instant::now());
        assert!(!manners.is_known());
        manners.note_good();
        assert!(manners.is_known());
    }

    #[test]
    fn rude_is_who_was_lately() {
        let (manners, now) = (Manners::default(), Instant::now());
        assert!(!manners.is_rude(now));
        manners.note(now);
        assert!(manners.is_rude(now) && manners.is_rude(now + RUDE_FOR / 2));
        assert!(!manners.is_rude(now + RUDE_FOR));
    }
}
