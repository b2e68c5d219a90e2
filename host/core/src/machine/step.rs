//! Which question a Machine raises: deletion, creation, or its life with a Node.

use jiff::{SignedDuration, Timestamp};

use crate::driver::InProgress;
use crate::driver::error::CallError;
use crate::driver::write_error::ActError;
use crate::scheduling::retry::{self, RetryPolicy};
use crate::value::phase::Phase;

use super::conclusion::{
    LastOperation, MachineConclusion, MachineReason, MachineStep, OperationNote, Requeue, StatusChange,
};
use super::creation::create;
use super::effect::MachineProgress;
use super::facts::{MachineFact, MachineView};
use super::join::policies;
use super::ownership::{conflict as contest, mark, unproven};
use super::{delete, join, problems as slips};

/// After a write to an API server that failed: soon, since most of these pass, and at most a minute apart, since the server's
/// return is not announced.
const WRITE: RetryPolicy =
    RetryPolicy { base: SignedDuration::from_secs(1), cap: SignedDuration::from_mins(1) };

/// While something outside must change first. Its change wakes the Machine at once; the timer is for what cannot be watched.
pub(super) const PREREQUISITE: RetryPolicy = RetryPolicy::LONG;

/// Decides what comes next for a Machine. Pure: the same arguments give the same answer.
pub fn step(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let machine = &view.machine;
    let step = if machine.deletion.is_some() {
        delete::step(view, progress, now)
    } else if is_being_created(machine) {
        match mark::forbids_creation(view) {
            Some(message) => MachineStep::Finish(mark::waiting(message)),
            None => {
                let step = create::step(view, progress, now);
                contest::guarded(view, join::preserve::in_creation(view, step, now))
            }
        }
    } else {
        let step = contest::guarded(view, policies::step(view, progress, now));
        mark::guarded(view, unproven::guarded(view, progress, step))
    };
    slips::told(view, contest::told(view, mark::held_elsewhere(view, step)))
}

/// A Machine is being created until a pass has published what came of it. A failed one is not made again: it is there to
/// be replaced.
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

/// The end of a pass that changes nothing in the status.
pub(super) fn rest(reason: MachineReason, message: impl Into<String>, wake: Requeue) -> MachineStep {
    MachineStep::Finish(MachineConclusion {
        status: StatusChange::default(),
        reason,
        message: message.into(),
        wake,
    })
}

/// The end of a pass that a write to an API server has failed.
pub(super) fn write_failed(reason: MachineReason, what: &str, error: &ActError) -> MachineStep {
    rest(reason, format!("failed to {what}: {error}"), retry_write(error))
}

/// How to come back after a write that failed.
pub(crate) fn retry_write(error: &ActError) -> Requeue {
    match error {
        // The caches are behind: the watch brings what is new within moments.
        ActError::Conflict | ActError::Gone => Requeue::Retry { policy: RetryPolicy::CONFLICT, hint: None },
        ActError::Throttled { after } => Requeue::Retry { policy: WRITE, hint: *after },
        // What the server refuses it refuses until somebody changes it.
        ActError::Invalid { .. } => Requeue::Retry { policy: PREREQUISITE, hint: None },
        ActError::Denied { .. }
        | ActError::Unreachable { .. }
        | ActError::Ambiguous { .. }
        | ActError::Forbidden { .. } => Requeue::Retry { policy: WRITE, hint: None },
    }
}

/// When a driver wants to be asked again: never at once, which would be without end, and never later than an object may
/// go unseen.
pub(super) fn ask_again(work: &InProgress) -> Requeue {
    Requeue::After(work.ask_again.clamp(SignedDuration::from_secs(1), retry::MAX_RETRY_AFTER))
}

/// How to come back after a failed call of the driver.
pub(super) fn retry_call(view: &MachineView, situation: retry::Situation, error: &CallError) -> Requeue {
    // A VM that is to go costs money until it does, and the mend may be one that nobody tells of.
    let is_patient = matches!(situation, retry::Situation::Create | retry::Situation::Initialize);
    let policy = if error.is_terminal() && is_patient {
        RetryPolicy::TERMINAL
    } else {
        retry::policy(situation, error.code(), view.settings.resource_exhausted_retry)
    };
    Requeue::Retry { policy, hint: error.retry_after() }
}

/// Which reason a failed call of the driver has: three kinds of failure, never mixed.
pub(super) fn reason_of(error: &CallError, guest: MachineReason) -> MachineReason {
    match error {
        CallError::Guest(_) => guest,
        CallError::Broken(_) => MachineReason::DriverBroken,
        CallError::Refused(_) => MachineReason::DriverNotReady,
    }
}

/// An operation without a code.
pub(super) fn operation(
    kind: crate::value::phase::OperationType,
    state: crate::value::phase::OperationState,
    note: OperationNote,
) -> Option<LastOperation> {
    Some(LastOperation { kind, state, note, code: None })
}
