//! A VM with the Machine's id that the driver cannot prove to be the Machine's.
//!
//! It is not gone, and the Machine may not delete it. So nothing replaces it: the Machine does not fail, which would
//! make its set replace it, before a query says otherwise.

use crate::driver::error::{CallError, Code, DriverError};
use crate::machine::node::health::ConditionStatus;
use crate::scheduling::gate::{EffectKind, permits};
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::vm_checks::VM_NOT_PROVEN;
use crate::value::phase::Phase;

use crate::machine::conclusion::{
    MachineCondition, MachineConditionKind, MachineReason, MachineStep, Requeue,
};
use crate::machine::effect::{MachineEffect, MachineProgress};
use crate::machine::facts::{DriverFact, MachineView};
use crate::machine::step::rest;

/// Returns the condition after such a query.
pub(crate) fn condition(error: &DriverError) -> MachineCondition {
    MachineCondition {
        kind: MachineConditionKind::VmPresent,
        status: ConditionStatus::Unknown,
        reason: VM_NOT_PROVEN,
        message: format!("{}; until that is mended, nothing is created, failed or removed", error.message),
    }
}

/// Returns the driver's error, if a person must fix something before the driver can identify the VM.
pub(crate) fn refusal(error: &CallError) -> Option<&DriverError> {
    match error {
        CallError::Guest(error) if error.code == Code::FailedPrecondition => Some(error),
        CallError::Guest(_) | CallError::Broken(_) | CallError::Refused(_) => None,
    }
}

/// Fails a Machine only after a query that proves its VM or finds it gone, if its status says that the VM is not
/// proven, or if nothing ever proved it: no mark is stored with the VM, so that another program may have created it.
pub(crate) fn guarded(view: &MachineView, progress: &MachineProgress, step: MachineStep) -> MachineStep {
    let is_refuted = view.vm_check.as_ref().is_some_and(|query| query.is_unproven);
    let is_unmarked = view.machine.provider_id.is_some() && view.marks.of_machine.is_none();
    if !(is_refuted || is_unmarked) || !fails(&step) {
        return step;
    }
    let can_query = matches!(&view.driver, DriverFact::Ready(driver) if driver.capabilities.status)
        && permits(view.gate, EffectKind::CloudRead);
    match &progress.probe {
        None if can_query => MachineStep::act(MachineEffect::ProbeVm),
        None if is_refuted => held("see condition VmPresent"),
        Some(Err(error)) => match refusal(error) {
            Some(error) => held(&error.message),
            None if is_refuted && !identifies_vm(error.code()) => held("see condition VmPresent"),
            None => step,
        },
        None | Some(Ok(_)) => step,
    }
}

fn held(why: &str) -> MachineStep {
    let wake = Requeue::retry(RetryPolicy::LONG);
    rest(MachineReason::ReplacementHeld, format!("failing it is held: {why}"), wake)
}

/// Returns true for an error that identifies the VM.
fn identifies_vm(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::Uninitialized | Code::OutOfRange)
}

fn fails(step: &MachineStep) -> bool {
    match step {
        MachineStep::Act(effects) => {
            effects.iter().any(|effect| matches!(effect, MachineEffect::AskPermit(_)))
        }
        MachineStep::Finish(conclusion) => conclusion.status.phase == Some(Phase::Failed),
    }
}
