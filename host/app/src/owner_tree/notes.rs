//! Notes about an object that needs attention: from Machinist's conditions, else from those of
//! machine-controller-manager.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::names::conditions;
use machinist_api::{Machine, MachineDeployment, MachineSet, Word};
use machinist_core::machine_deployment::words;
use machinist_core::machine_set::SetOwnConditionKind;
use machinist_core::value::phase::OperationState;
use serde::Serialize;

/// A condition that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Note {
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Timestamp>,
}

/// Our condition on every object.
const READY: &str = "Ready";

fn note(reason: Option<&str>, message: Option<&str>, since: Option<Timestamp>) -> Note {
    let text = |text: Option<&str>| text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    Note { reason: text(reason), message: text(message), since }
}

impl Note {
    pub(super) fn of(condition: &Condition) -> Self {
        note(Some(&condition.reason), Some(&condition.message), Some(condition.last_transition_time.0))
    }
}

/// Notes from Machinist's conditions; `None` without a condition Ready.
fn own(conditions: &[Condition]) -> Option<Vec<Note>> {
    let is_shown = |condition: &&Condition| {
        (condition.type_ == READY && condition.status != "True")
            || (condition.type_ == SetOwnConditionKind::Overlapping.as_str() && condition.status == "True")
    };
    let has_ready = conditions.iter().any(|condition| condition.type_ == READY);
    let shown = conditions.iter().filter(is_shown).map(Note::of);
    has_ready.then(|| shown.collect())
}

pub(crate) fn of_deployment(deployment: &MachineDeployment) -> Vec<Note> {
    let status = deployment.status.clone().unwrap_or_default();
    let ours = status.machinist.as_ref().and_then(|status| own(&status.conditions));
    ours.unwrap_or_else(|| {
        let is_shown = |kind: &str, status: &str, reason: &str| match kind {
            conditions::AVAILABLE => status != "True",
            conditions::PROGRESSING => reason != words::COMPLETE,
            conditions::REPLICA_FAILURE | conditions::FROZEN => status == "True",
            _ => false,
        };
        let shown = status.conditions.iter().filter(|condition| {
            is_shown(&condition.type_, &condition.status, condition.reason.as_deref().unwrap_or_default())
        });
        shown
            .map(|condition| {
                let since = condition.last_transition_time.as_ref().map(|time| time.0);
                note(condition.reason.as_deref(), condition.message.as_deref(), since)
            })
            .collect()
    })
}

pub(crate) fn of_set(set: &MachineSet) -> Vec<Note> {
    let status = set.status.clone().unwrap_or_default();
    let ours = status.machinist.as_ref().and_then(|status| own(&status.conditions));
    ours.unwrap_or_else(|| {
        let shown = status.conditions.iter().filter(|condition| condition.status == "True");
        shown
            .map(|condition| {
                let since = condition.last_transition_time.as_ref().map(|time| time.0);
                note(condition.reason.as_deref(), condition.message.as_deref(), since)
            })
            .collect()
    })
}

pub(crate) fn of_machine(machine: &Machine) -> Vec<Note> {
    let status = machine.status.clone().unwrap_or_default();
    let ours = status.machinist.as_ref().and_then(|status| own(&status.conditions));
    ours.unwrap_or_else(|| {
        let last = &status.last_operation;
        let is_good = last.state.as_ref().is_none_or(|state| *state == OperationState::Successful);
        if is_good {
            return Vec::new();
        }
        let word = |word: Option<&str>| word.unwrap_or_default().to_owned();
        let kind = word(last.type_.as_ref().map(Word::as_str));
        let state = word(last.state.as_ref().map(Word::as_str));
        let code = last.error_code.as_deref().map(|code| format!(" [{code}]")).unwrap_or_default();
        let since = last.last_update_time.as_ref().map(|time| time.0);
        vec![note(Some(&format!("{kind} {state}{code}")), last.description.as_deref(), since)]
    })
}
