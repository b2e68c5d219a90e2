//! What is to be said of an object that is not as it should be: our conditions where there are some, else those that
//! machine-controller-manager has too.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::names::conditions;
use machinist_api::{Machine, MachineDeployment, MachineSet, Word};
use machinist_core::machine_deployment::words;
use machinist_core::machine_set::SetOwnConditionKind;
use machinist_core::value::phase::OperationState;
use serde::Serialize;

/// One thing that is to be said.
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

/// What our conditions say; `None` where there are none.
fn own(conditions: &[Condition]) -> Option<Vec<Note>> {
    let is_told = |condition: &&Condition| {
        (condition.type_ == READY && condition.status != "True")
            || (condition.type_ == SetOwnConditionKind::Overlapping.as_str() && condition.status == "True")
    };
    let has_ready = conditions.iter().any(|condition| condition.type_ == READY);
    let told = conditions.iter().filter(is_told).map(|condition| {
        note(Some(&condition.reason), Some(&condition.message), Some(condition.last_transition_time.0))
    });
    has_ready.then(|| told.collect())
}

/// Of a deployment.
pub(crate) fn of_deployment(deployment: &MachineDeployment) -> Vec<Note> {
    let status = deployment.status.clone().unwrap_or_default();
    let ours = status.machinist.as_ref().and_then(|status| own(&status.conditions));
    ours.unwrap_or_else(|| {
        let is_told = |kind: &str, status: &str, reason: &str| match kind {
            conditions::AVAILABLE => status != "True",
            conditions::PROGRESSING => reason != words::COMPLETE,
            conditions::REPLICA_FAILURE | conditions::FROZEN => status == "True",
            _ => false,
        };
        let told = status.conditions.iter().filter(|condition| {
            is_told(&condition.type_, &condition.status, condition.reason.as_deref().unwrap_or_default())
        });
        told.map(|told| {
            let since = told.last_transition_time.as_ref().map(|time| time.0);
            note(told.reason.as_deref(), told.message.as_deref(), since)
        })
        .collect()
    })
}

/// Of a set.
pub(crate) fn of_set(set: &MachineSet) -> Vec<Note> {
    let status = set.status.clone().unwrap_or_default();
    let ours = status.machinist.as_ref().and_then(|status| own(&status.conditions));
    ours.unwrap_or_else(|| {
        let told = status.conditions.iter().filter(|condition| condition.status == "True");
        told.map(|told| {
            let since = told.last_transition_time.as_ref().map(|time| time.0);
            note(told.reason.as_deref(), told.message.as_deref(), since)
        })
        .collect()
    })
}

/// Of a Machine.
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
