//! Limits of all drains to an API server: for the drains that list and evict at once, and for their requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_core::drain::DrainSlots;
use machinist_core::value::id::ObjectKey;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};

use crate::message::Message;

/// Drains that list and evict at once. Their evictions in one reconcile fill the request limit several times, so that
/// no permit stays unused, and a queued drain waits for seconds.
const CONCURRENT_DRAINS: usize = 25;

/// The queue of drains in front of an API server.
pub(super) struct DrainQueue {
    slots: Mutex<DrainSlots<ObjectKey>>,
    /// The channel that notifies a Machine of its slot.
    engine: mpsc::UnboundedSender<Message>,
}

/// Given back when it is dropped.
pub(crate) struct DrainSlot(Arc<DrainQueue>);

impl DrainQueue {
    pub(super) fn new(engine: mpsc::UnboundedSender<Message>) -> Arc<Self> {
        Arc::new(Self { slots: Mutex::new(DrainSlots::new(CONCURRENT_DRAINS)), engine })
    }

    /// Takes a slot; `None` if the Machine is queued, and requeued when a slot is free.
    pub(super) fn take_slot(self: &Arc<Self>, machine: &ObjectKey) -> Option<DrainSlot> {
        self.slots().take(machine).then(|| DrainSlot(self.clone()))
    }

    /// The Machine drains no more: the turn that it was called to, if it was, is the next one's.
    pub(super) fn leave(&self, machine: &ObjectKey) {
        let next = self.slots().leave(machine);
        self.wake(next);
    }

    fn wake(&self, next: Vec<ObjectKey>) {
        for machine in next {
            // A closed inbox means that the loop has ended.
            drop(self.engine.send(Message::DrainSlotFree(machine)));
        }
    }

    fn slots(&self) -> MutexGuard<'_, DrainSlots<ObjectKey>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DrainSlot {
    fn drop(&mut self) {
        let next = self.0.slots().give_back();
        self.0.wake(next);
    }
}

/// Requests of drains in flight: half of those of this process to an API server.
const REQUESTS_AT_A_TIME: usize = 50;

/// How long an effect waits for a permit: as long as the requests of all drains with a slot take on a slow server.
const ACQUIRE_DEADLINE: Duration = Duration::from_secs(10);

/// When a server does not say for how long it wants to be left alone.
const DEFAULT_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// The longest pause that a server can ask for: a drain has a time limit of its own.
pub(super) const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// Permits for requests, and the pause that the server asks for.
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
    /// Returns a permit, held until it is dropped; `None` if none is free for a while.
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
        // A clock that is set back does not pause evictions forever.
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
