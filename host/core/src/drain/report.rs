//! What there is to say of a drain.

use jiff::{SignedDuration, Timestamp};

use crate::id::ObjectKey;

use super::request::Force;
use super::volume::Memory;

/// How a drain stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended; `None` while it goes on.
    pub end: Option<End>,
    /// What is left, by cause, in the order of [`Cause`].
    pub groups: Vec<Group>,
    /// PodDisruptionBudgets that hold pods, by name.
    pub blocking_budgets: Vec<ObjectKey>,
    /// Why pods are deleted at once, when they are.
    pub force: Option<Force>,
    /// When pods will be deleted at once.
    pub force_at: Timestamp,
    /// Since the start of the clock.
    pub elapsed: SignedDuration,
    /// What failed, a sentence each.
    pub failures: Vec<String>,
    /// To be stored, whenever it differs from what is stored.
    pub memory: Memory,
    /// All of it in one sentence. It says the same as long as nothing changes.
    pub message: String,
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// All pods have gone, and their volumes.
    Drained,
    /// The Node is gone, so there is nothing to drain.
    NodeGone,
    /// All pods were deleted without waiting for their end.
    Forced,
    /// Forced, and something could not be deleted. Whoever must be sure tries again.
    ForcedInPart,
}

/// Things left for the same cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Why.
    pub cause: Cause,
    /// How many.
    pub count: usize,
    /// The first of them by name.
    pub first: Vec<ObjectKey>,
}

/// Why a pod is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It was asked to go and has time left.
    Ending,
    /// It should have gone already.
    Overdue,
    /// Its budget allows no disruption at the moment.
    Budget,
    /// Its budget can never allow one.
    BudgetMisconfigured,
    /// Several budgets select it, which Kubernetes refuses to evict.
    SeveralBudgets,
    /// Another pod with volumes is on its way.
    WaitsForTurn,
    /// It has not been asked yet.
    NotAsked,
    /// The API server asks for patience.
    Throttled,
    /// It could not be evicted or deleted.
    Failed,
    /// It has gone, and a volume of it is still attached to the Node.
    Detaching,
    /// It has gone, and a volume of it is not yet attached elsewhere.
    Reattaching,
}
