//! The life of a Machine whose VM exists: its Node joins, gets its metadata, and is healthy or not.
//!
//! Each module does one task. `health` decides the phase; the results of the others are added to its conclusion.
//!
//! | module | what it does |
//! | --- | --- |
//! | `upkeep` | writes the labels, annotations and taints that Node and Machine must have |
//! | `health` | decides the phase from the health of the Node |
//! | `absent` | the Node is missing, or belongs to another VM |
//! | `timers` | creation and health timeouts; after them the phase is Failed |
//! | `permit` | asks before a Machine fails: are too many others away, is the zone silent? |
//! | `policies`, `reboot` | applies the opinions of health policies, and reboots the VM |
//! | `vm_check` | queries the VM of a Machine in service from time to time |
//! | `in_place` | updates in place |
//! | `preserve` | keeps a failed Machine, so that somebody can look at it |
//! | `draining` | drains a Node whose Machine is not being deleted |
//! | `conclusion_part`, `healthy_condition` | the report: remarks of the modules, and condition `Healthy` |

mod absent;
mod conclusion_part;
mod draining;
mod health;
mod healthy_condition;
pub mod in_place;
pub(super) mod permit;
pub(crate) mod policies;
pub mod preserve;
pub(crate) mod reboot;
mod timers;
mod upkeep;
mod vm_check;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::health_policy::{Health, Judgement};
use crate::machine::node::health::NodeConditionFact;
use crate::scheduling::gate::{EffectKind, permits};
use crate::value::phase::Phase;

use super::conclusion::{MachineReason, MachineStep, Requeue, StatusChange};
use super::effect::{MachineEffect, MachineProgress};
use super::facts::{MachineFact, MachineView, NodeFact, NodePresence, TargetFact};
use super::step::{PREREQUISITE, rest, write_failed};

use absent::Absence;
pub(super) use conclusion_part::wake_at;
use conclusion_part::{ConclusionPart, TaskResult};
pub(super) use timers::waiting_for_node;

pub(super) fn step(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    match &view.target {
        TargetFact::None => without_target(view, progress, now),
        TargetFact::Cluster(_) if view.machine.provider_id.is_none() => without_vm(view, progress, now),
        TargetFact::Cluster(NodePresence::Absent) => without_node(view, progress, Absence::Gone, now),
        TargetFact::Cluster(NodePresence::Foreign(id)) => {
            without_node(view, progress, Absence::Foreign(id), now)
        }
        TargetFact::Cluster(NodePresence::Contested(others)) => {
            without_node(view, progress, Absence::Contested(others), now)
        }
        TargetFact::Cluster(NodePresence::Present(node)) if node.is_deleting => leaving(view, node, progress),
        TargetFact::Cluster(NodePresence::Present(node)) => with_node(view, node, progress, now),
    }
}

fn without_target(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let step = if view.machine.phase == Phase::Failed {
        rest(MachineReason::Failed, "failed, and there is no cluster to recover in", Requeue::Resync)
    } else {
        rest(MachineReason::VmCreated, "the VM is created, and there is no cluster to join", Requeue::Resync)
    };
    let turns = vec![upkeep::machine(view, None, progress, now), vm_check::turn(view, progress, now)];
    concluded(view, None, None, step, turns, now)
}

/// Only a failed Machine comes here without a VM: all others are being created.
fn without_vm(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let message = "creation failed for good: delete the Machine to try again";
    let step = rest(MachineReason::Failed, message, Requeue::Resync);
    concluded(view, None, None, step, vec![upkeep::machine(view, None, progress, now)], now)
}

fn without_node(
    view: &MachineView,
    progress: &MachineProgress,
    absence: Absence<'_>,
    now: Timestamp,
) -> MachineStep {
    let mut turns = vec![upkeep::token(view, progress, now), upkeep::machine(view, None, progress, now)];
    if let Some(step) = first_act(&turns) {
        return step;
    }
    if let Some(step) = absent::name_by_driver(view, progress) {
        return step;
    }
    if let Some(result) = &progress.record {
        turns.push(TaskResult::written("store the name of the Machine's Node", result));
    }
    let step = absent::step(view, progress, absence, now);
    let judgement = policies::judgement(view, progress);
    concluded(view, None, Some(&judgement), step, turns, now)
}

/// Deletes the Machine of a Node that is being deleted. Our finalizer keeps the Node until the Machine is gone.
fn leaving(view: &MachineView, node: &NodeFact, progress: &MachineProgress) -> MachineStep {
    let name = &node.name;
    match &progress.delete_machine {
        None if permits(view.gate, EffectKind::SetDelete) => MachineStep::act(MachineEffect::DeleteMachine),
        None => {
            let wake = Requeue::retry(PREREQUISITE);
            rest(
                MachineReason::Frozen,
                format!("Node {name} is being deleted; deleting its Machine is held"),
                wake,
            )
        }
        Some(Ok(())) => {
            let message = format!("Node {name} is being deleted, and so is its Machine");
            // The deletion is seen within moments; the timer is for a missed event.
            rest(MachineReason::NodeDeleting, message, Requeue::After(SignedDuration::from_mins(1)))
        }
        Some(Err(error)) => {
            write_failed(MachineReason::WriteFailed, &format!("delete the Machine of Node {name}"), error)
        }
    }
}

fn with_node(view: &MachineView, node: &NodeFact, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let judgement = policies::judgement(view, progress);
    let kept = preserve::node(view, node, progress, now);
    // A reconcile writes one of the two conditions of the Node.
    let may_say = !preserve::says(view, node, now);
    let turns = vec![
        upkeep::node(view, node, &judgement, progress, now),
        if health::joins(view, node, &judgement) {
            TaskResult::nothing()
        } else {
            upkeep::token(view, progress, now)
        },
        upkeep::machine(view, Some(node), progress, now),
        kept,
        in_place::node(view, node, progress, may_say, now),
        upkeep::forget_token(view, node, &judgement, progress, now),
        // No query delays anything: the Node is healthy.
        if judgement.health == Health::Healthy {
            vm_check::turn(view, progress, now)
        } else {
            TaskResult::nothing()
        },
    ];
    if let Some(step) = first_act(&turns) {
        return step;
    }
    let step = match in_place::machine(view, node, progress, now) {
        Some(step) => step,
        None => health::step(view, node, &judgement, progress, now),
    };
    concluded(view, Some(node), Some(&judgement), step, turns, now)
}

/// Returns the effects of the first task that has any. The others follow when its outcome is known.
fn first_act(turns: &[TaskResult]) -> Option<MachineStep> {
    turns.iter().find_map(|turn| match turn {
        TaskResult::Act(effects) => Some(MachineStep::Act(effects.clone())),
        TaskResult::Report(_) => None,
    })
}

/// Adds the results of all tasks to the conclusion. `judgement` is about the Node or its absence; `None` where no Node
/// is expected.
fn concluded(
    view: &MachineView,
    node: Option<&NodeFact>,
    judgement: Option<&Judgement>,
    step: MachineStep,
    turns: Vec<TaskResult>,
    now: Timestamp,
) -> MachineStep {
    if let Some(step) = first_act(&turns) {
        return step;
    }
    let MachineStep::Finish(conclusion) = step else { return step };
    let conclusion = match judgement {
        Some(judgement) => healthy_condition::healthy(view, node.is_some(), judgement, conclusion, now),
        None => conclusion,
    };
    let parts: Vec<ConclusionPart> = turns
        .into_iter()
        .filter_map(|turn| match turn {
            TaskResult::Report(part) => Some(part),
            TaskResult::Act(_) => None,
        })
        .collect();
    let is_written = parts.iter().all(|part| part.write_failure.is_none());
    let conclusion = parts.into_iter().fold(conclusion, |conclusion, part| part.add_to(conclusion));
    MachineStep::Finish(preserve::conclude(view, node, conclusion, is_written, now))
}

/// Returns true when a type was added or removed, or a status changed. Heartbeats and the order of the list do not
/// count.
pub fn conditions_differ(one: &[NodeConditionFact], other: &[NodeConditionFact]) -> bool {
    let set = |conditions: &[NodeConditionFact]| conditions.iter().cloned().collect::<BTreeSet<_>>();
    set(one) != set(other)
}

fn copied_conditions(machine: &MachineFact, node: &NodeFact) -> StatusChange {
    // Programs that update Nodes in place read the reason of that condition from the Machine.
    let is_other_stage =
        machine.in_place_copied.as_ref() != node.in_place.as_ref().map(|reported| &reported.reason);
    let copies_conditions = is_other_stage || conditions_differ(&machine.conditions, &node.conditions);
    StatusChange { copies_conditions, ..StatusChange::default() }
}

fn with_conditions(copies_conditions: bool, step: MachineStep) -> MachineStep {
    match step {
        MachineStep::Finish(mut conclusion) => {
            conclusion.status.copies_conditions = copies_conditions;
            MachineStep::Finish(conclusion)
        }
        act @ MachineStep::Act(_) => act,
    }
}
