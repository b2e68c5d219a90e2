//! Chooses the next step of a Machine: deletion, creation, or its life with a Node.

use jiff::{SignedDuration, Timestamp};

use crate::driver::InProgress;
use crate::driver::error::CallError;
use crate::driver::write_error::ActError;
use crate::scheduling::retry::{self, RetryPolicy};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::conclusion::{
    LastOperation, MachineConclusion, MachineCondition, MachineConditionKind, MachineReason, MachineStep,
    OperationNote, Requeue, StatusChange,
};
use super::creation::create;
use super::effect::MachineProgress;
use super::facts::{MachineFact, MachineView};
use super::join::policies;
use super::node::health::ConditionStatus;
use super::ownership::{conflict, mark, unproven};
use super::{delete, join};

/// The retry of a failed write to an API server: soon, since most of these pass, and at most a minute apart, since
/// nothing announces the server's return.
const WRITE: RetryPolicy =
    RetryPolicy { base: SignedDuration::from_secs(1), cap: SignedDuration::from_mins(1) };

/// The retry while another object must change first. Its change requeues the Machine at once; the timer is for changes
/// that cannot be watched.
pub(super) const PREREQUISITE: RetryPolicy = RetryPolicy::LONG;

/// Returns the next step for a Machine. Pure: the same arguments give the same step.
pub fn step(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let machine = &view.machine;
    let step = if machine.deletion.is_some() {
        delete::step(view, progress, now)
    } else if is_being_created(machine) {
        match mark::forbids_creation(view) {
            Some(message) => MachineStep::Finish(mark::waiting(message)),
            None => {
                let step = create::step(view, progress, now);
                conflict::guarded(view, join::preserve::in_creation(view, step, now))
            }
        }
    } else {
        let step = conflict::guarded(view, policies::step(view, progress, now));
        mark::guarded(view, unproven::guarded(view, progress, step))
    };
    let step = conflict::reported(view, mark::held_elsewhere(view, step));
    with_condition(step, || valid_condition(view))
}

/// Returns whether the Machine is being created, which it is until a reconcile has published the result. A failed one
/// is not created again: it is replaced.
fn is_being_created(machine: &MachineFact) -> bool {
    match machine.phase {
        Phase::New | Phase::CrashLoopBackOff => true,
        Phase::Failed => false,
        Phase::Pending
        | Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::Unknown
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => machine.provider_id.is_none(),
    }
}

/// Ends a reconcile without a change of the status.
pub(super) fn rest(reason: MachineReason, message: impl Into<String>, wake: Requeue) -> MachineStep {
    conclude(StatusChange::default(), reason, message, wake)
}

/// Ends a reconcile with a change of the status.
pub(super) fn conclude(
    status: StatusChange,
    reason: MachineReason,
    message: impl Into<String>,
    wake: Requeue,
) -> MachineStep {
    MachineStep::Finish(MachineConclusion { status, reason, message: message.into(), wake })
}

/// Ends a reconcile after a failed write to an API server.
pub(super) fn write_failed(reason: MachineReason, what: &str, error: &ActError) -> MachineStep {
    rest(reason, format!("failed to {what}: {error}"), retry_write(error))
}

/// Returns the requeue after a failed write.
pub fn retry_write(error: &ActError) -> Requeue {
    match error {
        // The caches are behind: the watch delivers the change within moments.
        ActError::Conflict | ActError::Gone => Requeue::retry(RetryPolicy::CONFLICT),
        ActError::Throttled { after } => Requeue::Retry { policy: WRITE, hint: *after },
        // A write that the server refuses is refused until somebody changes the object.
        ActError::Invalid { .. } => Requeue::retry(PREREQUISITE),
        ActError::Denied { .. }
        | ActError::Unreachable { .. }
        | ActError::Ambiguous { .. }
        | ActError::Forbidden { .. } => Requeue::retry(WRITE),
    }
}

/// Returns the requeue that a driver asks for: never at once, which would loop, and never later than the longest
/// retry-after.
pub(super) fn ask_again(work: &InProgress) -> Requeue {
    Requeue::After(work.ask_again.clamp(SignedDuration::from_secs(1), retry::MAX_RETRY_AFTER))
}

/// Returns the requeue after a failed call of the driver.
pub(super) fn retry_call(view: &MachineView, situation: retry::Situation, error: &CallError) -> Requeue {
    // A VM that must be deleted costs money until it is, and nothing may announce the fix.
    let may_wait = matches!(situation, retry::Situation::Create | retry::Situation::Initialize);
    let policy = if error.is_terminal() && may_wait {
        RetryPolicy::TERMINAL
    } else {
        retry::policy(situation, error.code(), view.settings.resource_exhausted_retry)
    };
    Requeue::Retry { policy, hint: error.retry_after() }
}

/// Returns the reason of a failed call of the driver: three kinds of failure, never mixed.
pub(super) fn reason_of(error: &CallError, guest: MachineReason) -> MachineReason {
    match error {
        CallError::Guest(_) => guest,
        CallError::Broken(_) => MachineReason::DriverBroken,
        CallError::Refused(_) => MachineReason::DriverNotReady,
    }
}

/// An operation without a code.
pub(super) fn operation(
    kind: OperationType,
    state: OperationState,
    note: OperationNote,
) -> Option<LastOperation> {
    Some(LastOperation { kind, state, note, code: None })
}

/// Adds a condition to the end of a reconcile, unless the Machine is gone.
pub(super) fn with_condition(
    step: MachineStep,
    condition: impl FnOnce() -> Option<MachineCondition>,
) -> MachineStep {
    let MachineStep::Finish(mut conclusion) = step else { return step };
    if conclusion.wake != Requeue::Gone {
        conclusion.status.conditions.extend(condition());
    }
    MachineStep::Finish(conclusion)
}

/// Returns condition `Valid`, if there is a problem with the settings to report or to clear.
fn valid_condition(view: &MachineView) -> Option<MachineCondition> {
    let machine = &view.machine;
    let kind = MachineConditionKind::Valid;
    if machine.validation_problems.is_empty() {
        let message = "all settings can be understood".to_owned();
        let is_fixed =
            MachineCondition { kind, status: ConditionStatus::True, reason: "Understood", message };
        return machine.problems_reported.then_some(is_fixed);
    }
    let message = format!(
        "{}: fix it; until then the next setting in line or the flag's counts",
        machine.validation_problems.join("; ")
    );
    Some(MachineCondition { kind, status: ConditionStatus::False, reason: "NotUnderstood", message })
}
