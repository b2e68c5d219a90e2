//! Updates in place: the Node is drained, handed over to its agent, and taken back with the result.
//!
//! Labels of the Node have the request and the result; a condition of the Node has the stage, and the agent reads it.
//! The order is the safety: the Machine enters phase InPlaceUpdating, in which its health does not count, before the
//! agent may begin.

use jiff::Timestamp;

use crate::drain::DrainReport;
use crate::machine::node::health::ConditionStatus;
use crate::safety::thaw;
use crate::scheduling::gate::{EffectKind, Gate, permits};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{
    MachineCondition, MachineConditionKind, MachineReason, MachineStep, OperationNote, Requeue, StatusChange,
};
use super::super::effect::{MachineEffect, MachineProgress, NodeConditionWrite};
use super::super::step::{conclude, operation, rest};
use super::conclusion_part::{ConclusionPart, TaskResult};
use super::copied_conditions;
use super::draining::{DrainState, empty};
use super::timers::{NodeWait, timed};
use crate::machine::delete::drain_progress::reported;
use crate::machine::facts::{MachineView, NodeFact};

/// The condition of a Node with the stage of its update, and its reasons, as others read them.
pub mod words {
    /// Type of the condition. Its status is always True.
    pub const CONDITION: &str = "InPlaceUpdate";
    pub const CANDIDATE: &str = "CandidateForUpdate";
    /// Selected for the update.
    pub const SELECTED: &str = "SelectedForUpdate";
    pub const DRAINED: &str = "DrainSuccessful";
    /// Its agent may begin.
    pub const READY: &str = "ReadyForUpdate";
    /// Its agent has done it.
    pub const SUCCESSFUL: &str = "UpdateSuccessful";
    /// Its agent could not do it.
    pub const FAILED: &str = "UpdateFailed";
}

/// Reason of our condition while the Node is being drained.
pub const DRAINING: &str = "Draining";

/// Reason of our condition while the host is frozen.
const HELD: &str = "Held";

/// The stage in the condition of the Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeUpdateStage {
    Candidate,
    Selected,
    Drained,
    Ready,
    Successful,
    Failed,
}

impl NodeUpdateStage {
    fn of(node: &NodeFact) -> Option<Self> {
        match node.in_place.as_ref()?.reason.as_str() {
            words::CANDIDATE => Some(Self::Candidate),
            words::SELECTED => Some(Self::Selected),
            words::DRAINED => Some(Self::Drained),
            words::READY => Some(Self::Ready),
            words::SUCCESSFUL => Some(Self::Successful),
            words::FAILED => Some(Self::Failed),
            // An unknown reason counts as none, and the condition is written again.
            _ => None,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Candidate => words::CANDIDATE,
            Self::Selected => words::SELECTED,
            Self::Drained => words::DRAINED,
            Self::Ready => words::READY,
            Self::Successful => words::SUCCESSFUL,
            Self::Failed => words::FAILED,
        }
    }
}

/// The result that the agent of the Node reports.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AgentResult {
    Successful,
    Failed { because: String },
}

fn outcome(view: &MachineView, node: &NodeFact) -> Option<AgentResult> {
    match node.meta.labels.get(view.names.update_result)?.as_str() {
        "successful" => Some(AgentResult::Successful),
        "failed" => {
            let because = node.meta.annotations.get(view.names.update_failed_reason);
            let because = because.cloned().unwrap_or_else(|| "its agent gives no reason".to_owned());
            Some(AgentResult::Failed { because })
        }
        _ => None,
    }
}

/// Returns whether the Node has the label: its presence counts, not its value.
fn has_label(node: &NodeFact, name: &str) -> bool {
    node.meta.labels.contains_key(name)
}

/// Returns the next stage by the labels of the Node.
fn next(
    view: &MachineView,
    node: &NodeFact,
    stage: Option<NodeUpdateStage>,
    outcome: Option<&AgentResult>,
) -> Option<NodeUpdateStage> {
    match (stage, outcome) {
        (None, _) | (Some(NodeUpdateStage::Successful), None) => Some(NodeUpdateStage::Candidate),
        (Some(stage), Some(AgentResult::Successful)) => {
            (stage != NodeUpdateStage::Successful).then_some(NodeUpdateStage::Successful)
        }
        (Some(stage), Some(AgentResult::Failed { .. })) => {
            (stage != NodeUpdateStage::Failed).then_some(NodeUpdateStage::Failed)
        }
        (Some(NodeUpdateStage::Candidate), None) => {
            has_label(node, view.names.selected_for_update).then_some(NodeUpdateStage::Selected)
        }
        (Some(NodeUpdateStage::Drained), None) => {
            (view.machine.phase == Phase::InPlaceUpdating).then_some(NodeUpdateStage::Ready)
        }
        (Some(NodeUpdateStage::Selected | NodeUpdateStage::Ready | NodeUpdateStage::Failed), None) => None,
    }
}

/// Writes the Node's condition and drains the Node. `may_say`: no other condition of the Node is written in this
/// reconcile.
pub(super) fn node(
    view: &MachineView,
    node: &NodeFact,
    progress: &MachineProgress,
    may_say: bool,
    now: Timestamp,
) -> TaskResult {
    if !has_label(node, view.names.candidate_for_update) {
        if is_left_selected(view, node) {
            return said(node, NodeUpdateStage::Candidate, None, progress, may_say);
        }
        return stopped(view);
    }
    if !permits(view.gate, EffectKind::NodeWrite) {
        return TaskResult::nothing();
    }
    let stage = NodeUpdateStage::of(node);
    let outcome = outcome(view, node);
    if let Some(held) = held(view, node, stage, outcome.as_ref()) {
        return TaskResult::Report(held);
    }
    if let Some(next) = next(view, node, stage, outcome.as_ref()) {
        return said(node, next, outcome.as_ref(), progress, may_say);
    }
    match stage {
        Some(NodeUpdateStage::Selected) if takes_part(view.machine.phase) => {
            emptied(view, node, progress, may_say, now)
        }
        _ => TaskResult::nothing(),
    }
}

/// Returns whether its condition says selected, and no label does: the rollout was rolled back, for example.
fn is_left_selected(view: &MachineView, node: &NodeFact) -> bool {
    NodeUpdateStage::of(node) == Some(NodeUpdateStage::Selected)
        && !has_label(node, view.names.selected_for_update)
        && takes_part(view.machine.phase)
        && permits(view.gate, EffectKind::NodeWrite)
}

/// Returns whether this condition takes the Node out of service, or says that it is.
pub(in crate::machine) fn takes_out_of_service(condition: &NodeConditionWrite) -> bool {
    condition.kind == words::CONDITION
        && matches!(condition.reason.as_str(), words::SELECTED | words::DRAINED | words::READY)
}

/// While the host is frozen, no Node is taken out of service. The agent's result of an update that has begun is
/// written.
fn held(
    view: &MachineView,
    node: &NodeFact,
    stage: Option<NodeUpdateStage>,
    outcome: Option<&AgentResult>,
) -> Option<ConclusionPart> {
    let Gate::Frozen { reason, .. } = view.gate else { return None };
    let is_wanted = match stage {
        Some(NodeUpdateStage::Candidate) => has_label(node, view.names.selected_for_update),
        Some(NodeUpdateStage::Selected | NodeUpdateStage::Drained) => true,
        None | Some(NodeUpdateStage::Ready | NodeUpdateStage::Successful | NodeUpdateStage::Failed) => false,
    };
    if !is_wanted || outcome.is_some() || permits(view.gate, EffectKind::EmptyNode) {
        return None;
    }
    let message = format!("the update in place of the Node is held: {}", reason.sentence());
    Some(ConclusionPart {
        condition: Some(condition(ConditionStatus::False, HELD, message)),
        ..ConclusionPart::default()
    })
}

/// A Node that was being drained, and is no candidate any more.
fn stopped(view: &MachineView) -> TaskResult {
    let reported = view.machine.preservation.reported_update.as_ref();
    let message = match reported.map(|reported| reported.reason.as_str()) {
        Some(DRAINING) => {
            "the Node is no candidate for an update in place any more: its drain has stopped, and it stays cordoned until somebody \
             uncordons it"
        }
        Some(HELD) => "the Node is no candidate for an update in place any more",
        Some(_) | None => return TaskResult::nothing(),
    };
    let condition = Some(condition(ConditionStatus::False, "Stopped", message.to_owned()));
    TaskResult::Report(ConclusionPart { condition, ..ConclusionPart::default() })
}

/// Phases in which a Machine may be taken out of service for an update.
fn takes_part(phase: Phase) -> bool {
    match phase {
        Phase::Running | Phase::Unknown | Phase::InPlaceUpdateSuccessful | Phase::InPlaceUpdateFailed => true,
        Phase::New
        | Phase::Pending
        | Phase::Available
        | Phase::Terminating
        | Phase::Failed
        | Phase::CrashLoopBackOff
        | Phase::InPlaceUpdating => false,
    }
}

fn said(
    node: &NodeFact,
    stage: NodeUpdateStage,
    outcome: Option<&AgentResult>,
    progress: &MachineProgress,
    may_say: bool,
) -> TaskResult {
    let message = match (stage, outcome) {
        (NodeUpdateStage::Candidate, _) => "Node may be updated in place".to_owned(),
        (NodeUpdateStage::Selected, _) => "Node is selected for an update in place".to_owned(),
        (NodeUpdateStage::Drained, _) => "Node is drained".to_owned(),
        (NodeUpdateStage::Ready, _) => "Node is ready for its update in place".to_owned(),
        (NodeUpdateStage::Successful, _) => "Node in-place update successful".to_owned(),
        (NodeUpdateStage::Failed, Some(AgentResult::Failed { because })) => {
            format!("Node in-place update failed: {because}")
        }
        (NodeUpdateStage::Failed, _) => "Node in-place update failed".to_owned(),
    };
    match &progress.node_condition {
        Some(result) if may_say => {
            TaskResult::written("say on the Node how far its update in place is", result)
        }
        None if may_say => {
            let condition = NodeConditionWrite {
                kind: words::CONDITION.into(),
                status: ConditionStatus::True,
                reason: stage.reason().into(),
                message,
            };
            TaskResult::act(MachineEffect::SetNodeCondition { node: node.name.clone(), condition })
        }
        // The write of the other condition requeues the Machine.
        Some(_) | None => TaskResult::nothing(),
    }
}

fn emptied(
    view: &MachineView,
    node: &NodeFact,
    progress: &MachineProgress,
    may_say: bool,
    now: Timestamp,
) -> TaskResult {
    match &progress.cordon {
        None if !node.is_cordoned => {
            return TaskResult::act(MachineEffect::Cordon { node: node.name.clone() });
        }
        Some(Err(error)) => {
            return TaskResult::written("cordon the Node for its update", &Err(error.clone()));
        }
        None | Some(Ok(())) => {}
    }
    let since = node.in_place.as_ref().and_then(|reported| reported.since).unwrap_or(now);
    let since = thaw::counts_from(since, view.thawed_at);
    match empty(view, node, since, progress, now) {
        DrainState::Act(effects) => TaskResult::Act(effects),
        DrainState::Waits(report, wake) => TaskResult::Report(leaving(view, report, wake, now)),
        DrainState::Done(_) => said(node, NodeUpdateStage::Drained, None, progress, may_say),
    }
}

fn leaving(view: &MachineView, report: DrainReport, wake: Requeue, now: Timestamp) -> ConclusionPart {
    let failed = report.error().map(|error| {
        operation(OperationType::DrainNode, OperationState::Failed, OperationNote::DrainFailed { error })
    });
    let message = format!("draining the Node: {}", report.message);
    let condition = condition(ConditionStatus::False, DRAINING, message);
    ConclusionPart {
        condition: Some(reported(view.machine.preservation.reported_update.as_ref(), condition, now)),
        operation: failed.flatten(),
        drain_memory: (report.memory != view.drain.memory).then_some(report.memory),
        wake: Some(wake),
        ..ConclusionPart::default()
    }
}

fn condition(status: ConditionStatus, reason: &'static str, message: String) -> MachineCondition {
    MachineCondition { kind: MachineConditionKind::InPlaceUpdated, status, reason, message }
}

/// Returns the step that follows from the update. `None`: the health decides.
pub(super) fn machine(
    view: &MachineView,
    node: &NodeFact,
    progress: &MachineProgress,
    now: Timestamp,
) -> Option<MachineStep> {
    let machine = &view.machine;
    let is_handed_over = NodeUpdateStage::of(node) == Some(NodeUpdateStage::Drained)
        && has_label(node, view.names.candidate_for_update)
        && permits(view.gate, EffectKind::EmptyNode);
    match (machine.phase, outcome(view, node)) {
        (Phase::InPlaceUpdating | Phase::InPlaceUpdateFailed, Some(AgentResult::Successful)) => {
            Some(updated(view, node))
        }
        (Phase::InPlaceUpdating, Some(AgentResult::Failed { because })) => Some(failed(view, node, because)),
        (Phase::InPlaceUpdating, None) => {
            let because = "the Node is being updated in place";
            let wait = NodeWait { reason: MachineReason::UpdatingInPlace, what: because.to_owned(), because };
            Some(with_conditions(view, node, timed(view, progress, &wait, now)))
        }
        // A healthy Node does not end a failed update: only the update's success does.
        (Phase::Failed, None | Some(AgentResult::Failed { .. })) if is_out_of_service(view, node) => {
            let message = "failed: the update in place of the Node has failed";
            Some(with_conditions(view, node, rest(MachineReason::Failed, message, Requeue::Resync)))
        }
        (phase, None) if is_handed_over && takes_part(phase) => Some(handed_over(view, node)),
        (Phase::InPlaceUpdateFailed, _) => {
            let because = "the update in place of the Node has failed";
            let wait =
                NodeWait { reason: MachineReason::InPlaceUpdateFailed, what: because.to_owned(), because };
            Some(with_conditions(view, node, timed(view, progress, &wait, now)))
        }
        (
            Phase::New
            | Phase::Pending
            | Phase::Available
            | Phase::Running
            | Phase::Terminating
            | Phase::Unknown
            | Phase::Failed
            | Phase::CrashLoopBackOff
            | Phase::InPlaceUpdateSuccessful,
            _,
        ) => None,
    }
}

/// The Node was handed over and has not been taken back.
fn is_out_of_service(view: &MachineView, node: &NodeFact) -> bool {
    has_label(node, view.names.candidate_for_update)
        && matches!(NodeUpdateStage::of(node), Some(NodeUpdateStage::Ready | NodeUpdateStage::Failed))
}

fn with_conditions(view: &MachineView, node: &NodeFact, step: MachineStep) -> MachineStep {
    super::with_conditions(copied_conditions(&view.machine, node).copies_conditions, step)
}

fn handed_over(view: &MachineView, node: &NodeFact) -> MachineStep {
    let message = "the Node is empty and handed over to who updates it in place";
    entered(
        view,
        node,
        (Phase::InPlaceUpdating, OperationState::Processing, OperationNote::UpdatingInPlace),
        (MachineReason::UpdatingInPlace, message.to_owned()),
        condition(
            ConditionStatus::False,
            "Updating",
            "the Node is empty and is being updated in place".to_owned(),
        ),
    )
}

fn updated(view: &MachineView, node: &NodeFact) -> MachineStep {
    entered(
        view,
        node,
        (Phase::InPlaceUpdateSuccessful, OperationState::Successful, OperationNote::UpdatedInPlace),
        (MachineReason::UpdatedInPlace, "the Node was updated in place".to_owned()),
        condition(ConditionStatus::True, "Updated", "the Node was updated in place".to_owned()),
    )
}

fn failed(view: &MachineView, node: &NodeFact, because: String) -> MachineStep {
    let message = format!("the update in place of the Node has failed: {because}");
    entered(
        view,
        node,
        (Phase::InPlaceUpdateFailed, OperationState::Failed, OperationNote::InPlaceUpdateFailed { because }),
        (MachineReason::InPlaceUpdateFailed, message.clone()),
        condition(ConditionStatus::False, "Failed", message),
    )
}

fn entered(
    view: &MachineView,
    node: &NodeFact,
    (phase, state, note): (Phase, OperationState, OperationNote),
    (reason, message): (MachineReason, String),
    condition: MachineCondition,
) -> MachineStep {
    let is_timed = phase != Phase::InPlaceUpdateSuccessful;
    let status = StatusChange {
        phase: Some(phase),
        timeout_active: Some(is_timed),
        operation: operation(OperationType::InPlaceUpdate, state, note),
        conditions: vec![condition],
        ..copied_conditions(&view.machine, node)
    };
    conclude(status, reason, message, Requeue::Now)
}
