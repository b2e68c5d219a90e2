//! Events about a deployment: actions, and changes of its state.

use machinist_core::machine::Requeue;
use machinist_core::machine_deployment::{DeploymentConclusion, DeploymentEvent, DeploymentReason};

use crate::controllers::objects::conditions::{MESSAGE_BYTES, READY};
use crate::events::{About, Event};

use crate::controllers::facts::machine_deployment::observe::ObservedDeployment;

pub(super) fn of_conclusion(observed: &ObservedDeployment, conclusion: &DeploymentConclusion) -> Vec<Event> {
    let about = || About::of("MachineDeployment", &observed.deployment.metadata);
    let action_event = |note: &DeploymentEvent| Event {
        severity: note.kind.severity(),
        is_action: true,
        ..Event::normal(about(), "deed", note.kind.as_str(), note.message.clone())
    };
    let mut events: Vec<Event> = conclusion.notes.iter().map(action_event).collect();
    events.push(state(observed, conclusion, about()));
    events
}

fn state(observed: &ObservedDeployment, conclusion: &DeploymentConclusion, about: About) -> Event {
    let status = observed.deployment.status.as_ref();
    let own = status.and_then(|status| status.machinist.as_ref());
    let stored = own.and_then(|own| own.conditions.iter().find(|condition| condition.type_ == READY));
    let reason = conclusion.reason.as_str();
    let message = crate::events::clip(&conclusion.message, MESSAGE_BYTES);
    Event {
        severity: conclusion.reason.severity(),
        repeats: matches!(conclusion.wake, Requeue::Retry { .. }),
        is_known: stored.is_some_and(|stored| stored.reason == reason && stored.message == message),
        is_implied: is_in_between(conclusion.reason),
        ..Event::normal(about, "state", reason, conclusion.message.clone())
    }
}

/// Steps of what goes on. A rollout takes hundreds, and each that changes something has an Event of its own.
fn is_in_between(reason: DeploymentReason) -> bool {
    match reason {
        DeploymentReason::UnderWay
        | DeploymentReason::WaitingForSet
        | DeploymentReason::WaitingForDeletion
        | DeploymentReason::WaitingForMachines
        | DeploymentReason::UpdatingInPlace
        | DeploymentReason::SetNameTaken
        | DeploymentReason::Deleted => true,
        DeploymentReason::InvalidDeployment
        | DeploymentReason::SelectingAll
        | DeploymentReason::Frozen
        | DeploymentReason::UnreadableSet
        | DeploymentReason::SetFrozen
        | DeploymentReason::WriteFailed
        | DeploymentReason::SetCreateFailed
        | DeploymentReason::WaitingForSelection
        | DeploymentReason::Paused
        | DeploymentReason::WaitingForWindow
        | DeploymentReason::WaitingForBudget
        | DeploymentReason::Replacing
        | DeploymentReason::InvalidOption
        | DeploymentReason::ProgressDeadlineExceeded
        | DeploymentReason::Complete
        | DeploymentReason::Deleting => false,
    }
}
