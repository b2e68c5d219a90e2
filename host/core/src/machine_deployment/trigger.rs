//! Machines that the autoscaler wants to delete: a list in an annotation of the deployment.
//!
//! The autoscaler lowers the number of Machines and appends to the list in one write. Each Machine of the list is
//! marked before any set is scaled down, so that no other one is deleted instead. While the cache does not show one of
//! them, no set is scaled down, for as long as its entry is kept.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::machine::summary::FIRST_PRIORITY;
use crate::value::id::Name;
use crate::value::phase::Phase;

use super::effect::{DeploymentEffect, MachineChange};
use super::facts::{DeploymentView, OwnedMachineFact, SetOwner};

/// How long an entry may name a missing Machine: a watch may be behind.
const UNSEEN: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trigger {
    /// Marks that Machines lack.
    pub marks: Vec<DeploymentEffect>,
    /// The new annotation, if it differs: `Some(None)` is none.
    pub annotation: Option<Option<String>>,
    /// The entries that are dropped without being applied, and why.
    pub dropped: Vec<String>,
    /// Machines of the list that the cache does not show yet.
    pub unseen: Vec<Name>,
    /// When an entry of a missing Machine will be dropped.
    pub retry_after: Option<SignedDuration>,
}

pub(super) fn read(view: &DeploymentView, now: Timestamp) -> Trigger {
    let annotations = &view.deployment.annotations;
    let Some(list) = annotations.get(view.names.trigger_deletion) else { return Trigger::default() };
    let lowered = annotations.get(view.names.replica_change_time).and_then(|text| text.parse().ok());
    let owned = view.sets.iter().filter(|set| set.owner == SetOwner::This);
    let machines: BTreeMap<&str, &OwnedMachineFact> =
        owned.flat_map(|set| &set.machines).map(|machine| (machine.name.as_str(), machine)).collect();
    let mut trigger = Trigger::default();
    let mut kept: Vec<String> = Vec::new();
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (name, at, text) = match entry.split_once('~') {
            None => {
                let at = lowered.unwrap_or(now);
                (entry, Some(at), format!("{entry}~{}", whole_seconds(at)))
            }
            Some((name, at)) => (name, at.parse::<Timestamp>().ok(), entry.to_owned()),
        };
        let Some(at) = at else {
            trigger.dropped.push(format!("{entry:?} has no time that can be read"));
            continue;
        };
        match machines.get(name) {
            None => match unseen_for(at, now) {
                None => {
                    trigger.dropped.push(format!("{name:?} is no Machine of this deployment"));
                    continue;
                }
                left => {
                    trigger.unseen.push(Name::new(name));
                    trigger.retry_after = trigger.retry_after.min(left).or(left);
                }
            },
            Some(machine) if machine.is_terminating() || machine.phase == Phase::Failed => continue,
            // Its set does not delete it, and it stays on the list until it can be decoded.
            Some(machine) if machine.is_unreadable => {}
            Some(machine) => {
                let mark = mark(machine, at).filter(|mark| !trigger.marks.contains(mark));
                trigger.marks.extend(mark);
            }
        }
        kept.push(text);
    }
    let annotation = kept.join(",");
    if annotation != *list {
        trigger.annotation = Some(Some(annotation).filter(|list| !list.is_empty()));
    }
    trigger
}

fn mark(machine: &OwnedMachineFact, at: Timestamp) -> Option<DeploymentEffect> {
    let is_marked = machine.priority <= FIRST_PRIORITY && machine.marked_at.is_some();
    let at = machine.marked_at.is_none().then_some(at);
    (!is_marked).then(|| DeploymentEffect::WriteMachine {
        machine: machine.into(),
        change: MachineChange::Mark { at },
    })
}

/// Returns how long an entry of a missing Machine still stays. `None` when its time is long past, or far ahead.
fn unseen_for(at: Timestamp, now: Timestamp) -> Option<SignedDuration> {
    let age = now.duration_since(at);
    (age.abs() < UNSEEN).then(|| UNSEEN.saturating_sub(age))
}

/// Rounds to whole seconds, as stored times have them.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
