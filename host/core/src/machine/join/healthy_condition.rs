//! Condition `Healthy`: since when, why, and the action that follows.

use jiff::Timestamp;

use crate::health_policy::{Action, Health, Judge, Judgement};
use crate::machine::node::health::ConditionStatus;
use crate::value::phase::Phase;

use super::super::conclusion::{MachineConclusion, MachineCondition, MachineConditionKind, MachineReason};
use super::timers::clock;
use crate::machine::delete::hooks::whole_seconds;
use crate::machine::facts::{MachineFact, MachineView};

/// Adds condition `Healthy`, by the Node's health or its absence.
pub(super) fn healthy(
    view: &MachineView,
    has_node: bool,
    judgement: &Judgement,
    mut conclusion: MachineConclusion,
    now: Timestamp,
) -> MachineConclusion {
    let phase = conclusion.status.phase.unwrap_or(view.machine.phase);
    let is_new = phase != view.machine.phase;
    let since = if is_new { now } else { view.machine.phase_since.unwrap_or(now) };
    let health = has_node.then_some(&judgement.health);
    let then = |because: &str| follows(view, because, judgement, (phase, since), &conclusion, now);
    let reported = match (phase, health) {
        // Before a Node has joined, nothing can be healthy: `Ready` has the awaited change.
        (Phase::New | Phase::CrashLoopBackOff | Phase::Available, _) | (Phase::Pending, None) => None,
        (Phase::InPlaceUpdating, _) => {
            let message = "the Node is being updated in place: its health does not count".to_owned();
            Some((ConditionStatus::Unknown, "UpdatingInPlace", message))
        }
        (_, Some(Health::Healthy)) => {
            Some((ConditionStatus::True, "NodeHealthy", "the Node is healthy".to_owned()))
        }
        (_, Some(Health::Undecided { because })) => {
            Some((ConditionStatus::Unknown, "Undecided", format!("{because}: the Machine stays as it is")))
        }
        (_, Some(Health::Unhealthy { because, action: _ })) => {
            Some((ConditionStatus::False, "NodeUnhealthy", then(because)))
        }
        (_, None) => {
            let because = absent(&conclusion, &view.machine);
            let (status, reason) = match conclusion.reason {
                MachineReason::NodeContested => (ConditionStatus::Unknown, "NodeContested"),
                _ => (ConditionStatus::False, "NodeMissing"),
            };
            Some((status, reason, then(&because)))
        }
    };
    if let Some((status, reason, message)) = reported {
        let condition = MachineCondition { kind: MachineConditionKind::Healthy, status, reason, message };
        conclusion.status.conditions.push(condition);
    }
    conclusion
}

fn absent(conclusion: &MachineConclusion, machine: &MachineFact) -> String {
    match conclusion.reason {
        MachineReason::NodeNameTaken | MachineReason::NodeContested => conclusion.message.clone(),
        _ => {
            let name = machine.node_name.as_ref().map_or("(no name yet)", |name| name.as_str());
            format!("Node {name} is not there")
        }
    }
}

/// Returns the action that a policy wants for an unhealthy Machine, unless it is to fail in time.
fn policy_wants(judgement: &Judgement) -> Option<String> {
    let Judge::Policy(policy) = &judgement.judge else { return None };
    match &judgement.health {
        Health::Unhealthy { action: Action::Replace, .. } => None,
        Health::Unhealthy { action: Action::Reboot, .. } => {
            Some(format!("policy {policy} wants its VM rebooted"))
        }
        Health::Unhealthy { action: Action::None, .. } => {
            Some(format!("policy {policy} waits before anything is done"))
        }
        // The Node is gone: a policy can only block the failure.
        Health::Healthy | Health::Undecided { .. } => {
            Some(format!("policy {policy} holds, and the Machine is not failed meanwhile"))
        }
    }
}

/// Returns whether it would have failed in this reconcile.
fn is_held(conclusion: &MachineConclusion) -> bool {
    matches!(
        conclusion.reason,
        MachineReason::ReplacementHeld | MachineReason::ZoneHeld | MachineReason::Frozen
    )
}

/// Returns the problem, since when, and when the Machine fails because of it.
fn follows(
    view: &MachineView,
    because: &str,
    judgement: &Judgement,
    (phase, since): (Phase, Timestamp),
    conclusion: &MachineConclusion,
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
            let then = match (policy_wants(judgement), end) {
                (Some(request), _) => request,
                (None, _) if is_held(conclusion) => "failing it is held, see condition Ready".to_owned(),
                (None, Some(end)) => format!("the Machine fails at {end} unless it recovers"),
                (None, None) => {
                    "the Machine is never failed for it, since its health time-out is disabled".to_owned()
                }
            };
            format!("{because}, since {since_then}; {then}")
        }
        Phase::Pending if is_held(conclusion) => {
            format!("{because}; the Machine has not joined; failing it is held, see condition Ready")
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
