//! Writes the labels, annotations and taints that Node and Machine must have.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::driver::virtual_capacity::{self, CapacityPlan};
use crate::health_policy::Judgement;
use crate::machine::node::sync::{self, NodeChange, WantedNodeMeta};
use crate::scheduling::gate::{EffectKind, permits};
use crate::value::duration;
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{Requeue, elapsed};
use super::super::effect::{MachineEffect, MachineProgress, MetaChange};
use super::conclusion_part::{ConclusionPart, TaskResult, wake_at};
use super::{health, preserve, timers};
use crate::machine::facts::{MachineFact, MachineView, NodeFact};

/// When the time that a Node took to join is noted on its Machine: within a minute, after the writes of joining, and
/// not years later for Machines of another controller.
const JOIN_IS_NOTED: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(45), SignedDuration::from_hours(1));

/// A token is valid a little longer than its Machine has time, so that a Node still joins at the last moment.
const TOKEN_MARGIN: SignedDuration = SignedDuration::from_mins(5);

/// Updates the Node: metadata, taints and finalizer in one write, then its capacity.
pub(super) fn node(
    view: &MachineView,
    node: &NodeFact,
    judgement: &Judgement,
    progress: &MachineProgress,
    now: Timestamp,
) -> TaskResult {
    if !permits(view.gate, EffectKind::NodeWrite) {
        return TaskResult::nothing();
    }
    let plan = capacity(view, node);
    let change = difference(view, node, &plan, now);
    let what = "bring the Node in line";
    match (&progress.sync_node, change.is_empty()) {
        (None, false) => {
            let sync = MachineEffect::SyncNode { node: node.name.clone(), change };
            // The token is useless once the Node has joined, so it is deleted with the Node's first write.
            let joins = health::joins(view, node, judgement) && progress.forget_token.is_none();
            return TaskResult::Act(if joins { vec![sync, MachineEffect::ForgetToken] } else { vec![sync] });
        }
        (Some(Err(error)), false) => return TaskResult::written(what, &Err(error.clone())),
        (Some(_), _) | (None, true) => {}
    }
    match (&progress.capacity, plan.resources.is_empty()) {
        (None, false) => TaskResult::act(MachineEffect::WriteCapacity {
            node: node.name.clone(),
            resources: plan.resources,
        }),
        (Some(result), false) => TaskResult::written("write the Node's virtual capacity", result),
        (_, true) => TaskResult::nothing(),
    }
}

fn capacity(view: &MachineView, node: &NodeFact) -> CapacityPlan {
    virtual_capacity::plan(&view.virtual_capacity, &node.capacity, node.last_applied_capacity.as_ref())
}

/// Returns the metadata that the Node lacks.
fn difference(view: &MachineView, node: &NodeFact, plan: &CapacityPlan, now: Timestamp) -> NodeChange {
    let machine = &view.machine;
    let wanted = WantedNodeMeta { template: &machine.template, own_labels: &machine.own_node_labels };
    let change = sync::merge(&node.meta, wanted, node.last_applied.as_ref());
    let change = change.with(&node.meta, &preserve::on_node(view, node, now));
    NodeChange { takes_finalizer: !node.has_finalizer, capacity_note: plan.note.clone(), ..change }
}

/// Keeps the bootstrap token valid while the Machine still may join. Its value stays, since the VM has it.
pub(super) fn token(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> TaskResult {
    let Some(until) = token_until(view, now) else { return TaskResult::nothing() };
    match &progress.extend_token {
        None => TaskResult::act(MachineEffect::ExtendToken { until }),
        // The Machine may join with it until it ends.
        Some(result) => TaskResult::beside(result),
    }
}

/// Deletes the bootstrap token once the Node has joined, and again after a failure, as long as the token is valid.
pub(super) fn forget_token(
    view: &MachineView,
    node: &NodeFact,
    judgement: &Judgement,
    progress: &MachineProgress,
    now: Timestamp,
) -> TaskResult {
    if !health::joins(view, node, judgement) && !may_have_kept_token(view, now) {
        return TaskResult::nothing();
    }
    match &progress.forget_token {
        None => TaskResult::act(MachineEffect::ForgetToken),
        Some(result) => TaskResult::beside(result),
    }
}

/// Returns whether the previous reconcile failed, and the token is still valid.
fn may_have_kept_token(view: &MachineView, now: Timestamp) -> bool {
    let machine = &view.machine;
    view.failures > 0
        && has_joined(machine)
        && machine.token_until.is_some_and(|until| until > now)
        && permits(view.gate, EffectKind::TokenDelete)
}

/// Returns whether it runs since its Node has joined.
fn has_joined(machine: &MachineFact) -> bool {
    machine.phase == Phase::Running
        && machine.operation.is_some_and(|last| {
            last.kind == OperationType::Create && last.state == OperationState::Successful
        })
}

/// Returns until when the token must be valid, if it may expire before.
fn token_until(view: &MachineView, now: Timestamp) -> Option<Timestamp> {
    let machine = &view.machine;
    if machine.phase != Phase::Pending || !view.has_target() || !permits(view.gate, EffectKind::TokenWrite) {
        return None;
    }
    let end = timers::clock(view, now)?.end();
    let is_valid_long_enough = machine.token_until.is_some_and(|until| until >= end);
    let is_needed = end > now && !is_valid_long_enough;
    is_needed.then(|| end.checked_add(TOKEN_MARGIN).unwrap_or(Timestamp::MAX))
}

/// Notes the Node's name and the time to join on the Machine, in one write.
pub(super) fn machine(
    view: &MachineView,
    node: Option<&NodeFact>,
    progress: &MachineProgress,
    now: Timestamp,
) -> TaskResult {
    let mut annotations = preserve::on_machine(view, node, now);
    let labels = lost_label(view, node);
    let names = view.names;
    if let (Some(until), Some(Ok(()))) = (token_until(view, now), &progress.extend_token) {
        annotations.insert(names.token_until.to_owned(), Some(until.to_string()));
    }
    let wake = match join_duration(view, node, now) {
        JoinNote::Nothing => None,
        JoinNote::Later(wake) => Some(wake),
        JoinNote::Noted(took) => {
            annotations.insert(names.join_duration.to_owned(), Some(took));
            None
        }
    };
    match &progress.write_machine {
        None if annotations.is_empty() && labels.is_empty() => {
            TaskResult::Report(ConclusionPart { wake, ..ConclusionPart::default() })
        }
        None => TaskResult::act(MachineEffect::WriteMachine(MetaChange { labels, annotations })),
        Some(result) => TaskResult::written("write labels and annotations of the Machine", result),
    }
}

/// Returns the Machine's label for its Node, when it was removed, or the Node has registered under another name than
/// the driver said. Other programs find the Node by it.
fn lost_label(view: &MachineView, node: Option<&NodeFact>) -> BTreeMap<String, Option<String>> {
    let lost = node.filter(|node| view.machine.node_name.as_ref() != Some(&node.name));
    lost.map(|node| (view.names.node.to_owned(), Some(node.name.to_string()))).into_iter().collect()
}

enum JoinNote {
    Nothing,
    Later(Requeue),
    Noted(String),
}

/// Returns how long the Machine's Node took to join, if known and not noted.
fn join_duration(view: &MachineView, node: Option<&NodeFact>, now: Timestamp) -> JoinNote {
    let machine = &view.machine;
    let ready = node.and_then(|node| node.ready_since);
    let (Some(since), Some(ready)) = (machine.phase_since, ready) else { return JoinNote::Nothing };
    let (from, to) = JOIN_IS_NOTED;
    let running = elapsed(since, now);
    // A Node that was not ready in between does not show when it joined.
    if !has_joined(machine)
        || machine.has_join_duration
        || ready.as_second() > since.as_second()
        || running > to
    {
        return JoinNote::Nothing;
    }
    if running < from {
        return JoinNote::Later(wake_at(since.checked_add(from).unwrap_or(now), now));
    }
    let took = SignedDuration::from_secs(elapsed(machine.created, ready).as_secs());
    JoinNote::Noted(duration::format(took))
}
