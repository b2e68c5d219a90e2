//! The reported status of a set.

use jiff::Timestamp;

use crate::machine::OperationFact;
use crate::machine::node::health::ConditionStatus;
use crate::value::phase::{OperationState, OperationType, Phase};

use super::conclusion::{
    SetCondition, SetConditionKind, SetOperation, SetOwnCondition, SetOwnConditionKind, SetReason, SetStatus,
};
use super::creation::overshoot;
use super::effect::SetProgress;
use super::errors::{SetError, SetErrors};
use super::facts::{ChildFact, SetView};
use super::members;
use super::members::adoption;
use super::removal::keep;

/// The number of overlapping Machines that are named.
const NAMED: usize = 3;

pub(super) fn counts(view: &SetView, progress: &SetProgress, now: Timestamp) -> SetStatus {
    let machines = members::owned(view, progress);
    let count = |holds: &dyn Fn(&ChildFact) -> bool| machines.iter().filter(|machine| holds(machine)).count();
    let labels = view.set.template.as_ref().map(|template| &template.labels);
    let is_kept = |machine: &ChildFact| machine.phase == Phase::Failed && machine.is_preserved(now);
    let has_failed =
        |machine: &ChildFact| machine.operation.is_some_and(|last| last.state == OperationState::Failed);
    let failed = machines.iter().filter(|machine| has_failed(machine) && !is_kept(machine));
    let mut failed: Vec<_> = failed.map(|machine| machine.name.clone()).collect();
    failed.sort();
    SetStatus {
        replicas: machines.len(),
        fully_labeled: count(&|machine| {
            labels
                .is_none_or(|labels| labels.iter().all(|(key, value)| machine.labels.get(key) == Some(value)))
        }),
        ready: count(&|machine| machine.phase == Phase::Running),
        available: count(&|machine| matches!(machine.phase, Phase::Running | Phase::Available)),
        preserved_failed: count(&is_kept),
        auto_preserved: keep::count(view, progress),
        failed,
        ..SetStatus::default()
    }
}

/// Returns the whole status, at the end of a reconcile that could act.
pub(super) fn of(view: &SetView, progress: &SetProgress, errors: &SetErrors, now: Timestamp) -> SetStatus {
    let worst = errors.worst();
    let failure = worst.and_then(|error| Some((error, replica_failure(error)?)));
    let condition = failure.map(|(error, reason)| SetCondition {
        kind: SetConditionKind::ReplicaFailure,
        reason,
        message: error.message.clone(),
    });
    SetStatus {
        observed_generation: Some(view.set.generation),
        conditions: condition.into_iter().chain(overshoot::condition(view, progress)).collect(),
        own_conditions: overlapping(view, progress).into_iter().chain(valid(view)).collect(),
        operation: operation(view, progress, worst),
        ..counts(view, progress, now)
    }
}

/// Returns the reason of MCM's condition `ReplicaFailure`.
fn replica_failure(error: &SetError) -> Option<&'static str> {
    match error.reason {
        SetReason::CreationFailed => Some("FailedCreate"),
        SetReason::DeletionFailed => Some("FailedDelete"),
        SetReason::InvalidSet
        | SetReason::ClassNotNamed
        | SetReason::SelectsEverything
        | SetReason::SelectorMismatch
        | SetReason::ClaimFailed
        | SetReason::FinalizerHeld
        | SetReason::WriteFailed
        | SetReason::CachesBehind
        | SetReason::GateFrozen
        | SetReason::Frozen
        | SetReason::ScaleUpDisabled
        | SetReason::Orphaning
        | SetReason::Deleting
        | SetReason::Creating
        | SetReason::Removing
        | SetReason::UnreadableMachine
        | SetReason::WaitingForDeployment
        | SetReason::InvalidOption
        | SetReason::Waiting
        | SetReason::AllAvailable
        | SetReason::Deleted => None,
    }
}

fn operation(view: &SetView, progress: &SetProgress, worst: Option<&SetError>) -> Option<SetOperation> {
    let done = |kind, text: &str| {
        Some(SetOperation { kind, state: OperationState::Successful, text: text.to_owned() })
    };
    match worst {
        Some(error) if replica_failure(error).is_some() => {
            let is_creation = error.reason == SetReason::CreationFailed;
            let kind = if is_creation { OperationType::Create } else { OperationType::Delete };
            Some(SetOperation { kind, state: OperationState::Failed, text: error.message.clone() })
        }
        Some(_) | None if progress.creations() > 0 => done(OperationType::Create, "Machines were created"),
        Some(_) | None if progress.deletions() > 0 => done(OperationType::Delete, "Machines were deleted"),
        Some(_) => None,
        None => match view.set.reported.operation {
            Some(OperationFact { kind, state: OperationState::Failed }) => {
                done(kind, "what had failed is not needed any more")
            }
            Some(_) | None => None,
        },
    }
}

/// Returns the condition for Machines of others that the selector selects. They are left alone; with two owners of the
/// same labels the wrong one may adopt a Machine later.
fn overlapping(view: &SetView, progress: &SetProgress) -> Option<SetOwnCondition> {
    let kind = SetOwnConditionKind::Overlapping;
    let overlaps = adoption::overlaps(view, progress);
    if overlaps.is_empty() {
        let message = "the selector selects no Machines of others".to_owned();
        let is_over = SetOwnCondition { kind, status: ConditionStatus::False, reason: "NoOverlap", message };
        return view.set.reported.is_overlapping.then_some(is_over);
    }
    let mut owners: Vec<&str> = overlaps.iter().map(|(_, owner)| *owner).collect();
    owners.sort_unstable();
    owners.dedup();
    let more = if owners.len() > NAMED { " and others" } else { "" };
    owners.truncate(NAMED);
    let message = format!(
        "spec.selector also selects Machines that are controlled by {}{more}: they are left alone; give each its own label \
         in selector and template",
        owners.join(", ")
    );
    Some(SetOwnCondition { kind, status: ConditionStatus::True, reason: "SelectsMachinesOfOthers", message })
}

/// Returns the condition for invalid settings, which are not copied.
fn valid(view: &SetView) -> Option<SetOwnCondition> {
    let kind = SetOwnConditionKind::Valid;
    if view.set.problems.is_empty() {
        let message = "all settings can be understood".to_owned();
        let is_over = SetOwnCondition { kind, status: ConditionStatus::True, reason: "Understood", message };
        return view.set.reported.is_invalid.then_some(is_over);
    }
    let message =
        format!("{}: correct it; until then it counts as not set for Machines", view.set.problems.join("; "));
    Some(SetOwnCondition { kind, status: ConditionStatus::False, reason: "NotUnderstood", message })
}
