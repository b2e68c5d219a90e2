//! The Node is drained before its VM is deleted.

use std::ops::ControlFlow::{Break, Continue};

use jiff::Timestamp;

use crate::drain::{self, DrainEnd, DrainReport, Force, WaitCause};
use crate::driver::write_error::ActError;
use crate::machine::node::health::ConditionStatus;
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::phase::{OperationState, Phase};

use super::super::conclusion::{
    MachineConclusion, MachineCondition, MachineConditionKind, MachineReason, MachineStep, Requeue,
    StatusChange,
};
use super::super::effect::{MachineEffect, MachineProgress, NodeConditionWrite};
use super::super::step::{PREREQUISITE, retry_write};
use super::drain_progress::is_worth_telling;
use super::force;
use super::hooks::{self, HookPoint, whole_seconds};
use super::node::is_past;
use super::note::DeletionNote;
use super::{StageFlow, act, finish, stop};
use crate::machine::facts::{MachineView, NodeFact, NodePresence, TargetFact};

/// The condition of a Node whose Machine is being deleted.
const TERMINATING: &str = "Terminating";

/// How the drain ended.
#[derive(Clone, Debug)]
pub(super) struct Drained {
    /// The content of the status.
    pub(super) note: DeletionNote,
    /// Condition `Drained`, if this reconcile sets it.
    pub(super) condition: Option<MachineCondition>,
}

impl Drained {
    fn without(note: DeletionNote) -> Self {
        Self { note, condition: None }
    }
}

/// Continues when the drain is over or not needed.
pub(super) fn over(
    view: &MachineView,
    progress: &MachineProgress,
    force: Option<Force>,
    now: Timestamp,
) -> StageFlow<Drained> {
    if !view.has_target() {
        return Continue(Drained::without(DeletionNote::NoTargetCluster));
    }
    if is_past(view) {
        return Continue(Drained::without(DeletionNote::VolumesDetached));
    }
    let node = view.node();
    if let Some(node) = node {
        said_on_node(view, node, progress, force)?;
    }
    hooks_are_done(view, now)?;
    let Some(node) = node else { return without_node(view, force) };
    let trouble = cordoned(node, progress, force)?;
    let settings = view.settings.drain();
    match drain::step(&request(view, node, force, &settings, now), &progress.drain, now) {
        drain::DrainStep::Act(effects) => {
            Break(MachineStep::Act(effects.into_iter().map(MachineEffect::Drain).collect()))
        }
        drain::DrainStep::Done { report } => Continue(done(report, trouble)),
        drain::DrainStep::Wait { report, wake } => stop(waiting(view, report, wake, now)),
    }
}

/// No Node is visible. While the caches are as old as an outage, the VM may have one.
fn without_node(view: &MachineView, force: Option<Force>) -> StageFlow<Drained> {
    let outage = match view.gate {
        Gate::Frozen {
            reason: reason @ (FreezeReason::TargetClusterUnreachable | FreezeReason::CatchingUp),
            ..
        } => Some(reason),
        Gate::Frozen { .. } | Gate::Open => None,
    };
    let may_be_there = matches!(view.target, TargetFact::Cluster(NodePresence::Absent));
    let Some(outage) =
        outage.filter(|_| may_be_there && view.machine.provider_id.is_some() && force.is_none())
    else {
        return Continue(Drained::without(DeletionNote::NoNodeToDrain));
    };
    let error = format!("the VM may have a Node that has to be drained: {}", outage.sentence());
    let wake = Requeue::Retry { policy: PREREQUISITE, hint: None };
    let note = DeletionNote::DrainFailed { error: error.clone() };
    stop(finish(MachineReason::DrainFailed, error, (note, OperationState::Failed), wake))
}

/// Writes on the Node that its Machine is being deleted, and whether it had failed. The first text stays.
fn said_on_node(
    view: &MachineView,
    node: &NodeFact,
    progress: &MachineProgress,
    force: Option<Force>,
) -> StageFlow {
    let is_said = node
        .conditions
        .iter()
        .any(|condition| condition.kind == TERMINATING && condition.status == ConditionStatus::True);
    if is_said || matches!(view.machine.phase, Phase::New | Phase::CrashLoopBackOff) {
        return Continue(());
    }
    match &progress.node_condition {
        None => {
            let has_failed = view.machine.phase == Phase::Failed;
            let condition = NodeConditionWrite {
                kind: TERMINATING.into(),
                status: ConditionStatus::True,
                reason: if has_failed { "Unhealthy" } else { "ScaleDown" }.into(),
                message: "the Machine of this Node is being deleted".into(),
            };
            act(MachineEffect::SetNodeCondition { node: node.name.clone(), condition })
        }
        Some(Ok(()) | Err(ActError::Gone)) => Continue(()),
        Some(Err(_)) if force.is_some() => Continue(()),
        Some(Err(error)) => stop(failed(
            error,
            "write condition Terminating of the Node",
            DeletionNote::NodeConditionFailed { error: error.to_string() },
        )),
    }
}

fn hooks_are_done(view: &MachineView, now: Timestamp) -> StageFlow {
    let Some(wait) = hooks::wait(view, HookPoint::Drain, now) else { return Continue(()) };
    let message = wait.message("the drain", view.machine.going.bad_hook_timeout.as_deref());
    stop(finish(
        MachineReason::PreDrainHooks,
        message,
        (DeletionNote::NodeKnown, OperationState::Processing),
        Requeue::After(wait.left),
    ))
}

/// Cordons the Node. Returns the failure, if it is no reason to wait.
fn cordoned(node: &NodeFact, progress: &MachineProgress, force: Option<Force>) -> StageFlow<Option<String>> {
    match &progress.cordon {
        None if node.is_cordoned => Continue(None),
        None => act(MachineEffect::Cordon { node: node.name.clone() }),
        Some(Ok(()) | Err(ActError::Gone)) => Continue(None),
        Some(Err(error)) if force.is_some() => Continue(Some(format!("failed to cordon the Node: {error}"))),
        Some(Err(error)) => {
            stop(failed(error, "cordon the Node", DeletionNote::DrainFailed { error: error.to_string() }))
        }
    }
}

/// A conflict only means that the caches are behind, so it is not reported.
fn failed(error: &ActError, what: &str, note: DeletionNote) -> MachineConclusion {
    let message = format!("failed to {what}: {error}");
    let wake = retry_write(error);
    if matches!(error, ActError::Conflict) {
        return MachineConclusion {
            status: StatusChange::default(),
            reason: MachineReason::DrainFailed,
            message,
            wake,
        };
    }
    finish(MachineReason::DrainFailed, message, (note, OperationState::Failed), wake)
}

/// The clock of the drain starts with the request for deletion.
fn request<'a>(
    view: &'a MachineView,
    node: &'a NodeFact,
    force: Option<Force>,
    settings: &'a drain::DrainSettings,
    now: Timestamp,
) -> drain::DrainRequest<'a> {
    drain::DrainRequest {
        node: &node.name,
        since: view.machine.deletion.unwrap_or(now),
        force,
        settings,
        facts: &view.drain,
    }
}

fn done(report: DrainReport, trouble: Option<String>) -> Drained {
    let failures: Vec<String> = trouble.into_iter().chain(report.failures).collect();
    let is_forced = match report.end {
        Some(DrainEnd::Drained | DrainEnd::VolumesLeft | DrainEnd::NodeGone) => false,
        Some(DrainEnd::Forced | DrainEnd::ForcedInPart) | None => true,
    };
    let (note, reason) = match (is_forced, failures.is_empty()) {
        (false, _) => (DeletionNote::Drained, "Drained"),
        (true, true) => (DeletionNote::ForceDrained, "ForceDrained"),
        (true, false) => {
            (DeletionNote::ForcedDrainFailed { error: failures.join("; ") }, "ForceDrainedInPart")
        }
    };
    let condition = MachineCondition {
        kind: MachineConditionKind::Drained,
        status: ConditionStatus::True,
        reason,
        message: report.message,
    };
    Drained { note, condition: Some(condition) }
}

fn waiting(view: &MachineView, report: DrainReport, wake: Requeue, now: Timestamp) -> MachineConclusion {
    let condition = MachineCondition {
        kind: MachineConditionKind::Drained,
        status: ConditionStatus::False,
        reason: reason_of(&report),
        message: report.message.clone(),
    };
    let (reason, note, state) = match report.error() {
        Some(error) => {
            (MachineReason::DrainFailed, DeletionNote::DrainFailed { error }, OperationState::Failed)
        }
        None => (MachineReason::Draining, DeletionNote::NodeKnown, OperationState::Processing),
    };
    let conclusion = finish(reason, draining(&report), (note, state), wake);
    let told = view.machine.going.told.as_ref();
    // The result of the last list says more than that the next one must wait.
    let has_news = told.is_none() || !report.is_in_line;
    let is_worth_it = has_news && is_worth_telling(told, &condition, now);
    let conditions = if is_worth_it { vec![condition] } else { Vec::new() };
    let drain_memory = (report.memory != view.drain.memory).then_some(report.memory);
    MachineConclusion { status: StatusChange { conditions, drain_memory, ..conclusion.status }, ..conclusion }
}

/// Returns the same text for as long as the drain lasts; condition `Drained` has the progress.
fn draining(report: &DrainReport) -> String {
    format!(
        "draining the Node, see condition Drained; its VM is removed from {} on whatever is left on it",
        whole_seconds(report.timeout_at)
    )
}

/// Returns the cause that people can change most easily; pods and volumes that move count as one.
fn reason_of(report: &DrainReport) -> &'static str {
    match report.groups.first().map(|group| group.cause) {
        Some(
            cause @ (WaitCause::BudgetMisconfigured
            | WaitCause::SeveralBudgets
            | WaitCause::Budget
            | WaitCause::Failed
            | WaitCause::Overdue
            | WaitCause::DetachingTooLong),
        ) => cause.name(),
        Some(
            WaitCause::Ending
            | WaitCause::JustAsked
            | WaitCause::NotAsked
            | WaitCause::Throttled
            | WaitCause::WaitsForTurn
            | WaitCause::Detaching
            | WaitCause::Reattaching,
        )
        | None => "PodsLeaving",
    }
}

/// Returns whether the VM may be deleted: the drain is over, forced, or not needed. For invariants: the deletion of the
/// VM is not requested while this is false.
pub(in crate::machine) fn is_over(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> bool {
    let Some(node) = view.node() else { return true };
    if is_past(view) {
        return true;
    }
    let force = force::of_deletion(view, now);
    let settings = view.settings.drain();
    let step = drain::step(&request(view, node, force, &settings, now), &progress.drain, now);
    matches!(step, drain::DrainStep::Done { .. })
}
