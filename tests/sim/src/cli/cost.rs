//! The cost of a run.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// Time and memory of this process since it began to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    began: Instant,
}

impl Cost {
    pub(crate) fn start() -> Self {
        Self { began: Instant::now() }
    }

    pub(crate) fn took(&self) -> Duration {
        self.began.elapsed()
    }

    /// Of processors, by this process and for it.
    pub(crate) fn processor_seconds(&self) -> f64 {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return 0.0 };
        [usage.user_time(), usage.system_time()]
            .iter()
            .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
            .sum()
    }

    /// The most memory that it ever held.
    pub(crate) fn most_megabytes(&self) -> f64 {
        getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| usage.max_rss() as f64 / 1e3)
    }
}
