//! The life of a Machine whose VM is there: its Node joins, carries what it should, and is healthy or not.
//!
//! One module a question: `upkeep` (what the Node is to carry), `health` (what its health makes of the Machine), `absent` (no
//! Node), `timers` (how long that may last).

mod absent;
mod health;
mod timers;
mod upkeep;

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::gate::{EffectKind, permits};
use crate::health::NodeConditionFact;
use crate::phase::Phase;

use super::conclusion::{Reason, StatusChange, Step, Wake};
use super::effect::{Effect, Progress};
use super::step::rest;
use super::view::{MachineFact, MachineView, NodeFact, NodePresence, TargetFact};

pub(super) fn step(view: &MachineView, progress: &Progress, now: Timestamp) -> Step {
    let machine = &view.machine;
    if machine.phase == Phase::Failed && machine.provider_id.is_none() {
        return rest(
            Reason::Failed,
            "creation failed for good: delete the Machine to try anew",
            Wake::Resync,
        );
    }
    match &view.target {
        TargetFact::None if machine.phase == Phase::Failed => {
            rest(Reason::Failed, "failed, and there is no cluster to recover in", Wake::Resync)
        }
        TargetFact::None => {
            rest(Reason::VmCreated, "the VM is created, and there is no cluster to join", Wake::Resync)
        }
        TargetFact::Cluster(NodePresence::Absent) => absent::without_node(view, None, now),
        TargetFact::Cluster(NodePresence::Foreign(id)) => absent::without_node(view, Some(id), now),
        TargetFact::Cluster(NodePresence::Present(node)) => with_node(view, node, progress, now),
    }
}

fn with_node(view: &MachineView, node: &NodeFact, progress: &Progress, now: Timestamp) -> Step {
    let is_writable = !node.is_deleting && permits(view.gate, EffectKind::NodeWrite);
    let difference = is_writable.then(|| upkeep::difference(view, node)).flatten();
    let judgement = health::judgement(view, node);
    let refused = match (difference, &progress.sync_node) {
        (Some(change), None) => {
            let sync = Effect::SyncNode { node: node.name.clone(), change };
            // The token is of no use once the Node has joined, so it goes together with the Node's first write.
            let joins = health::joins(view, node, &judgement);
            return Step::Act(if joins { vec![sync, Effect::ForgetToken] } else { vec![sync] });
        }
        (Some(_), Some(Err(error))) => Some(error),
        (Some(_), Some(Ok(()))) | (None, _) => None,
    };
    let judged = health::step(view, node, &judgement, progress, now);
    match refused {
        Some(error) => upkeep::out_of_line(judged, error),
        None => judged,
    }
}

/// True when a type came or went or a status changed. Heartbeats and the order of the list do not count.
pub fn conditions_differ(one: &[NodeConditionFact], other: &[NodeConditionFact]) -> bool {
    let set = |conditions: &[NodeConditionFact]| conditions.iter().cloned().collect::<BTreeSet<_>>();
    set(one) != set(other)
}

fn copied_conditions(machine: &MachineFact, node: &NodeFact) -> StatusChange {
    let copies_conditions = conditions_differ(&machine.conditions, &node.conditions);
    StatusChange { copies_conditions, ..StatusChange::default() }
}

fn with_conditions(copies_conditions: bool, step: Step) -> Step {
    match step {
        Step::Finish(mut conclusion) => {
            conclusion.status.copies_conditions = copies_conditions;
            Step::Finish(conclusion)
        }
        act @ Step::Act(_) => act,
    }
}
