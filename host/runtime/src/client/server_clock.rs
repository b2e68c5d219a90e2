//! The clock of the API server that creates Machines, as its answers tell it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;

/// How far the host's clock is ahead of the server's, at the last answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerClock {
    ahead_seconds: Arc<AtomicI64>,
}

impl ServerClock {
    /// An answer has told the time.
    pub(crate) fn told(&self, ahead: SignedDuration) {
        self.ahead_seconds.store(ahead.as_secs(), Ordering::Relaxed);
    }

    /// How far the host's clock is ahead at least; negative: behind. Zero before the first answer.
    pub(crate) fn ahead(&self) -> SignedDuration {
        SignedDuration::from_secs(self.ahead_seconds.load(Ordering::Relaxed))
    }
}
