//! From a deletion timestamp to nothing left: VM, Node, token, finalizer.

use jiff::{SignedDuration, Timestamp};

use crate::driver::{Deletion, DriverFacts, VmState, is_not_found};
use crate::driver_error::{CallError, Code};
use crate::phase::{OperationState, OperationType, Phase};
use crate::retry::Situation;

use super::conclusion::{
    Conclusion, DeletionStage, Note, Operation, Reason, StatusChange, Step, Wake, elapsed,
};
use super::effect::{Effect, Progress};
use super::step::{PREREQUISITE, reason_of, rest, retry_call, write_failed};
use super::view::{ClassFact, DriverFact, MachineView};

/// How often a VM on its way out is looked at: well below the time that any cloud takes, and cheap for one machine.
const TERMINATION_POLL: SignedDuration = SignedDuration::from_secs(1);

pub(super) fn step(view: &MachineView, progress: &Progress, now: Timestamp) -> Step {
    let machine = &view.machine;
    if !machine.has_finalizer {
        return rest(Reason::Deleted, "nothing of ours holds the Machine", Wake::Gone);
    }
    if machine.phase != Phase::Terminating {
        return begin();
    }
    match vm(view, progress, now) {
        Vm::Probe => Step::act(Effect::ProbeVm),
        Vm::Delete => Step::act(Effect::DeleteVm),
        Vm::Wait(conclusion) => Step::Finish(*conclusion),
        Vm::Gone => leftovers(view, progress),
    }
}

/// The status says first that the Machine is going, so that everyone counts it so.
fn begin() -> Step {
    Step::Finish(Conclusion {
        status: StatusChange {
            phase: Some(Phase::Terminating),
            timeout_active: Some(true),
            operation: deleting(DeletionStage::VmStatus, None, OperationState::Processing),
            ..StatusChange::default()
        },
        reason: Reason::Deleting,
        message: "deletion has begun".into(),
        wake: Wake::Now,
    })
}

enum Vm {
    Probe,
    Delete,
    Wait(Box<Conclusion>),
    /// Proven.
    Gone,
}

/// The VM is gone when the driver has taken the order to remove it and a look finds it no more. The order is given also
/// when a look finds nothing: what else belongs to the machine goes with it.
fn vm(view: &MachineView, progress: &Progress, now: Timestamp) -> Vm {
    let driver = match &view.driver {
        DriverFact::Ready(driver) => driver,
        DriverFact::Refused(refusal) => {
            return blocked(Reason::DriverNotReady, refusal.to_string());
        }
        DriverFact::NotChosen => return blocked(Reason::ClassMissing, without_class(&view.class)),
    };
    match &progress.delete_vm {
        None => before_order(view, driver, progress),
        Some(Ok(Deletion::InProgress(work))) => Vm::Wait(Box::new(Conclusion {
            status: StatusChange {
                operation: deleting(
                    DeletionStage::Vm,
                    Some(work.message.clone()),
                    OperationState::Processing,
                ),
                last_known_state: Some(work.resume_token.clone()),
                ..StatusChange::default()
            },
            reason: Reason::VmTerminating,
            message: work.message.clone(),
            wake: Wake::After(work.ask_again),
        })),
        Some(Ok(Deletion::Deleted { last_known_state })) => {
            after_order(view, driver, progress, last_known_state.as_ref(), now)
        }
        Some(Err(error)) if is_not_found(error) => settled(view, driver, now),
        Some(Err(error)) => refused(view, error),
    }
}

/// A look before the order: while the cloud is at work on an earlier one, it is not given again.
fn before_order(view: &MachineView, driver: &DriverFacts, progress: &Progress) -> Vm {
    if !driver.capabilities.status {
        return Vm::Delete;
    }
    match &progress.probe {
        None => Vm::Probe,
        Some(Ok(vm)) if vm.state == VmState::Stopping && view.machine.provider_id.is_some() => {
            terminating(None)
        }
        // Whatever else the look says, the order is what must be tried: it is idempotent, and its error counts.
        Some(Ok(_) | Err(_)) => Vm::Delete,
    }
}

fn after_order(
    view: &MachineView,
    driver: &DriverFacts,
    progress: &Progress,
    last_known_state: Option<&String>,
    now: Timestamp,
) -> Vm {
    if !driver.capabilities.status {
        return settled(view, driver, now);
    }
    match &progress.probe {
        Some(Err(error)) if is_not_found(error) => settled(view, driver, now),
        Some(Ok(_) | Err(_)) | None => terminating(last_known_state.cloned()),
    }
}

/// A Machine without a provider id may have a VM that the cloud's reads do not show yet. They must show it once the
/// consistency window has passed since the Machine was seen to be going, because no create of it begins after that.
fn settled(view: &MachineView, driver: &DriverFacts, now: Timestamp) -> Vm {
    let machine = &view.machine;
    if machine.provider_id.is_some() {
        return Vm::Gone;
    }
    let left = driver.consistency_window - elapsed(machine.phase_since.unwrap_or(now), now);
    if left <= SignedDuration::ZERO {
        return Vm::Gone;
    }
    Vm::Wait(Box::new(Conclusion {
        status: StatusChange::default(),
        reason: Reason::CreationUnresolved,
        message: "no VM is known: waiting until the cloud's reads must show one that was just made".into(),
        wake: Wake::After(left),
    }))
}

fn terminating(last_known_state: Option<String>) -> Vm {
    Vm::Wait(Box::new(Conclusion {
        status: StatusChange {
            operation: deleting(DeletionStage::Vm, None, OperationState::Processing),
            last_known_state,
            ..StatusChange::default()
        },
        reason: Reason::VmTerminating,
        message: "the cloud is removing the VM".into(),
        wake: Wake::After(TERMINATION_POLL),
    }))
}

fn refused(view: &MachineView, error: &CallError) -> Vm {
    let message = error.to_string();
    let stored = match error {
        CallError::Guest(error) => error.last_known_state.clone(),
        CallError::Broken(_) | CallError::Refused(_) => None,
    };
    let code = error.code();
    let mut operation = deleting(DeletionStage::Vm, Some(message.clone()), OperationState::Failed);
    if let Some(operation) = &mut operation {
        operation.code = (code != Code::Unknown).then_some(code);
    }
    Vm::Wait(Box::new(Conclusion {
        status: StatusChange { operation, last_known_state: stored, ..StatusChange::default() },
        reason: reason_of(error, Reason::VmDeletionFailed),
        message,
        wake: retry_call(view, Situation::Delete, error),
    }))
}

fn blocked(reason: Reason, message: String) -> Vm {
    Vm::Wait(Box::new(Conclusion {
        status: StatusChange {
            operation: deleting(DeletionStage::VmStatus, Some(message.clone()), OperationState::Failed),
            ..StatusChange::default()
        },
        reason,
        message,
        wake: Wake::Retry { policy: PREREQUISITE, hint: None },
    }))
}

fn without_class(class: &ClassFact) -> String {
    match class {
        ClassFact::Missing(name) => {
            format!("MachineClass {name} does not exist, so the VM cannot be removed: create it again")
        }
        ClassFact::Invalid { name, message } => format!("MachineClass {name} is invalid: {message}"),
        ClassFact::Deleting(name) | ClassFact::Ready(name) => {
            format!("MachineClass {name} has chosen no driver yet")
        }
    }
}

/// After the VM: what the target cluster still has of it, then the finalizer.
fn leftovers(view: &MachineView, progress: &Progress) -> Step {
    let mut batch = Vec::new();
    match (view.node(), &progress.delete_node) {
        (Some(node), None) => {
            batch.push(Effect::DeleteNode { node: node.name.clone(), uid: node.uid.clone() })
        }
        (Some(_), Some(Err(error))) => {
            return write_failed(Reason::NodeDeletionFailed, "delete the Node", error);
        }
        (Some(_), Some(Ok(()))) | (None, _) => {}
    }
    match (view.has_target(), &progress.forget_token) {
        (true, None) => batch.push(Effect::ForgetToken),
        (true, Some(Err(error))) => {
            return write_failed(Reason::BootstrapTokenFailed, "delete the bootstrap token", error);
        }
        (true, Some(Ok(()))) | (false, _) => {}
    }
    if !batch.is_empty() {
        return Step::Act(batch);
    }
    match &progress.release {
        None => Step::act(Effect::ReleaseFinalizer),
        Some(Ok(())) => rest(Reason::Deleted, "VM and Node are gone", Wake::Gone),
        Some(Err(error)) => write_failed(Reason::FinalizerHeld, "take the finalizer off", error),
    }
}

fn deleting(stage: DeletionStage, trouble: Option<String>, state: OperationState) -> Option<Operation> {
    Some(Operation {
        kind: OperationType::Delete,
        state,
        note: Note::Deleting { stage, trouble },
        code: None,
    })
}
