//! What a pass has to tell of its deployment: what it did, and that something else holds than before.

use machinist_core::machine::Wake;
use machinist_core::machine_deployment::{Conclusion, Note, Reason};

use crate::controllers::objects::conditions::{MESSAGE_BYTES, READY};
use crate::events::{About, Event};

use super::observe::ObservedDeployment;

/// Everything.
pub(super) fn of_conclusion(observed: &ObservedDeployment, conclusion: &Conclusion) -> Vec<Event> {
    let about = || About::of("MachineDeployment", &observed.deployment.metadata);
    let action_event = |note: &Note| Event {
        severity: note.kind.severity(),
        is_action: true,
        ..Event::normal(about(), "deed", note.kind.as_str(), note.message.clone())
    };
    let mut events: Vec<Event> = conclusion.notes.iter().map(action_event).collect();
    events.push(state(observed, conclusion, about()));
    events
}

fn state(observed: &ObservedDeployment, conclusion: &Conclusion, about: About) -> Event {
    let status = observed.deployment.status.as_ref();
    let own = status.and_then(|status| status.machinist.as_ref());
    let stored = own.and_then(|own| own.conditions.iter().find(|condition| condition.type_ == READY));
    let reason = conclusion.reason.as_str();
    let message = crate::events::clip(&conclusion.message, MESSAGE_BYTES);
    Event {
        severity: conclusion.reason.severity(),
        repeats: matches!(conclusion.wake, Wake::Retry { .. }),
        is_known: stored.is_some_and(|stored| stored.reason == reason && stored.message == message),
        is_implied: is_in_between(conclusion.reason),
        ..Event::normal(about, "state", reason, conclusion.message.clone())
    }
}

/// Steps of what goes on. A rollout takes hundreds, and each that changes something has an Event of its own.
fn is_in_between(reason: Reason) -> bool {
    match reason {
        Reason::UnderWay
        | Reason::WaitingForSet
        | Reason::WaitingForDeletion
        | Reason::WaitingForMachines
        | Reason::UpdatingInPlace
        | Reason::SetNameTaken
        | Reason::Deleted => true,
        Reason::InvalidDeployment
        | Reason::SelectingAll
        | Reason::Frozen
        | Reason::UnreadableSet
        | Reason::SetFrozen
        | Reason::WriteFailed
        | Reason::SetCreateFailed
        | Reason::WaitingForSelection
        | Reason::Paused
        | Reason::WaitingForWindow
        | Reason::WaitingForBudget
        | Reason::Replacing
        | Reason::InvalidOption
        | Reason::ProgressDeadlineExceeded
        | Reason::Complete
        | Reason::Deleting => false,
    }
}
