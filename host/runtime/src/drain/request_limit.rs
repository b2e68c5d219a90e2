//! What all drains together may ask of an API server.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Requests of drains at the same time: half of what this process has on its way to an API server.
const REQUESTS_AT_A_TIME: usize = 50;

/// How long an effect waits for its place: as long as the requests of all those take whose turn it is, on a server that is slow.
const ACQUIRE_DEADLINE: Duration = Duration::from_secs(10);

/// When a server does not say for how long it wants to be left alone.
const DEFAULT_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// The longest hold that is believed: a drain has a clock of its own.
pub(super) const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// Room for requests, and the server's wish to be left alone.
pub(super) struct DrainRequestLimit {
    permits: Semaphore,
    paused_until: Mutex<Timestamp>,
}

impl Default for DrainRequestLimit {
    fn default() -> Self {
        Self { permits: Semaphore::new(REQUESTS_AT_A_TIME), paused_until: Mutex::new(Timestamp::MIN) }
    }
}

impl DrainRequestLimit {
    /// A place, kept until it is dropped; `None` when there is none for a while.
    pub(super) async fn acquire(&self) -> Option<SemaphorePermit<'_>> {
        tokio::time::timeout(ACQUIRE_DEADLINE, self.permits.acquire()).await.ok()?.ok()
    }

    /// For how long the server wants no more evictions.
    pub(super) fn paused_for(&self, now: Timestamp) -> Option<SignedDuration> {
        let until = *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.duration_since(now).min(LONGEST_PAUSE);
        (left > SignedDuration::ZERO).then_some(left)
    }

    /// The server asks to wait.
    pub(super) fn pause(&self, now: Timestamp, after: Option<SignedDuration>) {
        let after = after.unwrap_or(DEFAULT_PAUSE).clamp(SignedDuration::ZERO, LONGEST_PAUSE);
        let until = now.checked_add(after).unwrap_or(now);
        let mut paused_until = self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        *paused_until = until.max(*paused_until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_pause_lasts_as_long_as_the_server_asks_within_reason() {
        let request_limit = DrainRequestLimit::default();
        assert_eq!(request_limit.paused_for(at(0)), None);
        request_limit.pause(at(0), Some(SignedDuration::from_secs(7)));
        request_limit.pause(at(1), None);
        assert_eq!(request_limit.paused_for(at(2)), Some(SignedDuration::from_secs(5)));
        assert_eq!(request_limit.paused_for(at(7)), None);
        request_limit.pause(at(10), Some(SignedDuration::MAX));
        assert_eq!(request_limit.paused_for(at(10)), Some(LONGEST_PAUSE));
        // A clock that jumped back does not hold for ever.
        assert_eq!(request_limit.paused_for(at(-1_000_000)), Some(LONGEST_PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_free_permit_fails_in_the_end() {
        let request_limit = DrainRequestLimit::default();
        let mut taken = Vec::new();
        for _ in 0..REQUESTS_AT_A_TIME {
            taken.push(request_limit.acquire().await.unwrap());
        }
        assert!(request_limit.acquire().await.is_none());
        taken.pop();
        assert!(request_limit.acquire().await.is_some());
    }
}
