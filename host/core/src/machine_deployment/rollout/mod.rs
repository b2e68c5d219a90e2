//! How many Machines each set gets, and what sets, Machines and Nodes must have for that.
//!
//! | module | what it does |
//! | --- | --- |
//! | `strategy` | reads the strategy: maxSurge, maxUnavailable, the kind of update |
//! | `stage` | how far a rollout is |
//! | `rolling` | RollingUpdate: more new Machines, fewer old ones, within bounds |
//! | `in_place` | InPlaceUpdate: chooses Nodes, and hands Machines over to the new set |
//! | `scaling` | scaling during a rollout |
//! | `rollback` | returns to an earlier template |
//! | `targets` | the wanted numbers, while they are decided |
//! | `window` | waits for a maintenance window, or until the disruption budget is valid |

pub(crate) mod in_place;
pub(crate) mod rollback;
pub(crate) mod rolling;
pub(crate) mod scaling;
pub(crate) mod stage;
pub(crate) mod strategy;
pub(crate) mod targets;
pub(crate) mod window;

use jiff::Timestamp;

use crate::machine::Requeue;

use super::disruptions::{self, RolloutNumbers};
use super::effect::{DeploymentChange, DeploymentEffect, SetChange};
use super::facts::{DeploymentView, OwnedMachineFact, RolloutNodeFact};
use super::nodes;
use super::plan::Plan;
use super::sets::freeze;
use super::sets::group::{SetGroup, Tally};
use super::sets::new_set;
use super::sets::revision;
use super::status::waits;
use super::validity::ValidSpec;
use strategy::{RolloutBounds, Strategy};
use targets::Targets;

/// The decision about sets and Machines, before it becomes effects.
pub(super) struct Decision<'a> {
    pub targets: Targets,
    /// The sets note the deployment's number.
    pub is_noted: bool,
    /// Creates the set, with this number of Machines.
    pub creates: Option<u32>,
    pub machines: Vec<(&'a OwnedMachineFact, super::effect::MachineChange)>,
    pub selected: Vec<&'a RolloutNodeFact>,
}

impl Decision<'_> {
    fn nothing(group: &SetGroup<'_>) -> Self {
        Self {
            targets: Targets::of(group),
            is_noted: false,
            creates: None,
            machines: Vec::new(),
            selected: Vec::new(),
        }
    }

    fn of(targets: Targets) -> Self {
        Self { targets, is_noted: true, creates: None, machines: Vec::new(), selected: Vec::new() }
    }
}

pub(super) fn plan<'a>(
    view: &'a DeploymentView,
    group: &SetGroup<'a>,
    valid: ValidSpec,
    noted: &mut DeploymentChange,
    now: Timestamp,
) -> Plan {
    let bounds = valid.strategy.bounds(valid.desired);
    let window = window::held(view, now).filter(|_| !group.has_only_new());
    let is_held = view.deployment.spec.is_paused || window.is_some();
    let count_updated = count_updated(group);
    let count_updated_first = count_updated.is_some();
    let (mut decision, are_a_rollout) = match count_updated {
        Some(decision) => (decision, false),
        None if is_held => (paused(view, group, valid.strategy, bounds, now), false),
        None => (decide(view, group, valid.strategy, bounds, now), group.wanted() <= bounds.most()),
    };
    let disruptions = {
        let Decision { targets, selected, .. } = &mut decision;
        let mut numbers = RolloutNumbers { targets, selected, are_a_rollout, count_updated_first };
        disruptions::decide(view, group, (valid.strategy, bounds), &mut numbers, noted, now)
    };
    let waits_for_budget = disruptions.holds_rollout && is_at_rest(group, &decision);
    let sets = set_writes(view, group, (valid.strategy, is_held), bounds, &decision);
    let machines = decision.machines.iter().map(|(machine, change)| DeploymentEffect::WriteMachine {
        machine: (*machine).into(),
        change: change.clone(),
    });
    let writes = if is_held {
        Vec::new()
    } else {
        nodes::writes(view, group, valid.strategy, &decision.selected, now)
    };
    let create = decision.creates.map(|replicas| new_set::create(view, group, replicas, bounds));
    let old = revision::superfluous(view, group, valid);
    let reported = waits::report(view, group, (valid, bounds), window.as_ref(), now);
    let reported = waits::with_disruptions(reported, &disruptions, waits_for_budget || group.has_only_new());
    let mut plan = Plan::waiting(reported.reason, reported.message)
        .then(disruptions.marks, false)
        .then(writes, false)
        .then(sets.into_iter().chain(create).chain(machines).chain(old).collect(), false);
    plan.can_be_late = reported.can_be_late;
    plan.is_held = is_held || waits_for_budget;
    if let Some(left) = window.and_then(|window| window.left).into_iter().chain(disruptions.left).min() {
        plan.wake = Requeue::After(left);
    }
    plan
}

/// Returns whether the rollout is idle.
fn is_at_rest(group: &SetGroup<'_>, decision: &Decision<'_>) -> bool {
    let is_still = decision.targets == Targets::of(group)
        && decision.creates.is_none()
        && decision.machines.is_empty()
        && decision.selected.is_empty();
    is_still && group.new.as_ref().is_some_and(|new| new.available >= new.wanted)
}

/// Returns the decision that counts Machines updated in place, which comes first.
fn count_updated<'a>(group: &SetGroup<'a>) -> Option<Decision<'a>> {
    let mut decision = Decision::nothing(group);
    decision.machines = in_place::count_moved(group, &mut decision.targets);
    let is_in_motion = !decision.machines.is_empty() || decision.targets != Targets::of(group);
    is_in_motion.then_some(decision)
}

/// Returns the decision of a rollout that is paused or waits for its window: only the number of Machines is followed.
fn paused<'a>(
    view: &DeploymentView,
    group: &SetGroup<'a>,
    strategy: Strategy,
    bounds: RolloutBounds,
    now: Timestamp,
) -> Decision<'a> {
    let is_shared = group.active().len() > 1;
    if (is_shared && group.unobserved().is_some()) || !scaling::is_due(view, group, bounds) {
        return Decision::nothing(group);
    }
    let scaling = scaling::scale(view, group, strategy, bounds, now);
    Decision { is_noted: scaling.is_whole, ..Decision::of(scaling.targets) }
}

fn decide<'a>(
    view: &'a DeploymentView,
    group: &SetGroup<'a>,
    strategy: Strategy,
    bounds: RolloutBounds,
    now: Timestamp,
) -> Decision<'a> {
    if let Some(new) = group.new.as_ref().filter(|_| group.has_only_new()) {
        let mut decision = Decision::of(Targets::of(group));
        decision.targets.set(new, scaling::only_new(view, group, new, bounds));
        return decision;
    }
    // The result of an earlier number is unknown before the set has observed it.
    if group.unobserved().is_some() {
        return Decision::nothing(group);
    }
    match strategy {
        Strategy::Recreate => recreate(group, bounds),
        Strategy::RollingUpdate(_) | Strategy::InPlaceUpdate(..) if group.new.is_none() => {
            let replicas = bounds.desired.min(group.room(bounds));
            Decision { creates: Some(replicas), ..Decision::of(Targets::of(group)) }
        }
        Strategy::RollingUpdate(_) if group.wanted() > bounds.most() => {
            let mut targets = Targets::of(group);
            let mut spare = group.spare(bounds, now);
            let left = scaling::shrink(view, group, bounds, &mut targets, &mut spare);
            Decision { is_noted: left == 0, ..Decision::of(targets) }
        }
        Strategy::RollingUpdate(_) => Decision::of(rolling::step(group, bounds, now)),
        Strategy::InPlaceUpdate(_, orchestration) => {
            let step = in_place::step(view, group, (bounds, orchestration), now);
            Decision { machines: step.machines, selected: step.selected, ..Decision::of(step.targets) }
        }
    }
}

/// Deletes all old Machines, and creates new ones when none is left.
fn recreate<'a>(group: &SetGroup<'a>, bounds: RolloutBounds) -> Decision<'a> {
    let mut decision = Decision::of(Targets::of(group));
    for old in &group.old {
        decision.targets.set(old, 0);
    }
    if !group.has_only_new() {
        return decision;
    }
    match &group.new {
        Some(new) => decision.targets.set(new, bounds.desired),
        None => decision.creates = Some(bounds.desired),
    }
    decision
}

/// Returns one write for each set.
fn set_writes(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    (strategy, is_held): (Strategy, bool),
    bounds: RolloutBounds,
    decision: &Decision<'_>,
) -> Vec<DeploymentEffect> {
    let write = |tally: &Tally<'_>| {
        let mut change = SetChange::default();
        let wanted = decision.targets.get(tally);
        change.replicas = (wanted != tally.wanted).then_some((tally.wanted, wanted));
        let is_new = group.new.as_ref().is_some_and(|new| new.set.uid == tally.set.uid);
        if !is_held && is_new {
            new_set::keep_new(view, group, tally, &mut change);
        } else if !is_held {
            new_set::keep_old(view, tally, strategy, &mut change);
        } else {
            new_set::keep_paused(view, tally, &mut change);
        }
        if decision.is_noted && (is_new || tally.wanted > 0 || wanted > 0) {
            new_set::note_scaled(view, tally.set, bounds, &mut change);
        }
        freeze::thaw(view, tally.set, &mut change);
        (!change.is_empty()).then(|| DeploymentEffect::WriteSet { set: tally.set.into(), change })
    };
    group.staying().filter_map(write).collect()
}
