//! The clocks of a Machine that waits for its Node.

use jiff::{SignedDuration, Timestamp};

use crate::gate::{EffectKind, permits};
use crate::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{Conclusion, Note, Reason, StatusChange, Step, Wake, elapsed};
use super::super::step::{PREREQUISITE, operation, rest};
use super::super::view::{MachineFact, MachineView};

pub(super) fn timed(view: &MachineView, now: Timestamp, reason: Reason, message: String) -> Step {
    let because = message.clone();
    timed_because(view, now, reason, message, &because)
}

/// The clocks of Pending and Unknown. Says until when it waits, and fails the Machine when the time is over. `because` is
/// what speaks against the Node, in words that stand alone.
pub(super) fn timed_because(
    view: &MachineView,
    now: Timestamp,
    reason: Reason,
    message: String,
    because: &str,
) -> Step {
    let machine = &view.machine;
    let (from, limit) = match machine.phase {
        Phase::Pending => (machine.created, Some(view.settings.creation_timeout)),
        Phase::Unknown => (machine.phase_since.unwrap_or(now), view.settings.health_timeout),
        Phase::New
        | Phase::CrashLoopBackOff
        | Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::Failed
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => (now, None),
    };
    let Some(limit) = limit else { return rest(reason, message, Wake::Resync) };
    let waited = elapsed(from, now);
    if waited <= limit {
        // One second more, so that the clock has passed the limit when the pass comes.
        return rest(reason, message, Wake::After(limit - waited + SignedDuration::from_secs(1)));
    }
    if !permits(view.gate, EffectKind::FailMachine) {
        let wake = Wake::Retry { policy: PREREQUISITE, hint: None };
        return rest(Reason::Frozen, format!("{message}; failing it is held"), wake);
    }
    time_over(machine, limit, &message, because)
}

fn time_over(machine: &MachineFact, limit: SignedDuration, message: &str, because: &str) -> Step {
    let (reason, kind, note) = if machine.phase == Phase::Pending {
        (Reason::JoinTimedOut, OperationType::Create, Note::JoinTimedOut { limit })
    } else {
        let note = Note::HealthTimedOut { limit, because: because.to_owned() };
        (Reason::HealthTimedOut, OperationType::HealthCheck, note)
    };
    let status = StatusChange {
        phase: Some(Phase::Failed),
        timeout_active: Some(false),
        operation: operation(kind, OperationState::Failed, note),
        ..StatusChange::default()
    };
    Step::Finish(Conclusion {
        status,
        reason,
        message: format!("{message}, for longer than {}", crate::duration::format(limit)),
        wake: Wake::Resync,
    })
}
