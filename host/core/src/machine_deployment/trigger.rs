//! Machines that the autoscaler wants to go: a list in an annotation of the deployment.
//!
//! It lowers the number of Machines and appends to the list in one write. Each Machine of the list is marked before any
//! set is made smaller, so that no other one goes in its place. While one of them is not seen no set is made smaller
//! either, for as long as its entry is kept.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::machine_set::removal::ranking::FIRST_PRIORITY;
use crate::value::id::Name;
use crate::value::phase::Phase;

use super::effect::{DeploymentEffect, MachineChange};
use super::facts::{DeploymentView, OwnedMachineFact, SetOwner};

/// How long an entry may name a Machine that is not there: a watch may be behind.
const UNSEEN: SignedDuration = SignedDuration::from_mins(1);

/// What the list means.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trigger {
    /// Marks that Machines do not carry.
    pub marks: Vec<DeploymentEffect>,
    /// The annotation as it is to be, where that differs: `Some(None)` is none.
    pub annotation: Option<Option<String>>,
    /// What is taken off the list without having been heeded, and why.
    pub dropped: Vec<String>,
    /// Machines that the list names and that are not seen yet.
    pub unseen: Vec<Name>,
    /// When an entry of a Machine that is not there will be taken off.
    pub look_again: Option<SignedDuration>,
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
                    trigger.look_again = trigger.look_again.min(left).or(left);
                }
            },
            Some(machine) if machine.is_deleting || machine.phase == Phase::Failed => continue,
            // Its set leaves it alone, and it stays on the list until it can be read.
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

/// How long an entry still stays whose Machine is not there. Not at all when its time is long past, or far ahead.
fn unseen_for(at: Timestamp, now: Timestamp) -> Option<SignedDuration> {
    let age = now.duration_since(at);
    (age.abs() < UNSEEN).then(|| UNSEEN.saturating_sub(age))
}

/// As it is stored, and as others write it.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
