//! Events about a MachinistMachine: its VM is stored, and changes of `Ready`.

use machinist_core::infra_machine::{InfraConclusion, InfraReason};
use machinist_core::machine::{MachineEffect, MachineOutcome, MachineReason, Requeue, Severity};

use crate::controllers::facts::infra_machine::observe::{ObservedInfraMachine, condition};
use crate::controllers::objects::conditions::{MESSAGE_BYTES, PAUSED, READY, is_same_text};
use crate::events::{About, Event, clip};

/// An effect that users see and that no condition shows. `is_found`: this reconcile has created no VM.
pub(super) fn of_action(
    observed: &ObservedInfraMachine,
    (effect, outcome): (&MachineEffect, &MachineOutcome),
    is_found: bool,
) -> Vec<Event> {
    let (MachineEffect::RecordVm { provider_id, .. }, MachineOutcome::RecordVm(Ok(()))) = (effect, outcome)
    else {
        return Vec::new();
    };
    let message = format!("VM {provider_id} is recorded");
    let mut events = vec![normal(observed, "VmRecorded", "VmRecorded", message)];
    if is_found && observed.view.data_changed.is_some() {
        let message = format!(
            "VM {provider_id} was made with bootstrap data that has changed since: if its Node does not join, delete the \
             Machine, and its owner replaces it"
        );
        let (topic, reason) = ("bootstrap-data", InfraReason::BootstrapDataChanged.as_str());
        events.push(Event { severity: Severity::Warning, ..normal(observed, topic, reason, message) });
    }
    events
}

/// Why the object is as it is.
pub(super) fn of_conclusion(observed: &ObservedInfraMachine, conclusion: &InfraConclusion) -> Vec<Event> {
    let kind = if conclusion.reason == InfraReason::Paused { PAUSED } else { READY };
    let stored = condition(&observed.machine, kind);
    let message = clip(&conclusion.message, MESSAGE_BYTES);
    let repeats = matches!(conclusion.wake, Requeue::Retry { .. });
    let is_known = stored.is_some_and(|stored| {
        stored.reason == conclusion.reason.as_str() && is_same_text(&stored.message, &message, repeats)
    });
    vec![Event {
        severity: conclusion.reason.severity(),
        repeats,
        is_known,
        is_implied: is_reported_elsewhere(conclusion),
        ..normal(observed, "state", conclusion.reason.as_str(), conclusion.message.clone())
    }]
}

/// That it is being deleted the object says itself, and that its VM is gone by being gone.
fn is_reported_elsewhere(conclusion: &InfraConclusion) -> bool {
    matches!(
        conclusion.reason,
        InfraReason::Machine(MachineReason::Deleting | MachineReason::Deleted)
            | InfraReason::InstanceRunning
            | InfraReason::InstancePending
    ) && !matches!(conclusion.wake, Requeue::Retry { .. })
}

fn normal(
    observed: &ObservedInfraMachine,
    topic: &'static str,
    reason: &'static str,
    message: String,
) -> Event {
    let about = About::of_infrastructure("MachinistMachine", &observed.machine.metadata);
    Event::normal(about, topic, reason, message)
}
