//! A VM that the Machine's id names, and of which its driver says that nothing proves it to be the Machine's.
//!
//! It is neither gone nor the Machine's to remove. So nothing is made in its place: the Machine is not failed, which
//! would have its set replace it, before a look says otherwise.

use crate::driver::error::{CallError, Code, DriverError};
use crate::machine::node::health::Status;
use crate::scheduling::gate::{EffectKind, permits};
use crate::scheduling::looks::VM_NOT_PROVEN;
use crate::scheduling::retry::RetryPolicy;
use crate::value::phase::Phase;

use crate::machine::conclusion::{ConditionKind, OwnCondition, Reason, Step, Wake};
use crate::machine::effect::{Effect, Progress};
use crate::machine::facts::{DriverFact, MachineView};
use crate::machine::step::rest;

/// What a look has to say of it.
pub(crate) fn condition(error: &DriverError) -> OwnCondition {
    OwnCondition {
        kind: ConditionKind::VmPresent,
        status: Status::Unknown,
        reason: VM_NOT_PROVEN,
        message: format!("{}; until that is mended, nothing is created, failed or removed", error.message),
    }
}

/// The driver's answer, where it is that a person must mend something before it can tell what the VM is.
pub(crate) fn refusal(error: &CallError) -> Option<&DriverError> {
    match error {
        CallError::Guest(error) if error.code == Code::FailedPrecondition => Some(error),
        CallError::Guest(_) | CallError::Broken(_) | CallError::Refused(_) => None,
    }
}

/// A Machine that lives is failed only after a look that proves its VM or finds it gone, where its status says that
/// the VM is not proven, or where nothing ever proved it: no mark is stored with the VM, so that another program may
/// have made it.
pub(crate) fn guarded(view: &MachineView, progress: &Progress, step: Step) -> Step {
    let is_refuted = view.look.as_ref().is_some_and(|look| look.is_unproven);
    let is_unmarked = view.machine.provider_id.is_some() && view.marks.of_machine.is_none();
    if !(is_refuted || is_unmarked) || !fails(&step) {
        return step;
    }
    let can_look = matches!(&view.driver, DriverFact::Ready(driver) if driver.capabilities.status)
        && permits(view.gate, EffectKind::CloudRead);
    match &progress.probe {
        None if can_look => Step::act(Effect::ProbeVm),
        None if is_refuted => held("see condition VmPresent"),
        Some(Err(error)) => match refusal(error) {
            Some(error) => held(&error.message),
            None if is_refuted && !tells(error.code()) => held("see condition VmPresent"),
            None => step,
        },
        None | Some(Ok(_)) => step,
    }
}

fn held(why: &str) -> Step {
    let wake = Wake::Retry { policy: RetryPolicy::LONG, hint: None };
    rest(Reason::ReplacementHeld, format!("failing it is held: {why}"), wake)
}

/// True for an error that tells what the VM is.
fn tells(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::Uninitialized | Code::OutOfRange)
}

fn fails(step: &Step) -> bool {
    match step {
        Step::Act(effects) => effects.iter().any(|effect| matches!(effect, Effect::AskPermit(_))),
        Step::Finish(conclusion) => conclusion.status.phase == Some(Phase::Failed),
    }
}
