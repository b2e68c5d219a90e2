//! Events about a set.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::names;
use machinist_core::machine::{Requeue, Severity};
use machinist_core::machine_set::{
    DeleteReason, SetConclusion, SetCondition, SetConditionKind, SetEffect, SetOutcome, SetReason,
};

use crate::controllers::objects::conditions::{MESSAGE_BYTES, READY};
use crate::events::{About, Event};
use crate::metrics::{Milestone, Pool};

use crate::controllers::facts::machine_set::observe::ObservedSet;

/// So many Machines are named; the others are counted.
const NAMED: usize = 3;

/// The actions of a reconcile.
#[derive(Default)]
pub(super) struct Actions {
    made: Vec<String>,
    deleted: Vec<String>,
    /// Of these, because they had been unhealthy for too long.
    stale: usize,
    freeze: Option<bool>,
}

impl Actions {
    /// Remembers an effect that users see.
    pub(super) fn note(&mut self, effect: &SetEffect, outcome: &SetOutcome) {
        match (effect, outcome) {
            (SetEffect::Create { name, .. }, SetOutcome::Create(_, _, Ok(()))) => {
                self.made.push(name.to_string());
            }
            (SetEffect::Delete(machine, why), SetOutcome::Delete(_, _, Ok(()))) => {
                self.deleted.push(machine.name.to_string());
                self.stale += usize::from(*why == DeleteReason::Unhealthy);
            }
            (SetEffect::WriteSet(change), SetOutcome::WriteSet(Ok(()))) => {
                if let Some(label) = change.labels.get(names::labels::FREEZE) {
                    self.freeze = Some(label.is_some());
                }
            }
            _ => {}
        }
    }

    /// Returns the counted actions.
    pub(super) fn counted(&self, conclusion: &SetConclusion) -> Vec<(Option<Pool>, Milestone)> {
        let frozen = condition(conclusion, SetConditionKind::Frozen);
        let freeze = self.freeze.map(|freezes| match (freezes, frozen) {
            (true, frozen) => Milestone::SetFrozen(frozen.map_or("", |condition| condition.reason)),
            (false, _) => Milestone::SetThawed,
        });
        let stale = std::iter::repeat_n(Milestone::StaleDeleted, self.stale);
        stale.chain(freeze).map(|milestone| (None, milestone)).collect()
    }

    /// One Event for all Machines that were made, one for all that were deleted, one when the freeze changed.
    pub(super) fn into_events(self, observed: &ObservedSet, conclusion: &SetConclusion) -> Vec<Event> {
        let about = || About::of("MachineSet", &observed.set.metadata);
        let counted = |reason: &'static str, done: &str, machines: &[String]| {
            (!machines.is_empty()).then(|| Event {
                is_action: true,
                ..Event::normal(about(), reason, reason, format!("{done} {}", list(machines)))
            })
        };
        let made = counted(names::events::SUCCESSFUL_CREATE, "created", &self.made);
        let deleted = counted(names::events::SUCCESSFUL_DELETE, "deleted", &self.deleted);
        let freeze = self.freeze.map(|freezes| {
            let frozen = condition(conclusion, SetConditionKind::Frozen);
            let (reason, message) = if freezes {
                let message = frozen.map(|condition| condition.message.clone()).unwrap_or_default();
                (names::events::FROZE_SET, message)
            } else {
                (names::events::UNFROZE_SET, "Machines are created again".to_owned())
            };
            Event { is_action: true, ..Event::normal(about(), "freeze", reason, message) }
        });
        [made, deleted, freeze].into_iter().flatten().collect()
    }
}

/// `3 Machines: a, b, c`.
fn list(machines: &[String]) -> String {
    let named = machines.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match machines.len() {
        1 => format!("Machine {named}"),
        count if count > NAMED => format!("{count} Machines, {named} and others"),
        count => format!("{count} Machines, {named}"),
    }
}

/// Why the set is as it is, and which of its conditions have changed.
pub(super) fn of_conclusion(observed: &ObservedSet, conclusion: &SetConclusion) -> Vec<Event> {
    let about = || About::of("MachineSet", &observed.set.metadata);
    let stored = stored(observed, READY);
    let reason = conclusion.reason.as_str();
    let message = crate::events::clip(&conclusion.message, MESSAGE_BYTES);
    let has_reason = stored.is_some_and(|stored| stored.reason == reason);
    let mut events = vec![Event {
        severity: conclusion.reason.severity(),
        repeats: matches!(conclusion.wake, Requeue::Retry { .. }),
        is_known: has_reason && stored.is_some_and(|stored| stored.message == message),
        is_implied: is_in_between(conclusion.reason),
        ..Event::normal(about(), "state", reason, conclusion.message.clone())
    }];
    let failure = condition(conclusion, SetConditionKind::ReplicaFailure);
    // By the names that others count; the state says the same.
    events.extend(failure.map(|failure| Event {
        severity: Severity::Warning,
        repeats: true,
        ..Event::normal(about(), "failure", failure.reason, failure.message.clone())
    }));
    for condition in &conclusion.status.own_conditions {
        let before = self::stored(observed, condition.kind.as_str());
        let status = condition.status.to_string();
        if before.is_none_or(|before| before.status != status || before.message != condition.message) {
            let severity =
                if condition.status == condition.kind.bad() { Severity::Warning } else { Severity::Normal };
            let event =
                Event::normal(about(), condition.kind.as_str(), condition.reason, condition.message.clone());
            events.push(Event { severity, ..event });
        }
    }
    events
}

/// Steps of what goes on. The Machines that are created and deleted have Events of their own, and conditions say the
/// rest.
fn is_in_between(reason: SetReason) -> bool {
    match reason {
        SetReason::Creating
        | SetReason::Removing
        | SetReason::Waiting
        | SetReason::WaitingForDeployment
        | SetReason::CachesBehind
        | SetReason::AllAvailable
        | SetReason::Deleting
        | SetReason::Deleted => true,
        SetReason::InvalidSet
        | SetReason::ClassNotNamed
        | SetReason::SelectsEverything
        | SetReason::SelectorMismatch
        | SetReason::CreationFailed
        | SetReason::DeletionFailed
        | SetReason::ClaimFailed
        | SetReason::FinalizerHeld
        | SetReason::WriteFailed
        | SetReason::GateFrozen
        | SetReason::InvalidOption
        | SetReason::UnreadableMachine
        | SetReason::Frozen
        | SetReason::ScaleUpDisabled
        | SetReason::Orphaning => false,
    }
}

fn condition(conclusion: &SetConclusion, kind: SetConditionKind) -> Option<&SetCondition> {
    conclusion.status.conditions.iter().find(|condition| condition.kind == kind)
}

fn stored<'a>(observed: &'a ObservedSet, kind: &str) -> Option<&'a Condition> {
    let own = observed.set.status.as_ref()?.machinist.as_ref()?;
    own.conditions.iter().find(|condition| condition.type_ == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_and_all_are_counted() {
        let of = |names: &[&str]| list(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["a"]), "Machine a");
        assert_eq!(of(&["a", "b", "c"]), "3 Machines, a, b, c");
        assert_eq!(of(&["a", "b", "c", "d"]), "4 Machines, a, b, c and others");
    }
}
