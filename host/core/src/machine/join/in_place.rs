//! Updates in place: the Node is emptied, handed over to its agent, and taken back with the result.
//!
//! Labels of the Node say what is wanted and how it went; a condition of the Node says how far it is, and is read by the
//! agent. The order is the safety: the Machine says InPlaceUpdating, where its health does not count, before the agent may begin.

use jiff::Timestamp;

use crate::drain::Report;
use crate::machine::node::health::Status;
use crate::safety::thaw;
use crate::scheduling::gate::{EffectKind, Gate, permits};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{
    Conclusion, ConditionKind, Note, OwnCondition, Reason, StatusChange, Step, Wake,
};
use super::super::effect::{Effect, NodeConditionWrite, Progress};
use super::super::step::{operation, rest};
use super::copied_conditions;
use super::emptying::{Emptying, empty};
use super::remark::{Remark, Turn};
use super::timers::{Wait, timed};
use crate::machine::delete::drain_progress::told;
use crate::machine::facts::{MachineView, NodeFact};

/// The condition of a Node that says how far its update is, and its reasons, as others read them.
pub mod words {
    /// Type of the condition. Its status is always True.
    pub const CONDITION: &str = "InPlaceUpdate";
    /// May be updated.
    pub const CANDIDATE: &str = "CandidateForUpdate";
    /// Is to be updated.
    pub const SELECTED: &str = "SelectedForUpdate";
    /// Is empty.
    pub const DRAINED: &str = "DrainSuccessful";
    /// Its agent may begin.
    pub const READY: &str = "ReadyForUpdate";
    /// Its agent has done it.
    pub const SUCCESSFUL: &str = "UpdateSuccessful";
    /// Its agent could not do it.
    pub const FAILED: &str = "UpdateFailed";
}

/// Reason of our condition while the Node is being emptied.
pub const DRAINING: &str = "Draining";

/// Reason of our condition while the host is frozen.
const HELD: &str = "Held";

/// How far the condition of the Node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Candidate,
    Selected,
    Drained,
    Ready,
    Successful,
    Failed,
}

impl Stage {
    fn of(node: &NodeFact) -> Option<Self> {
        match node.in_place.as_ref()?.reason.as_str() {
            words::CANDIDATE => Some(Self::Candidate),
            words::SELECTED => Some(Self::Selected),
            words::DRAINED => Some(Self::Drained),
            words::READY => Some(Self::Ready),
            words::SUCCESSFUL => Some(Self::Successful),
            words::FAILED => Some(Self::Failed),
            // What nobody knows counts as nothing, and the condition is written anew.
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

/// What the agent of the Node says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Successful,
    Failed { because: String },
}

fn outcome(view: &MachineView, node: &NodeFact) -> Option<Outcome> {
    match node.meta.labels.get(view.names.update_result)?.as_str() {
        "successful" => Some(Outcome::Successful),
        "failed" => {
            let because = node.meta.annotations.get(view.names.update_failed_reason);
            let because = because.cloned().unwrap_or_else(|| "its agent gives no reason".to_owned());
            Some(Outcome::Failed { because })
        }
        _ => None,
    }
}

/// Whatever it says: who sets these labels means their presence.
fn has_label(node: &NodeFact, name: &str) -> bool {
    node.meta.labels.contains_key(name)
}

/// What the labels of the Node ask for.
fn next(
    view: &MachineView,
    node: &NodeFact,
    stage: Option<Stage>,
    outcome: Option<&Outcome>,
) -> Option<Stage> {
    match (stage, outcome) {
        (None, _) | (Some(Stage::Successful), None) => Some(Stage::Candidate),
        (Some(stage), Some(Outcome::Successful)) => (stage != Stage::Successful).then_some(Stage::Successful),
        (Some(stage), Some(Outcome::Failed { .. })) => (stage != Stage::Failed).then_some(Stage::Failed),
        (Some(Stage::Candidate), None) => {
            has_label(node, view.names.selected_for_update).then_some(Stage::Selected)
        }
        (Some(Stage::Drained), None) => {
            (view.machine.phase == Phase::InPlaceUpdating).then_some(Stage::Ready)
        }
        (Some(Stage::Selected | Stage::Ready | Stage::Failed), None) => None,
    }
}

/// Writes the Node's condition and empties the Node. `may_say`: no other condition of the Node is written in this pass.
pub(super) fn node(
    view: &MachineView,
    node: &NodeFact,
    progress: &Progress,
    may_say: bool,
    now: Timestamp,
) -> Turn {
    if !has_label(node, view.names.candidate_for_update) {
        if is_left_selected(view, node) {
            return said(node, Stage::Candidate, None, progress, may_say);
        }
        return stopped(view);
    }
    if !permits(view.gate, EffectKind::NodeWrite) {
        return Turn::nothing();
    }
    let stage = Stage::of(node);
    let outcome = outcome(view, node);
    if let Some(held) = held(view, node, stage, outcome.as_ref()) {
        return Turn::Say(held);
    }
    if let Some(next) = next(view, node, stage, outcome.as_ref()) {
        return said(node, next, outcome.as_ref(), progress, may_say);
    }
    match stage {
        Some(Stage::Selected) if takes_part(view.machine.phase) => {
            emptied(view, node, progress, may_say, now)
        }
        _ => Turn::nothing(),
    }
}

/// Its condition says that it is to be updated, and no label does any more: the rollout was turned back, for example.
fn is_left_selected(view: &MachineView, node: &NodeFact) -> bool {
    Stage::of(node) == Some(Stage::Selected)
        && !has_label(node, view.names.selected_for_update)
        && takes_part(view.machine.phase)
        && permits(view.gate, EffectKind::NodeWrite)
}

/// Whether saying this takes the Node out of service, or says that it is.
pub(in crate::machine) fn takes_out_of_service(condition: &NodeConditionWrite) -> bool {
    condition.kind == words::CONDITION
        && matches!(condition.reason.as_str(), words::SELECTED | words::DRAINED | words::READY)
}

/// While the host is frozen no Node is taken out of service. What its agent says of an update that has begun is written down.
fn held(
    view: &MachineView,
    node: &NodeFact,
    stage: Option<Stage>,
    outcome: Option<&Outcome>,
) -> Option<Remark> {
    let Gate::Frozen { reason, .. } = view.gate else { return None };
    let is_wanted = match stage {
        Some(Stage::Candidate) => has_label(node, view.names.selected_for_update),
        Some(Stage::Selected | Stage::Drained) => true,
        None | Some(Stage::Ready | Stage::Successful | Stage::Failed) => false,
    };
    if !is_wanted || outcome.is_some() || permits(view.gate, EffectKind::EmptyNode) {
        return None;
    }
    let message = format!("the update in place of the Node is held: {}", reason.sentence());
    Some(Remark { condition: Some(condition(Status::False, HELD, message)), ..Remark::default() })
}

/// A Node that was being emptied, and is no candidate any more.
fn stopped(view: &MachineView) -> Turn {
    let told = view.machine.keeping.told_of_update.as_ref();
    let message = match told.map(|told| told.reason.as_str()) {
        Some(DRAINING) => {
            "the Node is no candidate for an update in place any more: its drain has stopped, and it stays cordoned until somebody \
             uncordons it"
        }
        Some(HELD) => "the Node is no candidate for an update in place any more",
        Some(_) | None => return Turn::nothing(),
    };
    let condition = Some(condition(Status::False, "Stopped", message.to_owned()));
    Turn::Say(Remark { condition, ..Remark::default() })
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
    stage: Stage,
    outcome: Option<&Outcome>,
    progress: &Progress,
    may_say: bool,
) -> Turn {
    let message = match (stage, outcome) {
        (Stage::Candidate, _) => "Node may be updated in place".to_owned(),
        (Stage::Selected, _) => "Node is selected for an update in place".to_owned(),
        (Stage::Drained, _) => "Node is drained".to_owned(),
        (Stage::Ready, _) => "Node is ready for its update in place".to_owned(),
        (Stage::Successful, _) => "Node in-place update successful".to_owned(),
        (Stage::Failed, Some(Outcome::Failed { because })) => {
            format!("Node in-place update failed: {because}")
        }
        (Stage::Failed, _) => "Node in-place update failed".to_owned(),
    };
    match &progress.node_condition {
        Some(result) if may_say => Turn::written("say on the Node how far its update in place is", result),
        None if may_say => {
            let condition = NodeConditionWrite {
                kind: words::CONDITION.into(),
                status: Status::True,
                reason: stage.reason().into(),
                message,
            };
            Turn::act(Effect::SetNodeCondition { node: node.name.clone(), condition })
        }
        // The write of the other condition brings the next pass.
        Some(_) | None => Turn::nothing(),
    }
}

fn emptied(view: &MachineView, node: &NodeFact, progress: &Progress, may_say: bool, now: Timestamp) -> Turn {
    match &progress.cordon {
        None if !node.is_cordoned => return Turn::act(Effect::Cordon { node: node.name.clone() }),
        Some(Err(error)) => return Turn::written("cordon the Node for its update", &Err(error.clone())),
        None | Some(Ok(())) => {}
    }
    let since = node.in_place.as_ref().and_then(|told| told.since).unwrap_or(now);
    let since = thaw::counts_from(since, view.thawed_at);
    match empty(view, node, since, progress, now) {
        Emptying::Act(effects) => Turn::Act(effects),
        Emptying::Waits(report, wake) => Turn::Say(leaving(view, report, wake, now)),
        Emptying::Done(_) => said(node, Stage::Drained, None, progress, may_say),
    }
}

fn leaving(view: &MachineView, report: Report, wake: Wake, now: Timestamp) -> Remark {
    let failed = report.error().map(|error| {
        operation(OperationType::DrainNode, OperationState::Failed, Note::DrainFailed { error })
    });
    let message = format!("draining the Node: {}", report.message);
    let condition = condition(Status::False, DRAINING, message);
    Remark {
        condition: Some(told(view.machine.keeping.told_of_update.as_ref(), condition, now)),
        operation: failed.flatten(),
        drain_memory: (report.memory != view.drain.memory).then_some(report.memory),
        wake: Some(wake),
        ..Remark::default()
    }
}

fn condition(status: Status, reason: &'static str, message: String) -> OwnCondition {
    OwnCondition { kind: ConditionKind::InPlaceUpdated, status, reason, message }
}

/// What the update makes of the Machine. `None`: its health decides.
pub(super) fn machine(
    view: &MachineView,
    node: &NodeFact,
    progress: &Progress,
    now: Timestamp,
) -> Option<Step> {
    let machine = &view.machine;
    let is_handed_over = Stage::of(node) == Some(Stage::Drained)
        && has_label(node, view.names.candidate_for_update)
        && permits(view.gate, EffectKind::EmptyNode);
    match (machine.phase, outcome(view, node)) {
        (Phase::InPlaceUpdating | Phase::InPlaceUpdateFailed, Some(Outcome::Successful)) => {
            Some(updated(view, node))
        }
        (Phase::InPlaceUpdating, Some(Outcome::Failed { because })) => Some(failed(view, node, because)),
        (Phase::InPlaceUpdating, None) => {
            let because = "the Node is being updated in place";
            let wait = Wait { reason: Reason::UpdatingInPlace, what: because.to_owned(), because };
            Some(with_conditions(view, node, timed(view, progress, &wait, now)))
        }
        // A Node that is healthy all the same does not make up for its update: only the update's success does.
        (Phase::Failed, None | Some(Outcome::Failed { .. })) if is_out_of_service(view, node) => {
            let message = "failed: the update in place of the Node has failed";
            Some(with_conditions(view, node, rest(Reason::Failed, message, Wake::Resync)))
        }
        (phase, None) if is_handed_over && takes_part(phase) => Some(handed_over(view, node)),
        (Phase::InPlaceUpdateFailed, _) => {
            let because = "the update in place of the Node has failed";
            let wait = Wait { reason: Reason::InPlaceUpdateFailed, what: because.to_owned(), because };
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
        && matches!(Stage::of(node), Some(Stage::Ready | Stage::Failed))
}

fn with_conditions(view: &MachineView, node: &NodeFact, step: Step) -> Step {
    super::with_conditions(copied_conditions(&view.machine, node).copies_conditions, step)
}

fn handed_over(view: &MachineView, node: &NodeFact) -> Step {
    let message = "the Node is empty and handed over to who updates it in place";
    entered(
        view,
        node,
        (Phase::InPlaceUpdating, OperationState::Processing, Note::UpdatingInPlace),
        (Reason::UpdatingInPlace, message.to_owned()),
        condition(Status::False, "Updating", "the Node is empty and is being updated in place".to_owned()),
    )
}

fn updated(view: &MachineView, node: &NodeFact) -> Step {
    entered(
        view,
        node,
        (Phase::InPlaceUpdateSuccessful, OperationState::Successful, Note::UpdatedInPlace),
        (Reason::UpdatedInPlace, "the Node was updated in place".to_owned()),
        condition(Status::True, "Updated", "the Node was updated in place".to_owned()),
    )
}

fn failed(view: &MachineView, node: &NodeFact, because: String) -> Step {
    let message = format!("the update in place of the Node has failed: {because}");
    entered(
        view,
        node,
        (Phase::InPlaceUpdateFailed, OperationState::Failed, Note::InPlaceUpdateFailed { because }),
        (Reason::InPlaceUpdateFailed, message.clone()),
        condition(Status::False, "Failed", message),
    )
}

fn entered(
    view: &MachineView,
    node: &NodeFact,
    (phase, state, note): (Phase, OperationState, Note),
    (reason, message): (Reason, String),
    condition: OwnCondition,
) -> Step {
    let is_timed = phase != Phase::InPlaceUpdateSuccessful;
    let status = StatusChange {
        phase: Some(phase),
        timeout_active: Some(is_timed),
        operation: operation(OperationType::InPlaceUpdate, state, note),
        conditions: vec![condition],
        ..copied_conditions(&view.machine, node)
    };
    Step::Finish(Conclusion { status, reason, message, wake: Wake::Now })
}
