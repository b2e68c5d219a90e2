//! The report of a drain, as data.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::value::id::ObjectKey;
use crate::value::words::words;

use super::message::{error_of, message};
use super::pods::pod::PodOwner;
use super::pods::state::PodState;
use super::pods::volume::DrainMemory;
use super::pods::volume_moves::{VolumeLocation, VolumeMove};
use super::request::{DrainRequest, Force};

/// The number of names reported of each group.
const NAMES_PER_GROUP: usize = 3;

/// A pod that was evicted within this time is not reported: many end sooner.
const JUST_ASKED: SignedDuration = SignedDuration::from_secs(4);

/// The state of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainReport {
    /// Its end; `None` while it continues.
    pub end: Option<DrainEnd>,
    /// The pods and volumes that are left, by cause, in the order of [`WaitCause`].
    pub groups: Vec<PodGroup>,
    /// PodDisruptionBudgets that hold pods, by name.
    pub blocking_budgets: Vec<ObjectKey>,
    /// Pods that lose local data with the Node.
    pub local_storage: Vec<ObjectKey>,
    /// Pods without a controller that creates them again.
    pub unmanaged: Vec<ObjectKey>,
    /// Why pods are deleted at once, when they are.
    pub force: Option<Force>,
    /// The time from which pods are deleted without eviction.
    pub force_at: Timestamp,
    /// The time from which nothing is awaited any more.
    pub timeout_at: Timestamp,
    /// Until when the list of VolumeAttachments is awaited by force, while it is.
    pub list_until: Option<Timestamp>,
    /// Its pods were not listed: the drain is queued.
    pub is_in_line: bool,
    /// Since the start of the clock.
    pub elapsed: SignedDuration,
    /// The failures, a sentence each.
    pub failures: Vec<String>,
    /// The memory to store, whenever it differs from the stored one.
    pub memory: DrainMemory,
    /// The report as text. It stays the same until a lasting change.
    pub message: String,
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrainEnd {
    /// All pods have gone, and their volumes.
    Drained,
    /// All pods have gone. Volumes have not left the Node in time: their attachments were deleted.
    VolumesLeft,
    /// The Node is gone, so there is nothing to drain.
    NodeGone,
    /// All pods were deleted without waiting for their end.
    Forced,
    /// Forced, and something could not be deleted. A caller that must be sure tries again.
    ForcedInPart,
}

/// Things left for the same cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodGroup {
    pub cause: WaitCause,
    pub count: usize,
    /// The first of them by name: pods, or volumes where the cause is one of volumes.
    pub first: Vec<ObjectKey>,
    /// PodDisruptionBudgets that hold them, by name.
    pub budgets: Vec<ObjectKey>,
}

#[derive(Default)]
struct Members {
    keys: BTreeSet<ObjectKey>,
    budgets: BTreeSet<ObjectKey>,
}

words! {
    /// The reason why a pod or a volume is left. Causes that need attention come first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum WaitCause with name {
        /// Its budget can never allow a disruption.
        BudgetMisconfigured = "BudgetMisconfigured",
        /// Several budgets select it, which Kubernetes refuses to evict.
        SeveralBudgets = "SeveralBudgets",
        /// Its budget allows no disruption at the moment.
        Budget = "Budget",
        /// It could not be evicted or deleted.
        Failed = "Failed",
        /// It should have gone already.
        Overdue = "Overdue",
        /// It was evicted and has time left.
        Ending = "Ending",
        /// It was evicted a moment ago.
        JustAsked = "JustAsked",
        /// It was not evicted yet.
        NotAsked = "NotAsked",
        /// The API server asks to wait.
        Throttled = "Throttled",
        /// Another pod with volumes is being moved.
        WaitsForTurn = "WaitsForTurn",
        /// A volume whose pod has gone is still attached to the Node.
        Detaching = "Detaching",
        /// The same, for longer than it may take.
        DetachingTooLong = "DetachingTooLong",
        /// A volume whose pod has gone is not yet attached elsewhere.
        Reattaching = "Reattaching",
    }
}

impl DrainReport {
    /// Returns an empty report, with the memory as it is.
    pub(super) fn new(request: &DrainRequest<'_>, now: Timestamp) -> Self {
        Self {
            end: None,
            groups: Vec::new(),
            blocking_budgets: Vec::new(),
            local_storage: Vec::new(),
            unmanaged: Vec::new(),
            force: request.force,
            force_at: request.eviction_ends_at(),
            timeout_at: request.timeout_at(),
            list_until: None,
            is_in_line: false,
            elapsed: request.elapsed(now),
            failures: Vec::new(),
            memory: request.facts.memory.clone(),
            message: String::new(),
        }
    }

    /// Counts the pods and volumes that are left.
    pub(super) fn count(&mut self, states: &[PodState<'_>], moves: &[VolumeMove], now: Timestamp) {
        let mut groups: BTreeMap<WaitCause, Members> = BTreeMap::new();
        for state in states {
            let pod = state.pod;
            let group = groups.entry(lasting(state, now)).or_default();
            group.keys.insert(pod.pod.key.clone());
            if matches!(
                state.cause,
                WaitCause::Budget | WaitCause::BudgetMisconfigured | WaitCause::SeveralBudgets
            ) {
                group.budgets.extend(pod.budgets.iter().map(|budget| budget.key.clone()));
            }
            if state.ending_since.is_none() {
                if pod.has_local_storage {
                    self.local_storage.push(pod.pod.key.clone());
                }
                if pod.owner == PodOwner::Nobody {
                    self.unmanaged.push(pod.pod.key.clone());
                }
            }
        }
        for volume_move in moves {
            let cause = match volume_move.location {
                VolumeLocation::Here => WaitCause::Detaching,
                VolumeLocation::HereTooLong => WaitCause::DetachingTooLong,
                VolumeLocation::Between => WaitCause::Reattaching,
            };
            let group = groups.entry(cause).or_default();
            group.keys.insert(ObjectKey::new("", volume_move.awaited.volume.as_str()));
        }
        self.local_storage.sort();
        self.unmanaged.sort();
        let budgets: BTreeSet<ObjectKey> = groups.values().flat_map(|group| group.budgets.clone()).collect();
        self.blocking_budgets = budgets.into_iter().collect();
        self.groups = groups
            .into_iter()
            .map(|(cause, members)| PodGroup {
                cause,
                count: members.keys.len(),
                first: members.keys.into_iter().take(NAMES_PER_GROUP).collect(),
                budgets: members.budgets.into_iter().collect(),
            })
            .collect();
    }

    /// Returns why the drain cannot continue: failures, and budgets that never allow a disruption. `None`: it only
    /// needs time.
    pub fn error(&self) -> Option<String> {
        let errors: Vec<String> =
            self.groups.iter().filter_map(error_of).chain(self.failures.iter().cloned()).collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }

    pub(super) fn with_message(mut self, request: &DrainRequest<'_>, now: Timestamp) -> Self {
        self.message = message(&self, request.facts.attachments.is_some(), now);
        self
    }
}

fn lasting(state: &PodState<'_>, now: Timestamp) -> WaitCause {
    let is_fresh = state.ending_since.is_some_and(|since| now.duration_since(since) < JUST_ASKED);
    if state.cause == WaitCause::Ending && is_fresh { WaitCause::JustAsked } else { state.cause }
}
