//! The request of a drain: the facts that need no API call, and the stage by its clock.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::NodeName;

use super::pods::volume::{AttachmentFact, DrainMemory};
use super::pods::volume_moves::after;

/// A drain of one Node.
#[derive(Clone, Debug)]
pub struct DrainRequest<'a> {
    pub node: &'a NodeName,
    /// The start of the drain's clock. It never restarts for the same drain.
    pub since: Timestamp,
    /// The reason why pods are deleted instead of evicted. The drain itself notices the end of its clock.
    pub force: Option<Force>,
    pub settings: &'a DrainSettings,
    /// Facts from the caches.
    pub facts: &'a DrainFacts,
}

/// The reason why pods are deleted instead of evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Force {
    /// A label requests it.
    Requested,
    /// The Node has been not ready, or its file system read-only, for so long that its pods cannot terminate on their
    /// own.
    NodeUnhealthy,
    /// The time is over.
    TimedOut,
}

/// Limits of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainSettings {
    /// From the start of the clock until pods are deleted at once.
    pub timeout: SignedDuration,
    /// How many evictions, 20 s apart, may be refused before a pod is deleted without eviction.
    pub max_evict_retries: u32,
    /// How many pods with volumes may be moved at a time; 0 counts as 1.
    pub parallel_volumes: u32,
    /// How long a volume may stay attached after its pod's grace period.
    pub detach_timeout: SignedDuration,
    /// How long to wait until a volume is attached elsewhere.
    pub reattach_timeout: SignedDuration,
}

impl Default for DrainSettings {
    fn default() -> Self {
        Self {
            timeout: SignedDuration::from_hours(2),
            max_evict_retries: 360,
            parallel_volumes: 1,
            detach_timeout: SignedDuration::from_mins(2),
            reattach_timeout: SignedDuration::from_secs(90),
        }
    }
}

/// Facts from the caches about the Node and its volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainFacts {
    pub node: NodeState,
    /// VolumeAttachments of the Node, and those elsewhere of volumes in the memory. `None` until they are listed.
    pub attachments: Option<Vec<AttachmentFact>>,
    /// Since when this process works without that list, while it does.
    pub unlisted_since: Option<Timestamp>,
    /// The memory that an earlier reconcile stored.
    pub memory: DrainMemory,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// There is none any more.
    Gone,
    Present {
        /// The names in `status.volumesAttached`.
        attached: BTreeSet<String>,
    },
}

impl Default for NodeState {
    fn default() -> Self {
        Self::Present { attached: BTreeSet::new() }
    }
}

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
