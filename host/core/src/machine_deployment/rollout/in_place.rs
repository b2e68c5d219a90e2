//! InPlaceUpdate: selects Nodes, hands them over, and moves their Machines from an old set to the new one.
//!
//! An updated Machine changes its owner in one write, which labels it so that its new set does not count it; then the
//! numbers of both sets follow; then the label is removed. Each step follows when the cache shows the one before.

use jiff::Timestamp;

use super::rolling;
use super::scaling;
use super::strategy::{Orchestration, RolloutBounds};
use super::targets::Targets;
use crate::machine_deployment::effect::{MachineChange, RolloutNodeChange};
use crate::machine_deployment::facts::{
    DeploymentView, OwnedMachineFact, OwnedSetFact, RolloutNodeFact, UpdateResult, UpdateStage,
};
use crate::machine_deployment::sets::group::{SetGroup, Tally, count, size};

use crate::value::phase::Phase;

/// How many Machines change their set, or lose the label of that, in one reconcile.
const MACHINES_PER_PASS: usize = 100;

pub(crate) struct InPlaceStep<'a> {
    pub targets: Targets,
    pub machines: Vec<(&'a OwnedMachineFact, MachineChange)>,
    /// Nodes to select for the update.
    pub selected: Vec<&'a RolloutNodeFact>,
}

/// Returns the next step. Assumes that all sets have observed their last change.
pub(crate) fn step<'a>(
    view: &'a DeploymentView,
    group: &SetGroup<'a>,
    (bounds, orchestration): (RolloutBounds, Orchestration),
    now: Timestamp,
) -> InPlaceStep<'a> {
    let mut targets = Targets::of(group);
    let mut machines = Vec::new();
    let mut selected = Vec::new();
    if let Some(new) = &group.new {
        machines = moves(group, new, bounds);
        if machines.is_empty() {
            rolling::raise_new(group, bounds, &mut targets);
            let mut spare = group.spare(bounds, now);
            rolling::lower_new(group, bounds, &mut targets, &mut spare);
            lower_old(view, group, (bounds, now), &mut targets, &mut spare);
            if orchestration == Orchestration::Auto {
                selected = select(group, new, bounds, spare);
            }
        }
    }
    InPlaceStep { targets, machines, selected }
}

/// Returns the Machines that change their set.
fn moves<'a>(
    group: &SetGroup<'a>,
    new: &Tally<'a>,
    bounds: RolloutBounds,
) -> Vec<(&'a OwnedMachineFact, MachineChange)> {
    let places = size(bounds.desired.saturating_sub(new.live)).min(MACHINES_PER_PASS);
    let updated = group.old.iter().filter(|old| old.set.is_scale_up_disabled).flat_map(|old| {
        let machines = old.set.machines.iter().filter(|machine| is_updated(machine));
        machines.map(|machine| (machine, transfer(old.set, new.set)))
    });
    updated.take(places).collect()
}

fn transfer(from: &OwnedSetFact, to: &OwnedSetFact) -> MachineChange {
    MachineChange::Transfer { from: from.into(), to: to.into() }
}

/// Returns whether its Node was updated, and its Machine says that its time out of service is over.
fn is_updated(machine: &OwnedMachineFact) -> bool {
    let is_done = |node: &RolloutNodeFact| {
        node.update == Some(UpdateResult::Successful) && node.stage == Some(UpdateStage::Successful)
    };
    let is_back = !matches!(machine.phase, Phase::InPlaceUpdating | Phase::Terminating | Phase::Failed);
    !machine.is_terminating() && is_back && machine.node.as_ref().is_some_and(is_done)
}

/// Reduces old sets by the surplus, and by all that is left once the new set wants all.
fn lower_old(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    (bounds, now): (RolloutBounds, Timestamp),
    targets: &mut Targets,
    spare: &mut u32,
) {
    let Some(new) = &group.new else { return };
    if new.wanted >= bounds.desired {
        rolling::lower_old(group, bounds, now, targets, spare);
    } else if targets.total() > bounds.most() {
        scaling::shrink(view, group, bounds, targets, spare);
    }
}

/// Returns the Nodes to select: no more than can be spared, and none whose Machine is not needed.
fn select<'a>(
    group: &SetGroup<'a>,
    new: &Tally<'_>,
    bounds: RolloutBounds,
    spare: u32,
) -> Vec<&'a RolloutNodeFact> {
    let undergoing =
        group.old.iter().flat_map(|old| &old.set.machines).filter(|machine| is_undergoing(machine));
    let places = bounds.desired.saturating_sub(new.wanted.max(new.live)).saturating_sub(count(undergoing));
    let limit = size(spare.min(places));
    let waiting = group.old.iter().filter(|old| old.set.is_scale_up_disabled).flat_map(|old| {
        let mut machines: Vec<_> = old.set.machines.iter().filter(|machine| waits(machine)).collect();
        machines.sort_by_key(|machine| (machine.created, machine.name.clone()));
        machines.into_iter().filter_map(|machine| machine.node.as_ref())
    });
    waiting.take(limit).collect()
}

pub(crate) fn is_undergoing(machine: &OwnedMachineFact) -> bool {
    !machine.is_terminating() && machine.node.as_ref().is_some_and(RolloutNodeFact::is_out_of_service)
}

/// Returns whether it waits for its selection: it is available, neither marked nor preserved, and its Node is a
/// candidate.
pub(crate) fn waits(machine: &OwnedMachineFact) -> bool {
    let is_known = |node: &RolloutNodeFact| node.is_candidate || node.stage == Some(UpdateStage::Selected);
    let is_free =
        |node: &RolloutNodeFact| is_known(node) && !node.is_out_of_service() && node.update.is_none();
    let is_candidate = machine.node.as_ref().is_some_and(is_free);
    is_candidate
        && !machine.is_terminating()
        && machine.phase == Phase::Running
        && machine.preserved_until.is_none()
        && machine.marked_at.is_none()
}

/// Adds to `change` the labels of updates in place that the Node of a Machine gains or loses. `stays`: the Machine
/// needs no update, since it is of the new set, or the strategy is another one.
pub(crate) fn node(
    machine: &OwnedMachineFact,
    node: &RolloutNodeFact,
    stays: bool,
    change: &mut RolloutNodeChange,
) {
    if !stays {
        // One that was selected before is drained as soon as it is a candidate, which selects it.
        let is_left_over = node.stage == Some(UpdateStage::Selected);
        change.candidate = (!node.is_candidate && !is_left_over).then_some(true);
        return;
    }
    let is_handed_over =
        machine.phase == Phase::InPlaceUpdating || node.stage == Some(UpdateStage::HandedOver);
    match node.update {
        Some(UpdateResult::Successful) if node.stage == Some(UpdateStage::Successful) => {
            change.ends_update = true;
            change.uncordons = node.is_cordoned;
        }
        // The condition of the Node follows its label; a Machine whose update failed is replaced.
        Some(UpdateResult::Successful | UpdateResult::Failed) => {}
        None if is_handed_over => {}
        None => {
            change.candidate = node.is_candidate.then_some(false);
            change.selected = node.is_selected.then_some(false);
            change.uncordons = node.is_selected && node.is_cordoned;
        }
    }
}

/// Adapts the numbers of sets to Machines that have changed their set, and then removes the labels from Machines. This
/// comes first in every rollout.
///
/// The old set may not create them again: its label blocks creation until it wants fewer. The new set does not count
/// them: their label prevents that until it wants more.
pub(crate) fn count_moved<'a>(
    group: &SetGroup<'a>,
    targets: &mut Targets,
) -> Vec<(&'a OwnedMachineFact, MachineChange)> {
    let mut counted = Vec::new();
    for tally in group.staying() {
        if tally.set.is_scale_up_disabled && tally.has_observed() {
            let has = tally.live.max(tally.set.status.replicas.saturating_sub(tally.deleting));
            targets.set(tally, tally.wanted.min(has));
        }
        let machines = tally.set.machines.iter();
        let labelled: Vec<&OwnedMachineFact> = machines
            .filter(|machine| {
                machine.is_updated_in_place && !machine.is_terminating() && !machine.is_unreadable
            })
            .collect();
        let excess = tally.live.saturating_sub(tally.wanted);
        match excess.min(count(labelled.iter())) {
            0 => counted.extend(labelled.into_iter().map(|machine| (machine, MachineChange::Unlabel))),
            more => targets.raise(tally, more),
        }
    }
    counted.truncate(MACHINES_PER_PASS);
    counted
}
