//! The state of each pod of a drain.

use jiff::{SignedDuration, Timestamp};

use crate::driver::write_error::ActError;

use super::budget::{BudgetState, held, stance};
use super::pod::PodFact;
use super::volume_moves::after;
use crate::drain::effect::{DrainProgress, EvictError};
use crate::drain::report::WaitCause;
use crate::drain::request::{DrainRequest, DrainStage};
use crate::drain::requeue::PAUSE;

/// The seconds beyond the grace period that a kubelet needs to kill and clean up.
const OVERDUE_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// The time between trial evictions of a pod whose budget is known to refuse: the cached budget may be old.
pub(crate) const DOUBT_EVERY: SignedDuration = SignedDuration::from_mins(3);

/// How long such a trial lasts.
const DOUBT_LASTS: SignedDuration = SignedDuration::from_secs(5);

/// A pod that the drain evicts, and the cause why it is still there.
#[derive(Clone, Debug)]
pub(crate) struct PodState<'a> {
    pub(crate) pod: &'a PodFact,
    pub(crate) cause: WaitCause,
    /// Since when it is terminating.
    pub(crate) ending_since: Option<Timestamp>,
    /// Not asked again before.
    pub(crate) pause: Option<SignedDuration>,
    pub(crate) failure: Option<String>,
}

impl<'a> PodState<'a> {
    fn new(pod: &'a PodFact, cause: WaitCause) -> Self {
        Self { pod, cause, ending_since: None, pause: None, failure: None }
    }

    pub(crate) fn of(
        request: &DrainRequest<'_>,
        stage: DrainStage,
        progress: &DrainProgress,
        pod: &'a PodFact,
        now: Timestamp,
    ) -> Self {
        let deletion =
            progress.deletions.get(&pod.pod).map(|result| result.clone().map_err(EvictError::Failed));
        if let Some(result) = progress.evictions.get(&pod.pod).cloned().or(deletion) {
            return Self::tried(pod, result, now);
        }
        if let Some(ending) = pod.ending {
            let is_overdue = now > after(ending.deadline, OVERDUE_AFTER);
            let may_be_hurried = stage == DrainStage::Insist && ending.grace > SignedDuration::ZERO;
            let cause = match (is_overdue, may_be_hurried) {
                (false, _) => WaitCause::Ending,
                (true, true) => WaitCause::NotAsked,
                (true, false) => WaitCause::Overdue,
            };
            return Self { ending_since: Some(ending.since()), ..Self::new(pod, cause) };
        }
        if stage == DrainStage::Ask
            && let Some(left) = held(pod, now)
        {
            return Self { pause: Some(left), ..Self::new(pod, refused_by(pod)) };
        }
        let cause = match (stage, stance(pod)) {
            (DrainStage::Insist | DrainStage::Force(_), _) | (DrainStage::Ask, BudgetState::Open) => {
                WaitCause::NotAsked
            }
            (DrainStage::Ask, _) if is_in_doubt(request.elapsed(now)) => WaitCause::NotAsked,
            (
                DrainStage::Ask,
                BudgetState::Spent(_) | BudgetState::Misconfigured(_) | BudgetState::Several(_),
            ) => refused_by(pod),
        };
        Self::new(pod, cause)
    }

    fn tried(pod: &'a PodFact, result: Result<(), EvictError>, now: Timestamp) -> Self {
        match result {
            Ok(()) => Self { ending_since: Some(now), ..Self::new(pod, WaitCause::Ending) },
            Err(EvictError::Budget { after }) => Self { pause: after, ..Self::new(pod, refused_by(pod)) },
            Err(EvictError::NamespaceEnding) => {
                Self { ending_since: Some(now), pause: Some(PAUSE), ..Self::new(pod, WaitCause::Ending) }
            }
            Err(EvictError::Failed(ActError::Throttled { after })) => {
                Self { pause: after, ..Self::new(pod, WaitCause::Throttled) }
            }
            // Another pod has that name, or it changed just then: the next list shows it.
            Err(EvictError::Failed(ActError::Conflict | ActError::Gone)) => {
                Self::new(pod, WaitCause::NotAsked)
            }
            Err(EvictError::Failed(error)) => {
                let cause = if matches!(stance(pod), BudgetState::Several(_)) {
                    WaitCause::SeveralBudgets
                } else {
                    WaitCause::Failed
                };
                Self { failure: Some(format!("{}: {error}", pod.pod)), ..Self::new(pod, cause) }
            }
        }
    }
}

/// Returns the cause that blocks the eviction of a pod.
fn refused_by(pod: &PodFact) -> WaitCause {
    match stance(pod) {
        BudgetState::Misconfigured(_) => WaitCause::BudgetMisconfigured,
        BudgetState::Several(_) => WaitCause::SeveralBudgets,
        BudgetState::Open | BudgetState::Spent(_) => WaitCause::Budget,
    }
}

/// Returns true for a moment every few minutes. It follows from the clock alone, so that nothing is stored.
fn is_in_doubt(elapsed: SignedDuration) -> bool {
    elapsed >= DOUBT_EVERY && elapsed.as_secs() % DOUBT_EVERY.as_secs() < DOUBT_LASTS.as_secs()
}
