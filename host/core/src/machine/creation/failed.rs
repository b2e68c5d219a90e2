//! Failed creation, up to phase Failed.

use jiff::Timestamp;

use crate::driver::InProgress;
use crate::driver::error::{CallError, Code};
use crate::safety::thaw;
use crate::scheduling::retry::Situation;
use crate::value::duration;
use crate::value::phase::{OperationState, OperationType, Phase};

use crate::machine::conclusion::{
    LastOperation, MachineConclusion, MachineReason, MachineStep, OperationNote, Requeue, StatusChange,
    elapsed,
};
use crate::machine::facts::{MachineView, NodeFact, NodePresence, TargetFact};
use crate::machine::step::{ask_again, conclude, operation, reason_of, retry_call};

pub(crate) fn creation_failed(view: &MachineView, error: &CallError, now: Timestamp) -> MachineStep {
    let (reason, message) = reported(error, MachineReason::CreationFailed);
    let wake = retry_call(view, Situation::Create, error);
    failed_create(view, (reason, message), error, wake, now)
}

/// The same, with another reason and another requeue.
pub(crate) fn failed_create(
    view: &MachineView,
    (reason, message): (MachineReason, String),
    error: &CallError,
    wake: Requeue,
    now: Timestamp,
) -> MachineStep {
    let note = OperationNote::CreationFailed { error: error.to_string() };
    let step = failure(view, reason, note, message, Some(error.code()), wake);
    time_out(view, step, error, now)
}

/// Ends a reconcile whose query failed until a person fixes something. There may be a VM, so that no creation timeout
/// replaces the Machine.
pub(crate) fn query_refused(view: &MachineView, error: &CallError) -> MachineStep {
    let (reason, message) = reported(error, MachineReason::CreationFailed);
    let note = OperationNote::CreationFailed { error: error.to_string() };
    let wake = retry_call(view, Situation::Create, error);
    failure(view, reason, note, message, Some(error.code()), wake)
}

pub(crate) fn initialization_failed(view: &MachineView, error: &CallError, now: Timestamp) -> MachineStep {
    let (reason, message) = reported(error, MachineReason::InitializationFailed);
    let note = OperationNote::InitializationFailed { error: error.to_string() };
    let wake = retry_call(view, Situation::Initialize, error);
    let step = failure(view, reason, note, message, Some(error.code()), wake);
    time_out(view, step, error, now)
}

/// Returns reason and message of `Ready`. The text of `lastOperation` is the driver's alone.
fn reported(error: &CallError, guest: MachineReason) -> (MachineReason, String) {
    if error.is_terminal() {
        let advice = "no further try helps, says the driver, before somebody changes the class, its Secret or the Machine";
        return (reason_of(error, guest), format!("{error}; {advice}"));
    }
    (reason_of(error, guest), error.to_string())
}

/// Ends a reconcile that could not create, with the content of `lastOperation`.
pub(crate) fn failure(
    view: &MachineView,
    reason: MachineReason,
    note: OperationNote,
    message: String,
    code: Option<Code>,
    wake: Requeue,
) -> MachineStep {
    let phase = match view.machine.phase {
        Phase::New => Some(Phase::CrashLoopBackOff),
        Phase::CrashLoopBackOff
        | Phase::Pending
        | Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::Unknown
        | Phase::Failed
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => None,
    };
    MachineStep::Finish(MachineConclusion {
        status: StatusChange {
            phase,
            operation: Some(LastOperation {
                kind: OperationType::Create,
                state: OperationState::Failed,
                note,
                code,
            }),
            ..StatusChange::default()
        },
        reason,
        message,
        wake,
    })
}

/// Fails a Machine that the cloud does not create within its creation timeout, so that a set can replace it. Only
/// errors of the cloud count: a plugin that broke or is not served says nothing about the Machine, and its replacement
/// would have the same problem.
fn time_out(view: &MachineView, step: MachineStep, error: &CallError, now: Timestamp) -> MachineStep {
    let CallError::Guest(error) = error else { return step };
    let MachineStep::Finish(mut conclusion) = step else { return step };
    // The state to pass to the driver next time; the stored one stays when the driver returns none.
    conclusion.status.last_known_state.clone_from(&error.last_known_state);
    if is_too_late(view, now) {
        conclusion.status.phase = Some(Phase::Failed);
        conclusion.wake = Requeue::Resync;
    }
    MachineStep::Finish(conclusion)
}

/// Ends a reconcile whose create is in progress; the creation timeout ends that as well.
pub(crate) fn in_progress(view: &MachineView, work: &InProgress, now: Timestamp) -> MachineStep {
    let status =
        StatusChange { last_known_state: Some(work.resume_token.clone()), ..StatusChange::default() };
    if is_too_late(view, now) {
        let limit = view.settings.creation_timeout;
        let operation =
            operation(OperationType::Create, OperationState::Failed, OperationNote::JoinTimedOut { limit });
        return conclude(
            StatusChange { phase: Some(Phase::Failed), operation, ..status },
            MachineReason::JoinTimedOut,
            format!("{}, for longer than {}", work.message, duration::format(limit)),
            Requeue::Resync,
        );
    }
    let note = OperationNote::CloudWorking { message: work.message.clone() };
    MachineStep::Finish(MachineConclusion {
        status: StatusChange {
            operation: operation(OperationType::Create, OperationState::Processing, note),
            ..status
        },
        reason: MachineReason::CloudWorking,
        message: work.message.clone(),
        wake: ask_again(work),
    })
}

/// Returns whether the creation timeout is over. Only for a Machine that has not joined: one that did and lost its id
/// is judged by its health. A frozen gate is checked before creation, so that none fails while frozen, and the frozen
/// time does not count.
fn is_too_late(view: &MachineView, now: Timestamp) -> bool {
    let machine = &view.machine;
    matches!(machine.phase, Phase::New | Phase::CrashLoopBackOff | Phase::Pending)
        && !has_come(view)
        && elapsed(thaw::counts_from(machine.created, view.thawed_at), now) > view.settings.creation_timeout
}

/// Returns whether its Node is there and Ready: then it has a VM that works, whatever the cloud answers. It is in
/// service as soon as the cloud can be queried again, and must not be replaced because that took long.
fn has_come(view: &MachineView) -> bool {
    let is_ready = |node: &NodeFact| node.ready_since.is_some() && !node.is_deleting;
    match &view.target {
        TargetFact::Cluster(NodePresence::Present(node)) => {
            view.machine.provider_id.is_some() && is_ready(node)
        }
        TargetFact::Cluster(NodePresence::Absent | NodePresence::Foreign(_) | NodePresence::Contested(_))
        | TargetFact::None => false,
    }
}
