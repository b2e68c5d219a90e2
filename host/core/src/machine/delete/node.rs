//! Finds the Node's name before anything is deleted: afterwards nothing shows which Node was the Machine's.

use std::ops::ControlFlow::{Break, Continue};

use crate::drain::Force;
use crate::driver::error::Code;
use crate::driver::write_error::ActError;
use crate::driver::{self, DriverResult, is_not_found};
use crate::scheduling::retry::Situation;
use crate::value::phase::OperationState;

use super::super::conclusion::{MachineReason, Requeue};
use super::super::effect::{MachineEffect, MachineProgress};
use super::super::step::{reason_of, rest, retry_call, write_failed};
use super::note::{DeletionNote, DeletionStage};
use super::{StageFlow, act, finish, stop, vm};
use crate::machine::creation::create::{FoundVm, found_in};
use crate::machine::facts::MachineView;

/// Asks the driver for the Node's name if no object has it. The deletion waits for the answer, unless it is forced or
/// was further already: the VM costs more than the Node.
pub(super) fn known(view: &MachineView, progress: &MachineProgress, force: Option<Force>) -> StageFlow {
    let machine = &view.machine;
    if !view.has_target() || machine.node_name.is_some() || view.node().is_some() {
        return Continue(());
    }
    let Some(driver) = vm::driver(view) else { return Continue(()) };
    if !driver.capabilities.status {
        return Continue(());
    }
    let Some(look) = &progress.probe else { return act(MachineEffect::ProbeVm) };
    if let Some(effect) = unknown_node(view, look) {
        return recorded(progress, effect);
    }
    match look {
        Ok(_) => Continue(()),
        Err(error)
            if is_not_found(error) || matches!(error.code(), Code::Unimplemented | Code::Uninitialized) =>
        {
            Continue(())
        }
        Err(_) if force.is_some() || machine.going.is_vm_declared_gone || was_ordered(view) => Continue(()),
        Err(error) => stop(finish(
            reason_of(error, MachineReason::CloudUnreachable),
            vm::with_advice(view, error),
            (DeletionNote::FindVmFailed { error: error.to_string() }, OperationState::Failed),
            retry_call(view, Situation::Status, error),
        )),
    }
}

fn recorded(progress: &MachineProgress, effect: MachineEffect) -> StageFlow {
    match &progress.record {
        None => act(effect),
        // The next reconcile sees the Node, if it exists.
        Some(Ok(())) => Break(rest(MachineReason::Deleting, "the VM's Node is known", Requeue::Now)),
        // A write that the server refuses is refused every time.
        Some(Err(ActError::Invalid { .. } | ActError::Denied { .. })) => Continue(()),
        Some(Err(error)) => {
            Break(write_failed(MachineReason::WriteFailed, "store the VM's id on the Machine", error))
        }
    }
}

fn unknown_node(view: &MachineView, look: &DriverResult<driver::Vm>) -> Option<MachineEffect> {
    let found = match look {
        Ok(vm) => FoundVm::of(vm),
        Err(error) => found_in(error)?,
    };
    let provider_id = view.machine.provider_id.clone().unwrap_or(found.provider_id);
    found.node_name.map(|name| MachineEffect::RecordVm {
        provider_id,
        node_name: Some(name),
        is_proven: true,
    })
}

/// Returns whether a delete request for the VM was sent.
fn was_ordered(view: &MachineView) -> bool {
    view.machine.going.left_at.is_some_and(|stage| stage >= DeletionStage::Vm)
}

/// Returns whether the deletion of the VM had begun: a drain would be too late. A failed delete request does not count,
/// so that a Node which joins after it is drained.
pub(in crate::machine) fn is_past(view: &MachineView) -> bool {
    let has_failed = view.machine.operation.is_some_and(|last| last.state == OperationState::Failed);
    let is_refused = has_failed && view.machine.going.left_at == Some(DeletionStage::Vm);
    was_ordered(view) && !is_refused
}
