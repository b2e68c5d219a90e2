//! The fleet and its clock, for all tasks.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::fleet::Fleet;

/// The fleet, and the time that has passed for it.
#[derive(Debug)]
pub(crate) struct Shared {
    fleet: Mutex<Fleet>,
    /// An order may have made something due.
    pub(crate) changed: Notify,
    started: (Timestamp, Instant),
}

impl Shared {
    pub(crate) fn new(fleet: Fleet) -> Self {
        let started = (Timestamp::now(), Instant::now());
        Self { fleet: Mutex::new(fleet), changed: Notify::new(), started }
    }

    pub(crate) fn with<T>(&self, ask: impl FnOnce(&mut Fleet, Timestamp) -> T) -> T {
        let mut fleet = self.fleet.lock().unwrap_or_else(PoisonError::into_inner);
        ask(&mut fleet, self.now())
    }

    pub(crate) fn order<T>(&self, order: impl FnOnce(&mut Fleet, Timestamp) -> T) -> T {
        let answer = self.with(order);
        self.changed.notify_one();
        answer
    }

    /// Wall-clock time that never goes back.
    pub(crate) fn now(&self) -> Timestamp {
        let (started, since) = self.started;
        started.checked_add(since.elapsed()).unwrap_or(Timestamp::MAX)
    }
}
