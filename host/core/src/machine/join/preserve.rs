//! Machines that are kept although they fail, so that somebody can look at them.
//!
//! The wish stands as an annotation on the Machine or its Node. While it is heeded the status says until when; that is written
//! first and cleared last, so that whatever happens in between is found and finished.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::drain::{End, Report};
use crate::machine::node::health::Status;
use crate::machine::node::preservation::{self, AUTO_PRESERVED, NEVER};
use crate::machine::node::sync::{Own, TaintFact};
use crate::safety::thaw;
use crate::scheduling::gate::{EffectKind, FreezeReason, Gate, permits};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::super::conclusion::{Conclusion, ConditionKind, Note, Operation, OwnCondition, Step, Wake};
use super::super::effect::{Effect, NodeConditionWrite, Progress};
use super::super::step::operation;
use super::emptying::{Emptying, empty};
use super::remark::{Remark, Turn, wake_at};
use crate::machine::delete::drain_progress::told;
use crate::machine::delete::hooks::whole_seconds;
use crate::machine::facts::{MachineView, NodeFact};

/// The condition of a Node that says whether its Machine is preserved, and its reasons, as others read them.
pub mod words {
    /// Type of the condition.
    pub const CONDITION: &str = "Preserved";
    /// Preserved because the set of the Machine has room for it.
    pub const BY_CONTROLLER: &str = "Preserved by MCM.";
    /// Preserved because somebody asked for it.
    pub const BY_USER: &str = "Preserved by user.";
    /// Preserved no more.
    pub const STOPPED: &str = "Preservation stopped.";
}

/// Reason of our condition once the Node of a failed Machine is drained. Read back, so that it is drained once.
pub const DRAINED: &str = "PreservedAndDrained";

/// Reason of our condition while the Node of a failed Machine is being drained.
pub const DRAINING: &str = "Draining";

/// Begins what the condition of the Node says from then on, as others read it.
const DRAINED_TEXT: &str = "Preserved node drained successfully.";

/// What is wished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish<'a> {
    /// Nothing, and nothing is left of an earlier wish.
    None,
    /// Something that nobody understands: everything stays as it is.
    Unreadable(&'a str),
    /// To be kept.
    Keep { reason: &'static str },
    /// Not to be kept any more.
    Stop { forgets: bool },
}

/// Which annotation counts.
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

fn wish<'a>(view: &'a MachineView, node: Option<&'a NodeFact>, phase: Phase, now: Timestamp) -> Wish<'a> {
    let keeping = &view.machine.keeping;
    let value = match value(view, node) {
        Ok(value) => value,
        Err(unreadable) => return Wish::Unreadable(unreadable),
    };
    let is_over = keeping.until.is_some_and(|until| until <= now);
    let has_failed = phase == Phase::Failed;
    let heeded = keeping.node_wish_heeded.as_deref().unwrap_or_default();
    match value {
        "" if keeping.until.is_none() && heeded.is_empty() => Wish::None,
        "now" | "when-failed" | "auto-preserved" if is_over => Wish::Stop { forgets: true },
        "auto-preserved" if has_failed => Wish::Keep { reason: words::BY_CONTROLLER },
        "auto-preserved" => Wish::Stop { forgets: true },
        "now" => Wish::Keep { reason: words::BY_USER },
        "when-failed" if has_failed => Wish::Keep { reason: words::BY_USER },
        _ => Wish::Stop { forgets: false },
    }
}

/// The wish for the Machine as it is, when it is the time to act on it.
fn acted_on<'a>(view: &'a MachineView, node: Option<&'a NodeFact>, now: Timestamp) -> Option<Wish<'a>> {
    view.machine.keeping.until.map(|_| wish(view, node, view.machine.phase, now))
}

/// What the Node is to carry, or not any more.
pub(super) fn on_node(view: &MachineView, node: &NodeFact, now: Timestamp) -> Own {
    let names = view.names;
    let mut own = Own::default();
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
        None | Some(Wish::None | Wish::Unreadable(_)) => {}
        Some(Wish::Keep { .. }) => {
            // Whoever has set it himself keeps it when the preservation ends.
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
        Some(Wish::Stop { forgets }) => {
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

/// Annotations of the Machine that differ from what they should be.
pub(super) fn on_machine(
    view: &MachineView,
    node: Option<&NodeFact>,
    now: Timestamp,
) -> BTreeMap<String, Option<String>> {
    let keeping = &view.machine.keeping;
    let names = view.names;
    let mut changes = BTreeMap::new();
    let forgets = match acted_on(view, node, now) {
        Some(Wish::Stop { forgets }) => forgets,
        None | Some(Wish::None | Wish::Unreadable(_) | Wish::Keep { .. }) => false,
    };
    let deciding = node.filter(|node| node_decides(view, node) && value(view, Some(*node)).is_ok());
    if keeping.wish.is_some() && (forgets || deciding.is_some()) {
        // A set would soon ask for the same again.
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

/// Empties the Node of a failed Machine and says on the Node that it is kept.
pub(super) fn node(view: &MachineView, node: &NodeFact, progress: &Progress, now: Timestamp) -> Turn {
    let Some(until) = view.machine.keeping.until else { return Turn::nothing() };
    let has_failed = view.machine.phase == Phase::Failed;
    match acted_on(view, Some(node), now) {
        None | Some(Wish::None | Wish::Unreadable(_)) => Turn::nothing(),
        Some(Wish::Keep { reason }) if has_failed && !is_drained(view, node) => {
            emptied(view, node, reason, until, progress, now)
        }
        Some(Wish::Keep { reason }) => {
            let message = if has_failed {
                drained_until(until)
            } else {
                format!("Machine preserved until {}.", whole_seconds(until))
            };
            said(node, Status::True, reason, message, progress)
        }
        Some(Wish::Stop { .. }) => match &node.preserved {
            Some(_) => said(node, Status::False, words::STOPPED, words::STOPPED.to_owned(), progress),
            None => Turn::nothing(),
        },
    }
}

/// An earlier pass, or another controller, has drained the Node since its Machine failed.
fn is_drained(view: &MachineView, node: &NodeFact) -> bool {
    let is_said = node
        .preserved
        .as_ref()
        .is_some_and(|said| said.status == Status::True && said.message.starts_with(DRAINED_TEXT));
    view.machine.keeping.is_drained || is_said
}

/// The condition of the Node is for this question to write, in this pass or until it is written.
pub(super) fn says(view: &MachineView, node: &NodeFact, now: Timestamp) -> bool {
    let none = Progress::default();
    let is_act = |turn| match turn {
        Turn::Act(effects) => matches!(effects.as_slice(), [Effect::SetNodeCondition { .. }]),
        Turn::Say(_) => false,
    };
    is_act(self::node(view, node, &none, now))
}

fn emptied(
    view: &MachineView,
    node: &NodeFact,
    reason: &'static str,
    until: Timestamp,
    progress: &Progress,
    now: Timestamp,
) -> Turn {
    if let Gate::Frozen { reason: frozen, .. } = view.gate
        && !permits(view.gate, EffectKind::EmptyNode)
    {
        return Turn::Say(drain_held(until, frozen));
    }
    let since = thaw::counts_from(view.machine.phase_since.unwrap_or(now), view.thawed_at);
    match empty(view, node, since, progress, now) {
        Emptying::Act(effects) => Turn::Act(effects),
        Emptying::Waits(report, wake) => {
            let remark = Remark { wake: Some(wake), ..leaving(view, &report, until, now) };
            let has_failed = report.end == Some(End::ForcedInPart) || !report.failures.is_empty();
            if !has_failed {
                return Turn::Say(remark);
            }
            let message = format!(
                "Preserved node could not be drained. Machine preserved until {}.",
                whole_seconds(until)
            );
            match said(node, Status::False, reason, message, progress) {
                Turn::Act(effects) => Turn::Act(effects),
                Turn::Say(written) => Turn::Say(Remark { trouble: written.trouble, ..remark }),
            }
        }
        Emptying::Done(report) => {
            let message = drained_until(until);
            match said(node, Status::True, reason, message, progress) {
                Turn::Act(effects) => Turn::Act(effects),
                Turn::Say(written) if written.trouble.is_some() => Turn::Say(written),
                Turn::Say(_) => Turn::Say(Remark {
                    condition: Some(OwnCondition {
                        kind: ConditionKind::Preserved,
                        status: Status::True,
                        reason: DRAINED,
                        message: format!("{}; kept until {}", report.message, whole_seconds(until)),
                    }),
                    operation: over(view),
                    drain_memory: Some(report.memory),
                    ..Remark::default()
                }),
            }
        }
    }
}

fn drain_held(until: Timestamp, frozen: FreezeReason) -> Remark {
    let until = whole_seconds(until);
    let message = format!("kept until {until}; draining the Node is held: {}", frozen.sentence());
    let condition =
        OwnCondition { kind: ConditionKind::Preserved, status: Status::True, reason: "DrainHeld", message };
    Remark { condition: Some(condition), ..Remark::default() }
}

fn drained_until(until: Timestamp) -> String {
    format!("{DRAINED_TEXT} Machine preserved until {}.", whole_seconds(until))
}

/// A failure of the drain that is told is over.
fn over(view: &MachineView) -> Option<Operation> {
    let last = view.machine.operation?;
    let has_failed = (last.kind, last.state) == (OperationType::DrainNode, OperationState::Failed);
    has_failed
        .then(|| operation(OperationType::DrainNode, OperationState::Successful, Note::Drained))
        .flatten()
}

fn leaving(view: &MachineView, report: &Report, until: Timestamp, now: Timestamp) -> Remark {
    let failed = report.error().map(|error| {
        operation(OperationType::DrainNode, OperationState::Failed, Note::DrainFailed { error })
    });
    let condition = OwnCondition {
        kind: ConditionKind::Preserved,
        status: Status::True,
        reason: DRAINING,
        message: format!("kept until {}; draining the Node: {}", whole_seconds(until), report.message),
    };
    Remark {
        condition: Some(told(view.machine.keeping.told_of_preservation.as_ref(), condition, now)),
        operation: failed.flatten(),
        drain_memory: (report.memory != view.drain.memory).then(|| report.memory.clone()),
        ..Remark::default()
    }
}

/// Writes the condition of the Node, unless it says so.
fn said(node: &NodeFact, status: Status, reason: &str, message: String, progress: &Progress) -> Turn {
    let is_said = node.preserved.as_ref().is_some_and(|said| {
        (said.status, said.reason.as_str(), said.message.as_str()) == (status, reason, message.as_str())
    });
    match &progress.node_condition {
        _ if is_said => Turn::nothing(),
        None => {
            let condition =
                NodeConditionWrite { kind: words::CONDITION.into(), status, reason: reason.into(), message };
            Turn::act(Effect::SetNodeCondition { node: node.name.clone(), condition })
        }
        Some(result) => Turn::written("say on the Node that it is preserved", result),
    }
}

/// The same for a Machine that is being created and has no Node. Annotations are put right once it is not created any more; what
/// is over and would begin anew by its annotation stays until then.
pub(in crate::machine) fn in_creation(view: &MachineView, step: Step, now: Timestamp) -> Step {
    let is_written = on_machine(view, None, now).is_empty();
    match step {
        Step::Finish(conclusion) => Step::Finish(conclude(view, None, conclusion, is_written, now)),
        act @ Step::Act(_) => act,
    }
}

/// Begins and ends the preservation in the status, in the same write as the phase that it is about.
pub(super) fn conclude(
    view: &MachineView,
    node: Option<&NodeFact>,
    mut conclusion: Conclusion,
    is_written: bool,
    now: Timestamp,
) -> Conclusion {
    let until = view.machine.keeping.until;
    let phase = conclusion.status.phase.unwrap_or(view.machine.phase);
    let condition =
        |status, reason, message| OwnCondition { kind: ConditionKind::Preserved, status, reason, message };
    if until.is_some() && phase != view.machine.phase {
        // What it means for the Node is done by the pass that sees this phase.
        if !matches!(conclusion.wake, Wake::Retry { .. }) {
            conclusion.wake = Wake::Now;
        }
        return conclusion;
    }
    match (wish(view, node, phase, now), until) {
        (Wish::None, _) | (Wish::Stop { .. }, None) => {}
        (Wish::Unreadable(text), _) => {
            let text: String = text.chars().take(40).collect();
            let message = format!(
                "the Node's annotation {} says {text:?}, which is none of now, when-failed, auto-preserved and false: it \
                 is not heeded",
                view.names.preserve
            );
            conclusion.status.conditions.push(condition(Status::Unknown, "UnknownWish", message));
        }
        (Wish::Keep { reason }, None) => {
            let until = now.checked_add(view.settings.preserve_timeout).unwrap_or(Timestamp::MAX);
            let until = whole_seconds(until);
            conclusion.status.preserve_until = Some(Some(until));
            conclusion.status.conditions.push(condition(Status::True, "Preserved", kept(reason, until)));
            if !matches!(conclusion.wake, Wake::Retry { .. }) {
                conclusion.wake = Wake::Now;
            }
        }
        (Wish::Keep { reason }, Some(until)) => {
            let is_told = conclusion.status.conditions.iter().any(|own| own.kind == ConditionKind::Preserved);
            let has_failed = phase == Phase::Failed;
            let is_drained = has_failed && view.machine.keeping.is_drained;
            if !is_told && !is_drained && has_failed && node.is_some_and(|node| self::is_drained(view, node))
            {
                let message = format!("{DRAINED_TEXT} {}", kept(reason, until));
                conclusion.status.conditions.push(condition(Status::True, DRAINED, message));
            } else if !is_told && !is_drained {
                conclusion.status.conditions.push(condition(Status::True, "Preserved", kept(reason, until)));
            }
            let due = Remark { wake: Some(wake_at(until, now)), ..Remark::default() };
            conclusion = due.add_to(conclusion);
        }
        (Wish::Stop { .. }, Some(_)) if is_written => {
            conclusion.status.preserve_until = Some(None);
            let message = "it is not to be kept any more, or was kept for as long as it was to be".to_owned();
            conclusion.status.conditions.push(condition(Status::False, "Stopped", message));
        }
        (Wish::Stop { .. }, Some(_)) => {}
    }
    conclusion
}

fn kept(reason: &str, until: Timestamp) -> String {
    let by = if reason == words::BY_CONTROLLER { "its set has room for it" } else { "somebody asked for it" };
    format!("kept until {}, since {by}", whole_seconds(until))
}
