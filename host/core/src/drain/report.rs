//! What there is to say of a drain.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::value::id::ObjectKey;

use super::message::{error_of, message};
use super::pods::pod::PodOwner;
use super::pods::state::PodState;
use super::pods::volume::DrainMemory;
use super::pods::volume_moves::{VolumeLocation, VolumeMove};
use super::request::{DrainRequest, Force};

/// Names told of each group.
const NAMES_PER_GROUP: usize = 3;

/// A pod that was asked within this time is nothing to tell of: many end sooner.
const JUST_ASKED: SignedDuration = SignedDuration::from_secs(4);

/// How a drain stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainReport {
    /// How it ended; `None` while it goes on.
    pub end: Option<DrainEnd>,
    /// What is left, by cause, in the order of [`WaitCause`].
    pub groups: Vec<PodGroup>,
    /// PodDisruptionBudgets that hold pods, by name.
    pub blocking_budgets: Vec<ObjectKey>,
    /// Pods that lose local data with the Node.
    pub local_storage: Vec<ObjectKey>,
    /// Pods that nobody makes anew.
    pub unmanaged: Vec<ObjectKey>,
    /// Why pods are deleted at once, when they are.
    pub force: Option<Force>,
    /// From when pods are deleted without asking.
    pub force_at: Timestamp,
    /// From when nothing is awaited any more.
    pub timeout_at: Timestamp,
    /// Until when the list of VolumeAttachments is awaited by force, while it is.
    pub list_until: Option<Timestamp>,
    /// Its pods were not looked at: others go first.
    pub is_in_line: bool,
    /// Since the start of the clock.
    pub elapsed: SignedDuration,
    /// What failed, a sentence each.
    pub failures: Vec<String>,
    /// To be stored, whenever it differs from what is stored.
    pub memory: DrainMemory,
    /// All of it for people. It says the same as long as nothing changes that lasts.
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
    /// Forced, and something could not be deleted. Whoever must be sure tries again.
    ForcedInPart,
}

/// Things left for the same cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodGroup {
    /// Why.
    pub cause: WaitCause,
    /// How many.
    pub count: usize,
    /// The first of them by name: pods, or volumes where the cause is one of volumes.
    pub first: Vec<ObjectKey>,
    /// PodDisruptionBudgets that hold them, by name.
    pub budgets: Vec<ObjectKey>,
}

/// What falls into a group.
#[derive(Default)]
struct Members {
    keys: BTreeSet<ObjectKey>,
    budgets: BTreeSet<ObjectKey>,
}

/// Why a pod or a volume is left. What needs somebody's attention comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitCause {
    /// Its budget can never allow a disruption.
    BudgetMisconfigured,
    /// Several budgets select it, which Kubernetes refuses to evict.
    SeveralBudgets,
    /// Its budget allows no disruption at the moment.
    Budget,
    /// It could not be evicted or deleted.
    Failed,
    /// It should have gone already.
    Overdue,
    /// It was asked to go and has time left.
    Ending,
    /// The same, a moment ago.
    JustAsked,
    /// It has not been asked yet.
    NotAsked,
    /// The API server asks for patience.
    Throttled,
    /// Another pod with volumes is on its way.
    WaitsForTurn,
    /// A volume whose pod has gone is still attached to the Node.
    Detaching,
    /// The same, for longer than it may take.
    DetachingTooLong,
    /// A volume whose pod has gone is not yet attached elsewhere.
    Reattaching,
}

impl WaitCause {
    /// For metrics and APIs: a closed set.
    pub fn name(self) -> &'static str {
        match self {
            Self::BudgetMisconfigured => "BudgetMisconfigured",
            Self::SeveralBudgets => "SeveralBudgets",
            Self::Budget => "Budget",
            Self::Failed => "Failed",
            Self::Overdue => "Overdue",
            Self::Ending => "Ending",
            Self::JustAsked => "JustAsked",
            Self::NotAsked => "NotAsked",
            Self::Throttled => "Throttled",
            Self::WaitsForTurn => "WaitsForTurn",
            Self::Detaching => "Detaching",
            Self::DetachingTooLong => "DetachingTooLong",
            Self::Reattaching => "Reattaching",
        }
    }
}

impl DrainReport {
    /// With nothing in it yet, and the memory as it is.
    pub(super) fn new(request: &DrainRequest<'_>, now: Timestamp) -> Self {
        Self {
            end: None,
            groups: Vec::new(),
            blocking_budgets: Vec::new(),
            local_storage: Vec::new(),
            unmanaged: Vec::new(),
            force: request.force,
            force_at: request.patience_at(),
            timeout_at: request.timeout_at(),
            list_until: None,
            is_in_line: false,
            elapsed: request.elapsed(now),
            failures: Vec::new(),
            memory: request.facts.memory.clone(),
            message: String::new(),
        }
    }

    /// Counts what is left.
    pub(super) fn count(&mut self, standings: &[PodState<'_>], transits: &[VolumeMove], now: Timestamp) {
        let mut groups: BTreeMap<WaitCause, Members> = BTreeMap::new();
        for standing in standings {
            let pod = standing.pod;
            let group = groups.entry(lasting(standing, now)).or_default();
            group.keys.insert(pod.pod.key.clone());
            if matches!(
                standing.cause,
                WaitCause::Budget | WaitCause::BudgetMisconfigured | WaitCause::SeveralBudgets
            ) {
                group.budgets.extend(pod.budgets.iter().map(|budget| budget.key.clone()));
            }
            if standing.ending_since.is_none() {
                if pod.has_local_storage {
                    self.local_storage.push(pod.pod.key.clone());
                }
                if pod.owner == PodOwner::Nobody {
                    self.unmanaged.push(pod.pod.key.clone());
                }
            }
        }
        for transit in transits {
            let cause = match transit.place {
                VolumeLocation::Here => WaitCause::Detaching,
                VolumeLocation::HereTooLong => WaitCause::DetachingTooLong,
                VolumeLocation::Between => WaitCause::Reattaching,
            };
            let group = groups.entry(cause).or_default();
            group.keys.insert(ObjectKey::new("", transit.awaited.volume.as_str()));
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

    /// Why the drain cannot go on as it is, for those who read errors: what failed, and budgets that never allow what is
    /// asked of them. `None`: it takes its time, and that is all.
    pub fn error(&self) -> Option<String> {
        let errors: Vec<String> =
            self.groups.iter().filter_map(error_of).chain(self.failures.iter().cloned()).collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }

    /// With its message.
    pub(super) fn told(mut self, request: &DrainRequest<'_>, now: Timestamp) -> Self {
        self.message = message(&self, request.facts.attachments.is_some(), now);
        self
    }
}

fn lasting(standing: &PodState<'_>, now: Timestamp) -> WaitCause {
    let is_fresh = standing.ending_since.is_some_and(|since| now.duration_since(since) < JUST_ASKED);
    if standing.cause == WaitCause::Ending && is_fresh { WaitCause::JustAsked } else { standing.cause }
}
