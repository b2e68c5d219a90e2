//! Events about a Machine: actions, and changes of its state.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::node::health::ConditionStatus;
use machinist_core::machine::{
    MachineConclusion, MachineCondition, MachineConditionKind, MachineEffect, MachineOutcome, MachineReason,
    Requeue, Severity,
};
use machinist_core::value::phase::Phase;

use crate::events::{About, Event};

use super::status_parts::{vm_change, vm_status};
use super::status_patch::repeats;
use crate::controllers::facts::machine::observe::ObservedMachine;
use crate::controllers::objects::conditions::{READY, is_same_text};

/// An effect that users see and that no condition shows.
pub(super) fn of_action(
    observed: &ObservedMachine,
    effect: &MachineEffect,
    outcome: &MachineOutcome,
) -> Option<Event> {
    let action = |reason, message| Some(normal(observed, reason, reason, message));
    if let (MachineEffect::RecordVm { provider_id, node_name, .. }, MachineOutcome::RecordVm(Ok(()))) =
        (effect, outcome)
    {
        let node = node_name.as_ref().map(|name| format!(", its Node will be {name}")).unwrap_or_default();
        return action("VmRecorded", format!("VM {provider_id} is recorded{node}"));
    }
    if let MachineOutcome::ForgetToken(Err(error @ ActError::Denied { .. })) = outcome {
        let message = format!("failed to delete the bootstrap token, which ends by itself: {error}");
        return Some(Event {
            severity: Severity::Warning,
            ..normal(observed, "token", "TokenKept", message)
        });
    }
    if let MachineOutcome::ExtendToken(Err(error @ ActError::Denied { .. })) = outcome {
        let message = format!(
            "failed to extend the bootstrap token, so that the Node has to join before it ends: {error}"
        );
        return Some(Event {
            severity: Severity::Warning,
            ..normal(observed, "token", "TokenNotExtended", message)
        });
    }
    if let MachineOutcome::DeleteMachine(Ok(())) = outcome {
        return action("NodeDeletionFollowed", "the Machine is deleted, since its Node is".to_owned());
    }
    None
}

/// Why the Machine is as it is, and which of its conditions have changed.
pub(super) fn of_conclusion(observed: &ObservedMachine, conclusion: &MachineConclusion) -> Vec<Event> {
    let stored = stored(observed, READY);
    let reason = conclusion.reason.as_str();
    let message =
        crate::events::clip(&conclusion.message, crate::controllers::objects::conditions::MESSAGE_BYTES);
    let repeats = repeats(observed, conclusion);
    let has_reason = stored.is_some_and(|stored| stored.reason == reason);
    let mut events = vec![Event {
        severity: conclusion.reason.severity(),
        repeats,
        is_known: has_reason && stored.is_some_and(|stored| is_same_text(&stored.message, &message, repeats)),
        is_implied: is_reported_elsewhere(conclusion),
        ..normal(observed, "state", reason, conclusion.message.clone())
    }];
    let phase = observed.view.machine.phase;
    if let Some(next) = conclusion.status.phase.filter(|next| *next != phase && has_reason) {
        // The reason is the same as before, so this is not reported otherwise.
        let message = format!("{} → {}: {}", word(phase), word(next), conclusion.message);
        events.push(normal(observed, "phase", "PhaseChanged", message));
    }
    if let Some(report) = &conclusion.status.vm {
        let own = observed.machine.status.as_ref().and_then(|status| status.machinist.as_ref());
        let change = vm_change(own.and_then(|own| own.vm.as_ref()), &vm_status(report));
        events.extend(change.map(|message| normal(observed, "vm", "VmChanged", message)));
    }
    let changed = conclusion.status.conditions.iter().filter(|condition| has_changed(observed, condition));
    events.extend(changed.map(|condition| {
        // The state's Event reports the same, so the condition does not repeat it.
        let is_implied = condition.reason == reason || is_implied(condition);
        Event { is_implied, ..of_condition(observed, condition) }
    }));
    events
}

/// That a Machine is being deleted it says itself, and that its VM is gone by being gone: its finalizer holds it until
/// then. Of a VM that is made its record tells, and the rest by the Node that comes or does not.
fn is_reported_elsewhere(conclusion: &MachineConclusion) -> bool {
    matches!(
        conclusion.reason,
        MachineReason::Deleting
            | MachineReason::Deleted
            | MachineReason::WaitingForNode
            | MachineReason::VmCreated
    ) && !matches!(conclusion.wake, Requeue::Retry { .. })
}

/// True for conditions whose change the Event of the state shows as well: the start of a drain, and its end, after
/// which the VM is removed.
fn is_implied(condition: &MachineCondition) -> bool {
    condition.kind == MachineConditionKind::Drained && matches!(condition.reason, "PodsLeaving" | "Drained")
}

fn of_condition(observed: &ObservedMachine, condition: &MachineCondition) -> Event {
    let is_bad = match condition.kind {
        MachineConditionKind::Healthy | MachineConditionKind::Valid | MachineConditionKind::VmPresent => {
            condition.status != ConditionStatus::True
        }
        MachineConditionKind::Contested => condition.status == ConditionStatus::True,
        MachineConditionKind::Drained
        | MachineConditionKind::InPlaceUpdated
        | MachineConditionKind::Preserved
        | MachineConditionKind::PolicyObserved => false,
    };
    Event {
        severity: if is_bad { Severity::Warning } else { Severity::Normal },
        // Messages count down and list remaining pods; an Event is only for a new status.
        same: Some(format!("{:?}", condition.status)),
        ..normal(observed, condition.kind.as_str(), condition.reason, condition.message.clone())
    }
}

fn has_changed(observed: &ObservedMachine, condition: &MachineCondition) -> bool {
    let status = condition.status.as_str();
    let stored = stored(observed, condition.kind.as_str());
    stored.is_none_or(|stored| stored.reason != condition.reason || stored.status != status)
}

fn stored<'a>(observed: &'a ObservedMachine, kind: &str) -> Option<&'a Condition> {
    let own = observed.machine.status.as_ref()?.machinist.as_ref()?;
    own.conditions.iter().find(|condition| condition.type_ == kind)
}

fn normal(observed: &ObservedMachine, topic: &'static str, reason: &'static str, message: String) -> Event {
    Event::normal(About::of("Machine", &observed.machine.metadata), topic, reason, message)
}

fn word(phase: Phase) -> &'static str {
    if phase == Phase::New { "Creating" } else { phase.as_str() }
}
