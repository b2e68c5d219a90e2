//! Preserves failed Machines, so that somebody can look at them.
//!
//! The request is an annotation on the Machine or its Node. While it is applied, the status has the end of the
//! preservation; that is written first and cleared last, so that an interrupted change is completed.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::drain::{DrainEnd, DrainReport};
use crate::machine::node::health::ConditionStatus;
use crate::machine::node::preservation::{self, AUTO_PRESERVED, NEVER};
use crate::machine::node::sync::{ControllerNodeMeta, TaintFact};
use crate::safety::thaw;
use crate::scheduling::gate::{EffectKind, FreezeReason, Gate, permits};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{
    LastOperation, MachineConclusion, MachineCondition, MachineConditionKind, MachineStep, OperationNote,
    Requeue,
};
use super::super::effect::{MachineEffect, MachineProgress, NodeConditionWrite};
use super::super::step::operation;
use super::emptying::{DrainState, empty};
use super::remark::{ConclusionPart, TaskResult, wake_at};
use crate::machine::delete::drain_progress::told;
use crate::machine::delete::hooks::whole_seconds;
use crate::machine::facts::{MachineView, NodeFact};

/// The condition of a Node that says whether its Machine is preserved, and its reasons, as others read them.
pub mod words {
    /// Type of the condition.
    pub const CONDITION: &str = "Preserved";
    /// Preserved because the limit of the set allows it.
    pub const BY_CONTROLLER: &str = "Preserved by MCM.";
    /// Preserved because somebody asked for it.
    pub const BY_USER: &str = "Preserved by user.";
    pub const STOPPED: &str = "Preservation stopped.";
}

/// Reason of our condition once the Node of a failed Machine is drained. Read back, so that it is drained once.
pub const DRAINED: &str = "PreservedAndDrained";

/// Reason of our condition while the Node of a failed Machine is being drained.
pub const DRAINING: &str = "Draining";

/// The beginning of the Node's condition message from then on, as others read it.
const DRAINED_TEXT: &str = "Preserved node drained successfully.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreserveRequest<'a> {
    /// No request, and no trace of an earlier one.
    None,
    /// An invalid request: everything stays as it is.
    Unreadable(&'a str),
    Keep {
        reason: &'static str,
    },
    /// No longer to be preserved.
    Stop {
        forgets: bool,
    },
}

fn value<'a>(view: &'a MachineView, node: Option<&'a NodeFact>) -> Result<&'a str, &'a str> {
    let keeping = &view.machine.keeping;
    let of_node = node.map(|node| node_wish(view, node));
    preservation::effective(keeping.wish.as_deref(), of_node, keeping.node_wish_heeded.as_deref())
}

fn node_wish<'a>(view: &MachineView, node: &'a NodeFact) -> &'a str {
    node.meta.annotations.get(view.names.preserve).map(String::as_str).unwrap_or_default()
}

fn node_decides(view: &MachineView, node: &NodeFact) -> bool {
    preservation::node_decides(Some(node_wish(view, node)), view.machine.keeping.node_wish_heeded.as_deref())
}

fn wish<'a>(
    view: &'a MachineView,
    node: Option<&'a NodeFact>,
    phase: Phase,
    now: Timestamp,
) -> PreserveRequest<'a> {
    let keeping = &view.machine.keeping;
    let value = match value(view, node) {
        Ok(value) => value,
        Err(unreadable) => return PreserveRequest::Unreadable(unreadable),
    };
    let is_over = keeping.until.is_some_and(|until| until <= now);
    let has_failed = phase == Phase::Failed;
    let heeded = keeping.node_wish_heeded.as_deref().unwrap_or_default();
    match value {
        "" if keeping.until.is_none() && heeded.is_empty() => PreserveRequest::None,
        "now" | "when-failed" | "auto-preserved" if is_over => PreserveRequest::Stop { forgets: true },
        "auto-preserved" if has_failed => PreserveRequest::Keep { reason: words::BY_CONTROLLER },
        "auto-preserved" => PreserveRequest::Stop { forgets: true },
        "now" => PreserveRequest::Keep { reason: words::BY_USER },
        "when-failed" if has_failed => PreserveRequest::Keep { reason: words::BY_USER },
        _ => PreserveRequest::Stop { forgets: false },
    }
}

/// Returns the request for the Machine, when it is time to act on it.
fn acted_on<'a>(
    view: &'a MachineView,
    node: Option<&'a NodeFact>,
    now: Timestamp,
) -> Option<PreserveRequest<'a>> {
    view.machine.keeping.until.map(|_| wish(view, node, view.machine.phase, now))
}

/// Returns the annotations and taints that the Node gets or loses.
pub(super) fn on_node(view: &MachineView, node: &NodeFact, now: Timestamp) -> ControllerNodeMeta {
    let names = view.names;
    let mut own = ControllerNodeMeta::default();
    let has = |name: &str| node.meta.annotations.contains_key(name);
    let taint = |value: &str| TaintFact {
        key: names.preserved_taint.to_owned(),
        value: value.to_owned(),
        effect: "NoSchedule".to_owned(),
        time_added: None,
    };
    let mut set = |name: &str, value: Option<&str>| {
        own.annotations.insert(name.to_owned(), value.map(str::to_owned));
    };
    match acted_on(view, Some(node), now) {
        None | Some(PreserveRequest::None | PreserveRequest::Unreadable(_)) => {}
        Some(PreserveRequest::Keep { .. }) => {
            // An annotation that others have set stays when the preservation ends.
            if has(names.scale_down_disabled_by_us) || !has(names.scale_down_disabled) {
                set(names.scale_down_disabled, Some("true"));
                set(names.scale_down_disabled_by_us, Some("true"));
            }
            if view.machine.phase == Phase::Failed {
                own.taints_on.push(taint(""));
            } else {
                own.taints_off.push(taint(""));
            }
        }
        Some(PreserveRequest::Stop { forgets }) => {
            if has(names.scale_down_disabled_by_us) {
                set(names.scale_down_disabled, None);
                set(names.scale_down_disabled_by_us, None);
            }
            if forgets {
                set(names.preserve, None);
            }
            own.taints_off.push(taint(""));
        }
    }
    own
}

/// Returns the annotations of the Machine to change.
pub(super) fn on_machine(
    view: &MachineView,
    node: Option<&NodeFact>,
    now: Timestamp,
) -> BTreeMap<String, Option<String>> {
    let keeping = &view.machine.keeping;
    let names = view.names;
    let mut changes = BTreeMap::new();
    let forgets = match acted_on(view, node, now) {
        Some(PreserveRequest::Stop { forgets }) => forgets,
        None
        | Some(PreserveRequest::None | PreserveRequest::Unreadable(_) | PreserveRequest::Keep { .. }) => {
            false
        }
    };
    let deciding = node.filter(|node| node_decides(view, node) && value(view, Some(*node)).is_ok());
    if keeping.wish.is_some() && (forgets || deciding.is_some()) {
        // A set would soon request the same again.
        let was_asked_by_set =
            view.machine.phase == Phase::Failed && keeping.wish.as_deref() == Some(AUTO_PRESERVED);
        let instead = (was_asked_by_set && forgets).then(|| NEVER.to_owned());
        changes.insert(names.preserve.to_owned(), instead);
    }
    if let Some(node) = deciding {
        let heeded =
            Some(node_wish(view, node)).filter(|wish| !wish.is_empty() && !forgets).map(str::to_owned);
        if heeded != keeping.node_wish_heeded {
            changes.insert(names.node_preserve_heeded.to_owned(), heeded);
        }
    } else if forgets && keeping.node_wish_heeded.is_some() {
        changes.insert(names.node_preserve_heeded.to_owned(), None);
    }
    changes
}

/// Drains the Node of a failed Machine and writes on the Node that it is preserved.
pub(super) fn node(
    view: &MachineView,
    node: &NodeFact,
    progress: &MachineProgress,
    now: Timestamp,
) -> TaskResult {
    let Some(until) = view.machine.keeping.until else { return TaskResult::nothing() };
    let has_failed = view.machine.phase == Phase::Failed;
    match acted_on(view, Some(node), now) {
        None | Some(PreserveRequest::None | PreserveRequest::Unreadable(_)) => TaskResult::nothing(),
        Some(PreserveRequest::Keep { reason }) if has_failed && !is_drained(view, node) => {
            emptied(view, node, reason, until, progress, now)
        }
        Some(PreserveRequest::Keep { reason }) => {
            let message = if has_failed {
                drained_until(until)
            } else {
                format!("Machine preserved until {}.", whole_seconds(until))
            };
            said(node, ConditionStatus::True, reason, message, progress)
        }
        Some(PreserveRequest::Stop { .. }) => match &node.preserved {
            Some(_) => {
                said(node, ConditionStatus::False, words::STOPPED, words::STOPPED.to_owned(), progress)
            }
            None => TaskResult::nothing(),
        },
    }
}

/// Returns whether an earlier reconcile, or another controller, has drained the Node since its Machine failed.
fn is_drained(view: &MachineView, node: &NodeFact) -> bool {
    let is_said = node
        .preserved
        .as_ref()
        .is_some_and(|said| said.status == ConditionStatus::True && said.message.starts_with(DRAINED_TEXT));
    view.machine.keeping.is_drained || is_said
}

/// Returns whether this task writes the condition of the Node in this reconcile.
pub(super) fn says(view: &MachineView, node: &NodeFact, now: Timestamp) -> bool {
    let none = MachineProgress::default();
    let is_act = |turn| match turn {
        TaskResult::Act(effects) => matches!(effects.as_slice(), [MachineEffect::SetNodeCondition { .. }]),
        TaskResult::Say(_) => false,
    };
    is_act(self::node(view, node, &none, now))
}

fn emptied(
    view: &MachineView,
    node: &NodeFact,
    reason: &'static str,
    until: Timestamp,
    progress: &MachineProgress,
    now: Timestamp,
) -> TaskResult {
    if let Gate::Frozen { reason: frozen, .. } = view.gate
        && !permits(view.gate, EffectKind::EmptyNode)
    {
        return TaskResult::Say(drain_held(until, frozen));
    }
    let since = thaw::counts_from(view.machine.phase_since.unwrap_or(now), view.thawed_at);
    match empty(view, node, since, progress, now) {
        DrainState::Act(effects) => TaskResult::Act(effects),
        DrainState::Waits(report, wake) => {
            let remark = ConclusionPart { wake: Some(wake), ..leaving(view, &report, until, now) };
            let has_failed = report.end == Some(DrainEnd::ForcedInPart) || !report.failures.is_empty();
            if !has_failed {
                return TaskResult::Say(remark);
            }
            let message = format!(
                "Preserved node could not be drained. Machine preserved until {}.",
                whole_seconds(until)
            );
            match said(node, ConditionStatus::False, reason, message, progress) {
                TaskResult::Act(effects) => TaskResult::Act(effects),
                TaskResult::Say(written) => {
                    TaskResult::Say(ConclusionPart { trouble: written.trouble, ..remark })
                }
            }
        }
        DrainState::Done(report) => {
            let message = drained_until(until);
            match said(node, ConditionStatus::True, reason, message, progress) {
                TaskResult::Act(effects) => TaskResult::Act(effects),
                TaskResult::Say(written) if written.trouble.is_some() => TaskResult::Say(written),
                TaskResult::Say(_) => TaskResult::Say(ConclusionPart {
                    condition: Some(MachineCondition {
                        kind: MachineConditionKind::Preserved,
                        status: ConditionStatus::True,
                        reason: DRAINED,
                        message: format!("{}; kept until {}", report.message, whole_seconds(until)),
                    }),
                    operation: over(view),
                    drain_memory: Some(report.memory),
                    ..ConclusionPart::default()
                }),
            }
        }
    }
}

fn drain_held(until: Timestamp, frozen: FreezeReason) -> ConclusionPart {
    let until = whole_seconds(until);
    let message = format!("kept until {until}; draining the Node is held: {}", frozen.sentence());
    let condition = MachineCondition {
        kind: MachineConditionKind::Preserved,
        status: ConditionStatus::True,
        reason: "DrainHeld",
        message,
    };
    ConclusionPart { condition: Some(condition), ..ConclusionPart::default() }
}

fn drained_until(until: Timestamp) -> String {
    format!("{DRAINED_TEXT} Machine preserved until {}.", whole_seconds(until))
}

/// A reported failure of the drain is over.
fn over(view: &MachineView) -> Option<LastOperation> {
    let last = view.machine.operation?;
    let has_failed = (last.kind, last.state) == (OperationType::DrainNode, OperationState::Failed);
    has_failed
        .then(|| operation(OperationType::DrainNode, OperationState::Successful, OperationNote::Drained))
        .flatten()
}

fn leaving(view: &MachineView, report: &DrainReport, until: Timestamp, now: Timestamp) -> ConclusionPart {
    let failed = report.error().map(|error| {
        operation(OperationType::DrainNode, OperationState::Failed, OperationNote::DrainFailed { error })
    });
    let condition = MachineCondition {
        kind: MachineConditionKind::Preserved,
        status: ConditionStatus::True,
        reason: DRAINING,
        message: format!("kept until {}; draining the Node: {}", whole_seconds(until), report.message),
    };
    ConclusionPart {
        condition: Some(told(view.machine.keeping.told_of_preservation.as_ref(), condition, now)),
        operation: failed.flatten(),
        drain_memory: (report.memory != view.drain.memory).then(|| report.memory.clone()),
        ..ConclusionPart::default()
    }
}

/// Writes the condition of the Node, unless it says so.
fn said(
    node: &NodeFact,
    status: ConditionStatus,
    reason: &str,
    message: String,
    progress: &MachineProgress,
) -> TaskResult {
    let is_said = node.preserved.as_ref().is_some_and(|said| {
        (said.status, said.reason.as_str(), said.message.as_str()) == (status, reason, message.as_str())
    });
    match &progress.node_condition {
        _ if is_said => TaskResult::nothing(),
        None => {
            let condition =
                NodeConditionWrite { kind: words::CONDITION.into(), status, reason: reason.into(), message };
            TaskResult::act(MachineEffect::SetNodeCondition { node: node.name.clone(), condition })
        }
        Some(result) => TaskResult::written("say on the Node that it is preserved", result),
    }
}

/// Applies preservation to a Machine that is being created and has no Node. Annotations are corrected after its
/// creation; a preservation that is over and would start again by its annotation stays until then.
pub(in crate::machine) fn in_creation(view: &MachineView, step: MachineStep, now: Timestamp) -> MachineStep {
    let is_written = on_machine(view, None, now).is_empty();
    match step {
        MachineStep::Finish(conclusion) => {
            MachineStep::Finish(conclude(view, None, conclusion, is_written, now))
        }
        act @ MachineStep::Act(_) => act,
    }
}

/// Begins and ends the preservation in the status, in the same write as the phase.
pub(super) fn conclude(
    view: &MachineView,
    node: Option<&NodeFact>,
    mut conclusion: MachineConclusion,
    is_written: bool,
    now: Timestamp,
) -> MachineConclusion {
    let until = view.machine.keeping.until;
    let phase = conclusion.status.phase.unwrap_or(view.machine.phase);
    let condition = |status, reason, message| MachineCondition {
        kind: MachineConditionKind::Preserved,
        status,
        reason,
        message,
    };
    if until.is_some() && phase != view.machine.phase {
        // The reconcile that sees this phase updates the Node.
        if !matches!(conclusion.wake, Requeue::Retry { .. }) {
            conclusion.wake = Requeue::Now;
        }
        return conclusion;
    }
    match (wish(view, node, phase, now), until) {
        (PreserveRequest::None, _) | (PreserveRequest::Stop { .. }, None) => {}
        (PreserveRequest::Unreadable(text), _) => {
            let text: String = text.chars().take(40).collect();
            let message = format!(
                "the Node's annotation {} says {text:?}, which is none of now, when-failed, auto-preserved and false: it \
                 is not heeded",
                view.names.preserve
            );
            conclusion.status.conditions.push(condition(ConditionStatus::Unknown, "UnknownWish", message));
        }
        (PreserveRequest::Keep { reason }, None) => {
            let until = now.checked_add(view.settings.preserve_timeout).unwrap_or(Timestamp::MAX);
            let until = whole_seconds(until);
            conclusion.status.preserve_until = Some(Some(until));
            conclusion.status.conditions.push(condition(
                ConditionStatus::True,
                "Preserved",
                kept(reason, until),
            ));
            if !matches!(conclusion.wake, Requeue::Retry { .. }) {
                conclusion.wake = Requeue::Now;
            }
        }
        (PreserveRequest::Keep { reason }, Some(until)) => {
            let is_told =
                conclusion.status.conditions.iter().any(|own| own.kind == MachineConditionKind::Preserved);
            let has_failed = phase == Phase::Failed;
            let is_drained = has_failed && view.machine.keeping.is_drained;
            if !is_told && !is_drained && has_failed && node.is_some_and(|node| self::is_drained(view, node))
            {
                let message = format!("{DRAINED_TEXT} {}", kept(reason, until));
                conclusion.status.conditions.push(condition(ConditionStatus::True, DRAINED, message));
            } else if !is_told && !is_drained {
                conclusion.status.conditions.push(condition(
                    ConditionStatus::True,
                    "Preserved",
                    kept(reason, until),
                ));
            }
            let due = ConclusionPart { wake: Some(wake_at(until, now)), ..ConclusionPart::default() };
            conclusion = due.add_to(conclusion);
        }
        (PreserveRequest::Stop { .. }, Some(_)) if is_written => {
            conclusion.status.preserve_until = Some(None);
            let message = "it is not to be kept any more, or was kept for as long as it was to be".to_owned();
            conclusion.status.conditions.push(condition(ConditionStatus::False, "Stopped", message));
        }
        (PreserveRequest::Stop { .. }, Some(_)) => {}
    }
    conclusion
}

fn kept(reason: &str, until: Timestamp) -> String {
    let by = if reason == words::BY_CONTROLLER { "its set has room for it" } else { "somebody asked for it" };
    format!("kept until {}, since {by}", whole_seconds(until))
}
