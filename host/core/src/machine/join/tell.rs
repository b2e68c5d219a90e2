//! Condition `Healthy`: since when, why, and what follows when.

use jiff::Timestamp;

use crate::health::Status;
use crate::phase::Phase;
use crate::policy::Health;

use super::super::conclusion::{Conclusion, ConditionKind, OwnCondition, Reason};
use super::super::hooks::whole_seconds;
use super::super::view::{MachineFact, MachineView};
use super::timers::clock;

/// With what is to be said of the Node's health. `None`: there is no Node that could be judged.
pub(super) fn healthy(
    view: &MachineView,
    health: Option<&Health>,
    mut conclusion: Conclusion,
    now: Timestamp,
) -> Conclusion {
    let phase = conclusion.status.phase.unwrap_or(view.machine.phase);
    let is_new = phase != view.machine.phase;
    let since = if is_new { now } else { view.machine.phase_since.unwrap_or(now) };
    let told = match (phase, health) {
        // Before a Node has joined there is nothing that could be healthy: Ready says what is awaited.
        (Phase::New | Phase::CrashLoopBackOff | Phase::Available, _) | (Phase::Pending, None) => None,
        (Phase::InPlaceUpdating, _) => {
            let message = "the Node is being updated in place: its health does not count".to_owned();
            Some((Status::Unknown, "UpdatingInPlace", message))
        }
        (_, Some(Health::Healthy)) => Some((Status::True, "NodeHealthy", "the Node is healthy".to_owned())),
        (_, Some(Health::Undecided { because })) => {
            Some((Status::Unknown, "Undecided", format!("{because}: the Machine stays as it is")))
        }
        (_, Some(Health::Unhealthy { because, action: _ })) => {
            Some((Status::False, "NodeUnhealthy", follows(view, because, phase, since, &conclusion, now)))
        }
        (_, None) => {
            let because = absent(&conclusion, &view.machine);
            let (status, reason) = match conclusion.reason {
                Reason::NodeContested => (Status::Unknown, "NodeContested"),
                _ => (Status::False, "NodeMissing"),
            };
            Some((status, reason, follows(view, &because, phase, since, &conclusion, now)))
        }
    };
    if let Some((status, reason, message)) = told {
        let condition = OwnCondition { kind: ConditionKind::Healthy, status, reason, message };
        conclusion.status.conditions.push(condition);
    }
    conclusion
}

fn absent(conclusion: &Conclusion, machine: &MachineFact) -> String {
    match conclusion.reason {
        Reason::NodeNameTaken | Reason::NodeContested => conclusion.message.clone(),
        _ => {
            let name = machine.node_name.as_ref().map_or("(no name yet)", |name| name.as_str());
            format!("Node {name} is not there")
        }
    }
}

/// What is wrong, since when, and when the Machine fails because of it.
fn follows(
    view: &MachineView,
    because: &str,
    phase: Phase,
    since: Timestamp,
    conclusion: &Conclusion,
    now: Timestamp,
) -> String {
    let since_then = whole_seconds(since);
    let is_new = phase != view.machine.phase;
    match phase {
        Phase::Failed => format!("{because}; the Machine has failed, at {since_then}"),
        Phase::Unknown | Phase::InPlaceUpdateFailed => {
            let limit = view.settings.health_timeout;
            let end = if is_new {
                limit.and_then(|limit| since_then.checked_add(limit).ok())
            } else {
                clock(view, now).map(super::timers::Clock::end)
            };
            let then = match (end, conclusion.reason) {
                (_, Reason::ReplacementHeld | Reason::ZoneHeld | Reason::Frozen) => {
                    "failing it is held, see condition Ready".to_owned()
                }
                (Some(end), _) => format!("the Machine fails at {end} unless it recovers"),
                (None, _) => {
                    "the Machine is never failed for it, since its health time-out is disabled".to_owned()
                }
            };
            format!("{because}, since {since_then}; {then}")
        }
        Phase::Pending => {
            let end =
                clock(view, now).map_or_else(String::new, |clock| format!("; it fails at {}", clock.end()));
            format!("{because}; the Machine has not joined{end}")
        }
        Phase::New
        | Phase::CrashLoopBackOff
        | Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful => because.to_owned(),
    }
}
