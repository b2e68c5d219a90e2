//! Where the runtime gets its time from.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A source of time. Decisions get time as an argument; only the loop reads the clock.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The clock on the wall.
    Wall,
    /// Starts at a fixed time and goes with tokio's clock, which tests pause.
    Virtual {
        /// The time at `start`.
        base: Timestamp,
        /// When it was `base`.
        start: Instant,
    },
    /// Another clock, set forth or back by so many milliseconds: a clock that somebody sets while it goes.
    Shifted {
        /// The clock.
        clock: Box<Clock>,
        /// By how much it is set.
        by_ms: Arc<AtomicI64>,
    },
}

impl Clock {
    /// A clock that starts at `base` and goes with tokio's clock.
    pub fn virtual_from(base: Timestamp) -> Self {
        Self::Virtual { base, start: Instant::now() }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Wall => Timestamp::now(),
            Self::Virtual { base, start } => {
                let elapsed = SignedDuration::try_from(start.elapsed()).unwrap_or(SignedDuration::MAX);
                base.checked_add(elapsed).unwrap_or(Timestamp::MAX)
            }
            Self::Shifted { clock, by_ms } => {
                let shift = SignedDuration::from_millis(by_ms.load(Ordering::Relaxed));
                clock.now().checked_add(shift).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// The instant of tokio's clock that corresponds to `at`. A time that has passed is now.
    pub fn instant(&self, at: Timestamp) -> Instant {
        let left = at.duration_since(self.now()).max(SignedDuration::ZERO);
        // A year: far beyond any wake-up, and within what an Instant can hold.
        let left = left.min(SignedDuration::from_hours(24 * 365));
        Instant::now() + left.unsigned_abs()
    }
}

/// How far the host's clock is ahead of the server's, at the last answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerClock {
    ahead_seconds: Arc<AtomicI64>,
}

impl ServerClock {
    /// An answer has told the time.
    pub(crate) fn set_ahead(&self, ahead: SignedDuration) {
        self.ahead_seconds.store(ahead.as_secs(), Ordering::Relaxed);
    }

    /// How far the host's clock is ahead at least; negative: behind. Zero before the first answer.
    pub(crate) fn ahead(&self) -> SignedDuration {
        SignedDuration::from_secs(self.ahead_seconds.load(Ordering::Relaxed))
    }
}
