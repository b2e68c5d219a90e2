//! The clocks of a Machine that waits for its Node.

use jiff::{SignedDuration, Timestamp};

use crate::safety::thaw;
use crate::scheduling::gate::{EffectKind, permits};
use crate::value::duration;
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{MachineReason, MachineStep, OperationNote, Requeue, StatusChange, elapsed};
use super::super::effect::MachineProgress;
use super::super::step::{PREREQUISITE, conclude, operation, rest};
use super::permit::{self, HealthAction};
use crate::machine::delete::hooks::whole_seconds;
use crate::machine::facts::{MachineFact, MachineView};

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    since: Timestamp,
    limit: SignedDuration,
}

impl Clock {
    pub(super) fn end(self) -> Timestamp {
        whole_seconds(self.since.checked_add(self.limit).unwrap_or(Timestamp::MAX))
    }
}

/// Returns the timeout of a Machine in its phase; `None` where there is none or it is switched off. The time of an
/// outage of an API server does not count, since Nodes could not report.
pub(super) fn clock(view: &MachineView, now: Timestamp) -> Option<Clock> {
    let machine = &view.machine;
    let of_phase = machine.phase_since.unwrap_or(now);
    let (since, limit) = match machine.phase {
        // Creation that has just ended becomes Pending.
        Phase::New | Phase::CrashLoopBackOff | Phase::Pending => {
            (machine.created, Some(view.settings.creation_timeout))
        }
        Phase::Unknown | Phase::InPlaceUpdateFailed => (of_phase, view.settings.health_timeout),
        Phase::InPlaceUpdating => (of_phase, Some(view.settings.in_place_update_timeout)),
        Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::Failed
        | Phase::InPlaceUpdateSuccessful => return None,
    };
    Some(Clock { since: thaw::counts_from(since, view.thawed_at), limit: limit? })
}

/// Returns the text with the end of the time to join. Creation reports the same as the next reconcile, which then has
/// nothing to write.
pub(in crate::machine) fn waiting_for_node(view: &MachineView, name: &str, now: Timestamp) -> String {
    with_end(view, &format!("the VM is created, Node {name} has not joined yet"), now)
}

/// Returns the awaited change, and until when. Condition `Healthy` has it for Unknown.
fn with_end(view: &MachineView, what: &str, now: Timestamp) -> String {
    let end = clock(view, now).map(Clock::end);
    match (view.machine.phase, end) {
        (Phase::New | Phase::CrashLoopBackOff | Phase::Pending, Some(end)) => {
            format!("{what}: the Machine fails at {end}")
        }
        (Phase::InPlaceUpdating, Some(end)) => format!("{what}, until {end} at the latest"),
        (Phase::InPlaceUpdateFailed, Some(end)) => {
            format!("{what}: the Machine fails at {end} unless it succeeds after all")
        }
        (Phase::InPlaceUpdateFailed, None) => format!("{what}: the Machine is never failed for it"),
        (
            Phase::New
            | Phase::CrashLoopBackOff
            | Phase::Pending
            | Phase::Available
            | Phase::Running
            | Phase::Terminating
            | Phase::Unknown
            | Phase::Failed
            | Phase::InPlaceUpdating
            | Phase::InPlaceUpdateSuccessful,
            _,
        ) => what.to_owned(),
    }
}

/// A wait for the Node, with texts that read on their own.
pub(super) struct NodeWait<'a> {
    pub(super) reason: MachineReason,
    pub(super) what: String,
    /// The problem of the Node.
    pub(super) because: &'a str,
}

/// Reports until when the Machine waits, and ends its phase when the time is over.
pub(super) fn timed(
    view: &MachineView,
    progress: &MachineProgress,
    wait: &NodeWait<'_>,
    now: Timestamp,
) -> MachineStep {
    let Some(clock) = clock(view, now) else {
        return rest(wait.reason, with_end(view, &wait.what, now), Requeue::Resync);
    };
    let waited = elapsed(clock.since, now);
    if waited <= clock.limit {
        // One second more, so that the limit has passed when the reconcile comes.
        let wake = Requeue::After(clock.limit - waited + SignedDuration::from_secs(1));
        return rest(wait.reason, with_end(view, &wait.what, now), wake);
    }
    if !permits(view.gate, EffectKind::FailMachine) {
        let wake = Requeue::retry(PREREQUISITE);
        let held = match view.machine.phase {
            Phase::InPlaceUpdating => "its time is over, and saying that it has failed is held",
            Phase::New
            | Phase::Pending
            | Phase::Available
            | Phase::Running
            | Phase::Terminating
            | Phase::Unknown
            | Phase::Failed
            | Phase::CrashLoopBackOff
            | Phase::InPlaceUpdateSuccessful
            | Phase::InPlaceUpdateFailed => "failing it is held",
        };
        return rest(MachineReason::Frozen, format!("{}; {held}", wait.what), wake);
    }
    if view.machine.phase == Phase::InPlaceUpdating {
        return update_timed_out(clock.limit, wait);
    }
    let action = if view.machine.phase == Phase::Pending { HealthAction::GiveUp } else { HealthAction::Fail };
    if let Err(obstacle) = permit::obtained(view, progress, action, &wait.what) {
        return obstacle.into_step();
    }
    time_over(&view.machine, clock.limit, wait)
}

fn time_over(machine: &MachineFact, limit: SignedDuration, wait: &NodeWait<'_>) -> MachineStep {
    let (reason, kind, note) = if machine.phase == Phase::Pending {
        (MachineReason::JoinTimedOut, OperationType::Create, OperationNote::JoinTimedOut { limit })
    } else {
        let note = OperationNote::HealthTimedOut { limit, because: wait.because.to_owned() };
        (MachineReason::HealthTimedOut, OperationType::HealthCheck, note)
    };
    let status = StatusChange {
        phase: Some(Phase::Failed),
        timeout_active: Some(false),
        operation: operation(kind, OperationState::Failed, note),
        ..StatusChange::default()
    };
    conclude(
        status,
        reason,
        format!("{}, for longer than {}", wait.what, duration::format(limit)),
        Requeue::Resync,
    )
}

fn update_timed_out(limit: SignedDuration, wait: &NodeWait<'_>) -> MachineStep {
    let note = OperationNote::InPlaceUpdateTimedOut { limit };
    let status = StatusChange {
        phase: Some(Phase::InPlaceUpdateFailed),
        timeout_active: Some(true),
        operation: operation(OperationType::InPlaceUpdate, OperationState::Failed, note),
        ..StatusChange::default()
    };
    conclude(
        status,
        MachineReason::InPlaceUpdateFailed,
        format!("{}, for longer than {}", wait.what, duration::format(limit)),
        Requeue::Now,
    )
}

/// Restarts the health timeout after an outage. `None`: there was none.
pub(super) fn thawed(view: &MachineView) -> Option<MachineStep> {
    let machine = &view.machine;
    if !thaw::returns_to_running(machine.phase, machine.phase_since, view.gate, view.thawed_at) {
        return None;
    }
    let status = StatusChange {
        phase: Some(Phase::Running),
        timeout_active: Some(false),
        operation: operation(
            OperationType::HealthCheck,
            OperationState::Successful,
            OperationNote::HealthTimeoutReset,
        ),
        ..StatusChange::default()
    };
    let message = "an outage of an API server is over: the time that the Node may be unhealthy starts again";
    Some(conclude(status, MachineReason::HealthTimeoutReset, message, Requeue::Now))
}
