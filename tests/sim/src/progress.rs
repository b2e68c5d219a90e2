//! How far a run is, for whoever waits for its end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Written by the run, read by others at any time.
#[derive(Debug, Default)]
pub struct Progress {
    simulated_ms: AtomicU64,
    calls: AtomicU64,
    faults: AtomicU64,
}

impl Progress {
    pub(crate) fn set(&self, simulated: Duration, calls: usize, faults: u64) {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let ms = u64::try_from(simulated.as_millis()).unwrap_or(u64::MAX);
        self.simulated_ms.store(ms, Ordering::Relaxed);
        self.calls.store(number(calls), Ordering::Relaxed);
        self.faults.store(faults, Ordering::Relaxed);
    }

    pub fn simulated(&self) -> Duration {
        Duration::from_millis(self.simulated_ms.load(Ordering::Relaxed))
    }

    /// Requests and calls of hosts.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Everything that went wrong on purpose.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }
}
