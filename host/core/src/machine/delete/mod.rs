//! From a deletion timestamp to nothing left: hooks, drain, hooks, VM, Node, token, finalizer.
//!
//! Each reconcile goes through all stages, and each stage reads from the facts whether it has work left. A reconcile
//! reads one thing of the status that an earlier reconcile wrote: that the removal of the VM has begun. From then on no
//! drain is waited for; the pods that are left end with the VM. Without that note the drain runs again.
//!
//! | module | what it does |
//! | --- | --- |
//! | `node` | finds the Node's name while its VM still exists |
//! | `hooks` | waits for hooks of others |
//! | `drain`, `drain_progress` | cordons and drains the Node, and limits how often its progress is reported |
//! | `force` | decides whether the drain is forced |
//! | `vm` | requests the deletion of the VM, and proves that it is gone |
//! | `leftovers` | removes the Node and the bootstrap token, and the finalizer last |
//! | `note` | the text of `lastOperation` for each stage |

mod drain;
pub(crate) mod drain_progress;
pub(crate) mod force;
pub(crate) mod hooks;
mod leftovers;
mod node;
pub(crate) mod note;
mod vm;

use std::ops::ControlFlow;

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::value::phase::{OperationState, OperationType, Phase};

use super::conclusion::{
    LastOperation, MachineConclusion, MachineReason, MachineStep, OperationNote, Requeue, StatusChange,
};
use super::effect::{EffectTrait, MachineEffect, MachineProgress};
use super::facts::{ClassFact, DriverFact, MachineView};
use super::ownership::{conflict, mark};
use super::step::rest;
use note::DeletionNote;

pub(super) use drain::is_over as is_drain_over;
pub(super) use node::is_past;

/// A stage that is over, or the next step of the reconcile.
type StageFlow<T = ()> = ControlFlow<MachineStep, T>;

pub(super) fn step(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let machine = &view.machine;
    if !machine.has_finalizer {
        return rest(MachineReason::Deleted, "nothing of ours holds the Machine", Requeue::Gone);
    }
    let ControlFlow::Break(step) = stages(view, progress, now);
    let step = if machine.phase == Phase::Terminating || is_owed_to_node(view, progress, now) {
        step
    } else {
        begin(step)
    };
    match (&view.driver, step) {
        (DriverFact::Substitute { why, .. }, MachineStep::Finish(conclusion)) => {
            MachineStep::Finish(by_substitute(conclusion, why))
        }
        (_, step) => step,
    }
}

/// Returns whether the Node must still get its condition: only the phase shows that the Machine had failed, so it stays
/// until the Node has that. Nothing else happens meanwhile, unless the deletion is forced.
fn is_owed_to_node(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> bool {
    let is_unwritten = progress
        .node_condition
        .as_ref()
        .is_some_and(|result| !matches!(result, Ok(()) | Err(ActError::Gone)));
    view.machine.phase == Phase::Failed && is_unwritten && force::of_deletion(view, now).is_none()
}

fn stages(
    view: &MachineView,
    progress: &MachineProgress,
    now: Timestamp,
) -> StageFlow<std::convert::Infallible> {
    if let Some(message) = mark::held(view) {
        return stop(mark::waiting(message));
    }
    if was_never_made(view) {
        return leftovers::leave(view, progress, MachineReason::Deleted, "no VM was ever asked for");
    }
    if let Some(message) = conflict::held(view) {
        return stop(conflict::waiting(message));
    }
    let force = force::of_deletion(view, now);
    node::known(view, progress, force)?;
    let drained = drain::over(view, progress, force, now)?;
    let gone = vm::gone(view, progress, &drained, now)?;
    match gone {
        vm::VmGone::Proven => {
            leftovers::leave(view, progress, MachineReason::Deleted, "VM and Node are gone")
        }
        vm::VmGone::Declared { message } => {
            leftovers::leave(view, progress, MachineReason::VmDeclaredGone, &message)
        }
    }
}

/// Writes phase Terminating before any call to a cloud, so that owners count the Machine as deleted. The drain may
/// begin before that, so that one write reports both.
fn begin(step: MachineStep) -> MachineStep {
    let begun = MachineConclusion {
        status: StatusChange::default(),
        reason: MachineReason::Deleting,
        message: "deletion has begun".into(),
        wake: Requeue::Now,
    };
    let conclusion = match step {
        MachineStep::Act(effects) if effects.iter().all(|effect| effect.is(EffectTrait::BeforeStatus)) => {
            return MachineStep::Act(effects);
        }
        MachineStep::Act(_) => begun,
        MachineStep::Finish(conclusion) if conclusion.wake == Requeue::Gone => {
            return MachineStep::Finish(conclusion);
        }
        MachineStep::Finish(conclusion) => conclusion,
    };
    let operation =
        conclusion.status.operation.clone().or(operation(DeletionNote::Begun, OperationState::Processing));
    let status = StatusChange {
        phase: Some(Phase::Terminating),
        timeout_active: Some(true),
        operation,
        ..conclusion.status
    };
    MachineStep::Finish(MachineConclusion { status, ..conclusion })
}

/// A VM must be deleted even if the pinned driver version is gone. Every reconcile reports which version deletes it.
fn by_substitute(conclusion: MachineConclusion, why: &str) -> MachineConclusion {
    let message = format!("{}; the version that serves removes the VM: {why}", conclusion.message);
    MachineConclusion { message, ..conclusion }
}

/// Returns whether no create has begun: for an unstarted Machine, and for one without a class and without the mark.
/// This host writes finalizer and priority in one write before it begins, and any create leaves a trace in the status.
/// The finalizer alone comes from a template, or from machine-controller-manager, which adds it before it reads the
/// class. A status that waits for the class has no driver's code.
pub(super) fn was_never_made(view: &MachineView) -> bool {
    let machine = &view.machine;
    let is_unmarked = matches!(view.class, ClassFact::Missing(_)) && !machine.has_priority;
    (is_unmarked || machine.is_unstarted)
        && matches!(machine.phase, Phase::New | Phase::CrashLoopBackOff | Phase::Failed)
        && machine.operation.is_none_or(|last| last.kind == OperationType::Create)
        && !machine.deletion_facts.has_error_code
        && machine.provider_id.is_none()
        && machine.node_name.is_none()
        && view.node().is_none()
        && machine.create_intent.is_none()
        && machine.last_known_state.is_none()
        && machine.addresses.is_empty()
        && machine.conditions.is_empty()
}

fn operation(note: DeletionNote, state: OperationState) -> Option<LastOperation> {
    Some(LastOperation {
        kind: OperationType::Delete,
        state,
        note: OperationNote::Deleting(note),
        code: None,
    })
}

/// Ends a reconcile with the stage of the deletion in the status.
fn finish(
    reason: MachineReason,
    message: impl Into<String>,
    (note, state): (DeletionNote, OperationState),
    wake: Requeue,
) -> MachineConclusion {
    MachineConclusion {
        status: StatusChange { operation: operation(note, state), ..StatusChange::default() },
        reason,
        message: message.into(),
        wake,
    }
}

fn stop<T>(conclusion: MachineConclusion) -> StageFlow<T> {
    ControlFlow::Break(MachineStep::Finish(conclusion))
}

fn act<T>(effect: MachineEffect) -> StageFlow<T> {
    ControlFlow::Break(MachineStep::act(effect))
}
