//! What all drains together may ask of an API server.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Requests of drains at the same time: half of what this process has on its way to an API server.
const REQUESTS_AT_A_TIME: usize = 50;

/// How long an effect waits for its place: as long as the requests of all those take whose turn it is, on a server that is slow.
const PATIENCE: Duration = Duration::from_secs(10);

/// When a server does not say for how long it wants to be left alone.
const DEFAULT_HOLD: SignedDuration = SignedDuration::from_secs(1);

/// The longest hold that is believed: a drain has a clock of its own.
pub(super) const LONGEST_HOLD: SignedDuration = SignedDuration::from_mins(1);

/// Room for requests, and the server's wish to be left alone.
pub(super) struct Pressure {
    room: Semaphore,
    held_until: Mutex<Timestamp>,
}

impl Default for Pressure {
    fn default() -> Self {
        Self { room: Semaphore::new(REQUESTS_AT_A_TIME), held_until: Mutex::new(Timestamp::MIN) }
    }
}

impl Pressure {
    /// A place, kept until it is dropped; `None` when there is none for a while.
    pub(super) async fn room(&self) -> Option<SemaphorePermit<'_>> {
        tokio::time::timeout(PATIENCE, self.room.acquire()).await.ok()?.ok()
    }

    /// For how long the server wants no more evictions.
    pub(super) fn held(&self, now: Timestamp) -> Option<SignedDuration> {
        let until = *self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.duration_since(now).min(LONGEST_HOLD);
        (left > SignedDuration::ZERO).then_some(left)
    }

    /// The server asks to wait.
    pub(super) fn hold(&self, now: Timestamp, after: Option<SignedDuration>) {
        let after = after.unwrap_or(DEFAULT_HOLD).clamp(SignedDuration::ZERO, LONGEST_HOLD);
        let until = now.checked_add(after).unwrap_or(now);
        let mut held_until = self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        *held_until = until.max(*held_until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_hold_lasts_as_long_as_the_server_asks_within_reason() {
        let pressure = Pressure::default();
        assert_eq!(pressure.held(at(0)), None);
        pressure.hold(at(0), Some(SignedDuration::from_secs(7)));
        pressure.hold(at(1), None);
        assert_eq!(pressure.held(at(2)), Some(SignedDuration::from_secs(5)));
        assert_eq!(pressure.held(at(7)), None);
        pressure.hold(at(10), Some(SignedDuration::MAX));
        assert_eq!(pressure.held(at(10)), Some(LONGEST_HOLD));
        // A clock that jumped back does not hold for ever.
        assert_eq!(pressure.held(at(-1_000_000)), Some(LONGEST_HOLD));
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_is_sent_away_in_the_end() {
        let pressure = Pressure::default();
        let mut places = Vec::new();
        for _ in 0..REQUESTS_AT_A_TIME {
            places.push(pressure.room().await.unwrap());
        }
        assert!(pressure.room().await.is_none());
        places.pop();
        assert!(pressure.room().await.is_some());
    }
}
