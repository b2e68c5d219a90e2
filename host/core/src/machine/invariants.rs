//! What must hold whatever happens. Used by tests, assertions and simulation alike.

use crate::driver_error::CallError;

use super::conclusion::{Conclusion, Wake};
use super::effect::{Effect, Progress};
use super::view::{DriverFact, MachineView};

/// A rule that a step has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The cloud was to be asked for a VM before the Machine was held.
    #[error("a VM is created for a Machine without our finalizer")]
    CreateWithoutFinalizer,
    /// The finalizer was to go before the VM.
    #[error("the finalizer is released before the VM is proven gone")]
    ReleaseBeforeVmGone,
    /// A Machine that is going was to get a VM.
    #[error("a VM is created for a Machine that is being deleted")]
    CreateWhileDeleting,
    /// A VM was to be removed whose Machine is not going.
    #[error("a VM is deleted whose Machine is not being deleted")]
    DeleteWithoutRequest,
    /// A pass without an end.
    #[error("a batch has no effects")]
    EmptyBatch,
    /// Nothing would ever look at the Machine again.
    #[error("a Machine that is not gone has no wake-up")]
    NoWake,
}

/// Whether a batch may be done.
pub fn batch(view: &MachineView, progress: &Progress, effects: &[Effect]) -> Result<(), Violation> {
    if effects.is_empty() {
        return Err(Violation::EmptyBatch);
    }
    let machine = &view.machine;
    let is_held = machine.has_finalizer || matches!(progress.claim, Some(Ok(())));
    for effect in effects {
        match effect {
            Effect::CreateVm | Effect::InitializeVm if machine.deletion.is_some() => {
                return Err(Violation::CreateWhileDeleting);
            }
            Effect::CreateVm if !is_held => return Err(Violation::CreateWithoutFinalizer),
            Effect::DeleteVm if machine.deletion.is_none() => return Err(Violation::DeleteWithoutRequest),
            Effect::ReleaseFinalizer if !is_proven_gone(view, progress) => {
                return Err(Violation::ReleaseBeforeVmGone);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The driver took the order to remove the VM, and no look that it offers has found it since.
fn is_proven_gone(view: &MachineView, progress: &Progress) -> bool {
    let is_ordered = match &progress.delete_vm {
        Some(Ok(_)) => true,
        Some(Err(error)) => is_not_found(error),
        None => false,
    };
    let offers_status = matches!(&view.driver, DriverFact::Ready(driver) if driver.capabilities.status);
    let is_unseen = !offers_status || matches!(&progress.probe, Some(Err(error)) if is_not_found(error));
    is_ordered && (is_unseen || matches!(progress.delete_vm, Some(Err(_))))
}

fn is_not_found(error: &CallError) -> bool {
    crate::driver::is_not_found(error)
}

/// Whether a pass may end so.
pub fn conclusion(view: &MachineView, conclusion: &Conclusion) -> Result<(), Violation> {
    let is_gone = !view.machine.has_finalizer || view.machine.deletion.is_some();
    if conclusion.wake == Wake::Gone && !is_gone {
        return Err(Violation::NoWake);
    }
    Ok(())
}
