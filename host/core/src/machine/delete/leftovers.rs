//! Deletes the Node and the bootstrap token after the VM, then removes the finalizer.

use std::convert::Infallible;
use std::ops::ControlFlow::Break;

use crate::driver::write_error::ActError;
use crate::value::phase::OperationState;

use super::super::conclusion::{MachineReason, MachineStep, Requeue};
use super::super::effect::{MachineEffect, MachineProgress};
use super::super::step::{rest, retry_write, write_failed};
use super::note::DeletionNote;
use super::{StageFlow, act, finish, stop};
use crate::machine::facts::MachineView;

pub(super) fn leave(
    view: &MachineView,
    progress: &MachineProgress,
    reason: MachineReason,
    message: &str,
) -> StageFlow<Infallible> {
    let mut batch = Vec::new();
    match (view.node(), &progress.delete_node) {
        (Some(node), None) => {
            batch.push(MachineEffect::DeleteNode { node: node.name.clone(), uid: node.uid.clone() });
        }
        (Some(node), Some(Err(error))) => {
            let note =
                DeletionNote::NodeDeletionFailed { node: node.name.to_string(), error: error.to_string() };
            return failed(MachineReason::NodeDeletionFailed, "delete the Node", error, note);
        }
        (Some(_), Some(Ok(()))) | (None, _) => {}
    }
    // A Machine that has joined has deleted its token then.
    let may_have_token = view.has_target() && !view.machine.has_join_duration;
    match (may_have_token, &progress.forget_token) {
        (true, None) => batch.push(MachineEffect::ForgetToken),
        (true, Some(Err(error))) => {
            return failed(
                MachineReason::BootstrapTokenFailed,
                "delete the bootstrap token",
                error,
                after_node(view),
            );
        }
        (true, Some(Ok(()))) | (false, _) => {}
    }
    if !batch.is_empty() {
        return Break(MachineStep::Act(batch));
    }
    match &progress.release {
        None => act(MachineEffect::ReleaseFinalizer),
        Some(Ok(())) => Break(rest(reason, message, Requeue::Gone)),
        Some(Err(error)) => {
            failed(MachineReason::FinalizerHeld, "take the finalizer off", error, after_node(view))
        }
    }
}

fn after_node(view: &MachineView) -> DeletionNote {
    match (view.node(), &view.machine.node_name) {
        (Some(node), _) => DeletionNote::NodeDeleted { node: node.name.to_string() },
        (None, Some(_)) => DeletionNote::NodeGone,
        (None, None) => DeletionNote::NoNodeLabel,
    }
}

fn failed(reason: MachineReason, what: &str, error: &ActError, note: DeletionNote) -> StageFlow<Infallible> {
    // The caches are behind, which is not reported.
    if matches!(error, ActError::Conflict | ActError::Gone) {
        return Break(write_failed(reason, what, error));
    }
    let message = format!("failed to {what}: {error}");
    stop(finish(reason, message, (note, OperationState::Failed), retry_write(error)))
}
