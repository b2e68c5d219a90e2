//! The next step of a set.

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::{Requeue, retry_write};
use crate::scheduling::gate::Gate;
use crate::scheduling::retry::RetryPolicy;

use super::conclusion::{SetConclusion, SetReason, SetStatus, SetStep};
use super::creation::capacity;
use super::creation::create;
use super::creation::overshoot;
use super::delete;
use super::effect::{SetEffect, SetProgress};
use super::errors::SetErrors;
use super::facts::{ChildFact, Freshness, SetView};
use super::members;
use super::members::adoption;
use super::members::sync;
use super::removal::choose;
use super::removal::keep;
use super::status;
use super::validity;

/// Returns the next step for a set. Pure: the same arguments give the same step.
pub fn step(view: &SetView, progress: &SetProgress, now: Timestamp) -> SetStep {
    if view.set.deletion.is_some() {
        return delete::step(view, progress, now);
    }
    if let Some(problem) = validity::problem(view) {
        let status = status::of(view, progress, &SetErrors::default(), now);
        let (reason, message) = (problem.reason, problem.message);
        return SetStep::Finish(SetConclusion { status, reason, message, wake: Requeue::Resync });
    }
    if !view.set.has_finalizer {
        match &progress.claim {
            None => return SetStep::act(SetEffect::AddFinalizer),
            Some(Ok(())) => {}
            Some(Err(error)) => {
                let message = format!("failed to put the finalizer on the set: {error}");
                return stopped(view, progress, SetReason::ClaimFailed, message, retry_write(error), now);
            }
        }
    }
    if view.freshness == Freshness::InDoubt {
        match &progress.listing {
            None => return SetStep::act(SetEffect::ListMachines),
            Some(Ok(_)) => {}
            Some(Err(error)) => return unlisted(view, progress, error, now),
        }
    }
    let mut errors = SetErrors::default();
    match effects(view, progress, &mut errors, now) {
        Some(effects) => SetStep::Act(effects),
        None => SetStep::Finish(end(view, progress, &errors, now)),
    }
}

/// Returns the effects of the first task that has any. An error of one task does not block the others, except that no
/// Machine is created or deleted while the owners of Machines are unknown.
fn effects(
    view: &SetView,
    progress: &SetProgress,
    errors: &mut SetErrors,
    now: Timestamp,
) -> Option<Vec<SetEffect>> {
    create::unseen(view, progress, errors)
        .or_else(|| adoption::next(view, progress, errors))
        .or_else(|| keep::next(view, progress, errors))
        .or_else(|| sync::next(view, progress, errors))
        .or_else(|| written(view, progress, errors, now))
        .or_else(|| choose::next(view, progress, errors, now))
        .or_else(|| create::next(view, progress, errors, now))
}

fn written(
    view: &SetView,
    progress: &SetProgress,
    errors: &mut SetErrors,
    now: Timestamp,
) -> Option<Vec<SetEffect>> {
    match &progress.write_set {
        None => overshoot::change(view, progress, now).map(|change| vec![SetEffect::WriteSet(change)]),
        Some(Ok(())) => None,
        Some(Err(error)) => {
            errors.write("write labels and annotations of the set", error);
            None
        }
    }
}

/// Ends a reconcile whose list failed while the caches may be behind: nothing is counted.
pub(super) fn unlisted(view: &SetView, progress: &SetProgress, error: &ActError, now: Timestamp) -> SetStep {
    let message = format!("failed to list the Machines of the set: {error}");
    stopped(view, progress, SetReason::WriteFailed, message, retry_write(error), now)
}

/// Nothing could be done.
fn stopped(
    view: &SetView,
    progress: &SetProgress,
    reason: SetReason,
    message: String,
    wake: Requeue,
    now: Timestamp,
) -> SetStep {
    let status =
        SetStatus { observed_generation: None, ..status::of(view, progress, &SetErrors::default(), now) };
    SetStep::Finish(SetConclusion { status, reason, message, wake })
}

fn end(view: &SetView, progress: &SetProgress, errors: &SetErrors, now: Timestamp) -> SetConclusion {
    let status = status::of(view, progress, errors, now);
    if let Some(error) = errors.worst() {
        let (reason, message) = (error.reason, error.message.clone());
        return SetConclusion { status, reason, message, wake: error.wake };
    }
    let (reason, message) = reason_without_errors(view, progress, &status, now);
    let wake = after(progress).unwrap_or_else(|| next_look(view, progress, now));
    SetConclusion { status, reason, message, wake }
}

/// Returns the requeue after writes. It is immediate only if a version shows when the caches have the writes; objects
/// that no longer existed have none, and are checked again after a pause.
pub(super) fn after(progress: &SetProgress) -> Option<Requeue> {
    if progress.has_written() {
        return Some(Requeue::Now);
    }
    progress.has_met_gone().then_some(Requeue::retry(RetryPolicy::CONFLICT))
}

/// Returns reason and message of a reconcile without errors. Without numbers, which the status has, so that it is
/// reported once.
fn reason_without_errors(
    view: &SetView,
    progress: &SetProgress,
    status: &SetStatus,
    now: Timestamp,
) -> (SetReason, String) {
    let missing = create::missing(view, progress);
    let leaving = choose::plan(view, progress, now).len();
    if let Gate::Frozen { since, reason } = view.gate
        && missing + leaving > 0
    {
        let since = since.round(jiff::Unit::Second).unwrap_or(since);
        let message =
            format!("Machines are neither created nor deleted since {since}: {}", reason.sentence());
        return (SetReason::GateFrozen, message);
    }
    if missing > 0 && overshoot::holds_creation(view, progress) {
        let message = match overshoot::condition(view, progress) {
            Some(condition) => condition.message,
            None => format!(
                "Machines are missing and the label {} of the set holds creation: remove it",
                view.names.freeze
            ),
        };
        return (SetReason::Frozen, message);
    }
    if missing > 0 && view.set.is_scale_up_disabled {
        let message =
            "Machines are missing and none is created while Machines of the set are updated in place";
        return (SetReason::ScaleUpDisabled, message.to_owned());
    }
    if missing > 0 {
        return (SetReason::Creating, "missing Machines are being created".to_owned());
    }
    if leaving > 0 {
        return (SetReason::Removing, "Machines that are not needed any more are being deleted".to_owned());
    }
    if let Some(machine) = members::unreadable(view, progress).first() {
        let message = format!(
            "Machines such as {} cannot be decoded: they count and are left alone; correct or delete them",
            machine.name
        );
        return (SetReason::UnreadableMachine, message);
    }
    let living = members::living(view, progress);
    let is_held = |machine: &&&ChildFact| {
        choose::is_given_up(machine, progress, now) && !choose::is_deletion_permitted(view, machine)
    };
    if let Some(machine) = living.iter().find(is_held) {
        let message = format!(
            "failed Machines such as {} go when their deployment lets them: its condition Ready says what it waits for",
            machine.name
        );
        return (SetReason::WaitingForDeployment, message);
    }
    let living = living.len();
    if status.available < living {
        return (
            SetReason::Waiting,
            "the Machines are there; those that are not available are waited for".to_owned(),
        );
    }
    if let Some(problem) = capacity::problem(view) {
        return (SetReason::InvalidOption, problem);
    }
    (SetReason::AllAvailable, "all Machines that are wanted are available".to_owned())
}

/// Returns the requeue by time: changes of Machines requeue their set, passing time does not.
fn next_look(view: &SetView, progress: &SetProgress, now: Timestamp) -> Requeue {
    let ends = members::living(view, progress).into_iter().filter_map(|machine| machine.preserved_until);
    let next = ends.filter(|until| *until > now).min();
    let next = next.map(|until| until.duration_since(now)).into_iter();
    next.chain(capacity::rest(view, progress, now)).min().map_or(Requeue::Resync, Requeue::After)
}
