//! How a driver behaved lately.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a call of a driver last broke or computed for long: for a while its calls let others go first.
#[derive(Default)]
pub(crate) struct Manners(Mutex<Option<Instant>>);

/// For so long. Others of its calls, that end well meanwhile, change nothing.
const RUDE_FOR: Duration = Duration::from_secs(1);

impl Manners {
    pub(crate) fn is_rude(&self, now: Instant) -> bool {
        self.last().is_some_and(|last| now.saturating_duration_since(last) < RUDE_FOR)
    }

    /// A call of it was rude.
    pub(crate) fn note(&self, now: Instant) {
        *self.last() = Some(now);
    }

    fn last(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rude_is_who_was_lately() {
        let (manners, now) = (Manners::default(), Instant::now());
        assert!(!manners.is_rude(now));
        manners.note(now);
        assert!(manners.is_rude(now) && manners.is_rude(now + RUDE_FOR / 2));
        assert!(!manners.is_rude(now + RUDE_FOR));
    }
}
