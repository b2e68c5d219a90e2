//! The stage of a drain, by its clock.

use jiff::{SignedDuration, Timestamp};

use super::pods::volume_moves::after;
use super::request::{DrainRequest, Force};

/// The time that one refused eviction counts as: the pause between two evictions in machine-controller-manager, whose
/// limit is a number.
const PER_RETRY: SignedDuration = SignedDuration::from_secs(20);

/// The way in which pods are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainStage {
    /// They are evicted, within their budgets.
    Ask,
    /// They are deleted without eviction, and their ends are awaited.
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
        if now >= request.eviction_ends_at() { Self::Insist } else { Self::Ask }
    }
}

impl DrainRequest<'_> {
    /// When nothing is awaited any more.
    pub(super) fn timeout_at(&self) -> Timestamp {
        after(self.since, self.settings.timeout.max(SignedDuration::ZERO))
    }

    /// Returns when pods are no longer evicted but deleted.
    pub(super) fn eviction_ends_at(&self) -> Timestamp {
        let retries = i32::try_from(self.settings.max_evict_retries).unwrap_or(i32::MAX);
        after(self.since, PER_RETRY.saturating_mul(retries)).min(self.timeout_at())
    }

    /// Returns the time since the start of the drain, never negative: clocks jump.
    pub(super) fn elapsed(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.since).max(SignedDuration::ZERO)
    }
}
