//! How hard a drain pushes, by its one clock.

use jiff::{SignedDuration, Timestamp};

use super::pods::volume_moves::after;
use super::request::{DrainRequest, Force};

/// What one refused eviction counts for, in time: the pause between two in machine-controller-manager, whose limit is a number.
const PER_RETRY: SignedDuration = SignedDuration::from_secs(20);

/// How pods are made to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainStage {
    /// They are asked, within their budgets.
    Ask,
    /// They are deleted without asking, and their ends are awaited all the same.
    Insist,
    /// They are deleted, and nothing is awaited.
    Force(Force),
}

impl DrainStage {
    pub(super) fn of(request: &DrainRequest<'_>, now: Timestamp) -> Self {
        if let Some(force) = request.force {
            return Self::Force(force);
        }
        if now >= request.timeout_at() {
            return Self::Force(Force::TimedOut);
        }
        if now >= request.patience_at() { Self::Insist } else { Self::Ask }
    }
}

impl DrainRequest<'_> {
    /// When nothing is awaited any more.
    pub(super) fn timeout_at(&self) -> Timestamp {
        after(self.since, self.settings.timeout.max(SignedDuration::ZERO))
    }

    /// When pods are no longer asked.
    pub(super) fn patience_at(&self) -> Timestamp {
        let retries = i32::try_from(self.settings.max_evict_retries).unwrap_or(i32::MAX);
        after(self.since, PER_RETRY.saturating_mul(retries)).min(self.timeout_at())
    }

    /// Time on the clock, never negative: clocks jump.
    pub(super) fn elapsed(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.since).max(SignedDuration::ZERO)
    }
}
