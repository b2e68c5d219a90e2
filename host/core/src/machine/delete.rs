//! From a deletion timestamp to nothing left: VM, Node, token, finalizer.

use jiff::{SignedDuration, Timestamp};

use crate::act_error::ActError;
use crate::driver::{self, Answer, Deletion, DriverFacts, VmState, is_not_found};
use crate::driver_error::{CallError, Code};
use crate::phase::{OperationState, OperationType, Phase};
use crate::retry::Situation;

use super::conclusion::{
    Conclusion, DeletionStage, Note, Operation, Reason, StatusChange, Step, Wake, elapsed,
};
use super::create::{Found, found_in};
use super::effect::{Effect, Progress};
use super::step::{PREREQUISITE, ask_again, reason_of, rest, retry_call, write_failed};
use super::view::{ClassFact, DriverFact, MachineFact, MachineView};

/// How soon a VM on its way out is looked at again: at first well below the time that any cloud takes, then further apart the
/// longer it takes, since hundreds may be on their way out at a time.
const FIRST_POLL: SignedDuration = SignedDuration::from_secs(1);

/// As far apart as looks grow. Nobody waits for the end of a deletion by the second.
const LAST_POLL: SignedDuration = SignedDuration::from_secs(15);

/// For how long a VM that is stopping is taken to stop because of our order. It may as well have been stopped by somebody
/// else, or hang there: then only the order helps, and twice given it does no harm.
const STOPPING_PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// Status times are whole seconds, so that one may be earlier than what it tells of by as much.
const STATUS_TIME_GRAIN: SignedDuration = SignedDuration::from_secs(1);

pub(super) fn step(view: &MachineView, progress: &Progress, now: Timestamp) -> Step {
    let machine = &view.machine;
    if !machine.has_finalizer {
        return rest(Reason::Deleted, "nothing of ours holds the Machine", Wake::Gone);
    }
    let step = if machine.phase == Phase::Terminating { go_on(view, progress, now) } else { begin() };
    match (&view.driver, step) {
        (DriverFact::Substitute { why, .. }, Step::Finish(conclusion)) => {
            Step::Finish(by_substitute(conclusion, why))
        }
        (_, step) => step,
    }
}

/// A VM must go even if the version that made it is gone. Every pass says by whom it is removed.
fn by_substitute(conclusion: Conclusion, why: &str) -> Conclusion {
    let message = format!("{}; the version that serves removes the VM: {why}", conclusion.message);
    Conclusion { message, ..conclusion }
}

fn go_on(view: &MachineView, progress: &Progress, now: Timestamp) -> Step {
    match vm(view, progress, now) {
        Vm::Probe => Step::act(Effect::ProbeVm),
        Vm::Record(effect) => Step::act(effect),
        Vm::Unstored(error) => write_failed(Reason::WriteFailed, "store the VM's id on the Machine", &error),
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
    /// The look found what the Machine does not know yet.
    Record(Effect),
    Unstored(ActError),
    Delete,
    Wait(Box<Conclusion>),
    /// Proven.
    Gone,
}

/// The VM is gone when the driver has taken the order to remove it and a look finds it no more. The order is given also
/// when a look finds nothing: what else belongs to the machine goes with it.
fn vm(view: &MachineView, progress: &Progress, now: Timestamp) -> Vm {
    let driver = match &view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => driver,
        DriverFact::Refused(refusal) => {
            return blocked(Reason::DriverNotReady, refusal.to_string());
        }
        DriverFact::NotChosen => return blocked(Reason::ClassMissing, without_class(&view.class)),
    };
    match &progress.delete_vm {
        None => before_order(view, driver, progress, now),
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
            wake: ask_again(work),
        })),
        Some(Ok(Deletion::Deleted { last_known_state })) => {
            after_order(view, driver, progress, last_known_state.as_ref(), now)
        }
        Some(Err(error)) if is_not_found(error) => after_order(view, driver, progress, None, now),
        Some(Err(error)) => refused(view, error),
    }
}

/// A look before the order: while the cloud is at work on an earlier one, it is not given again.
fn before_order(view: &MachineView, driver: &DriverFacts, progress: &Progress, now: Timestamp) -> Vm {
    if !driver.capabilities.status {
        return Vm::Delete;
    }
    match &progress.probe {
        None => Vm::Probe,
        Some(Ok(vm))
            if vm.state == VmState::Stopping
                && view.machine.provider_id.is_some()
                && elapsed(going_since(&view.machine, now), now) < STOPPING_PATIENCE =>
        {
            terminating(view, None, now)
        }
        Some(look) => match (unknown_node(view, look), &progress.record) {
            (Some(effect), None) => Vm::Record(effect),
            // What the server refuses it will refuse for ever, and the VM is the dearer one of both.
            (Some(_), Some(Err(error)))
                if !matches!(error, ActError::Invalid { .. } | ActError::Denied { .. }) =>
            {
                Vm::Unstored(error.clone())
            }
            // Whatever else the look says, the order is what must be tried: it is idempotent, and its error counts.
            (Some(_), Some(Ok(()) | Err(_))) | (None, _) => Vm::Delete,
        },
    }
}

/// A VM whose create was not stored may have a Node already. It is found by its name on the Machine, so the name is stored
/// before the VM goes: afterwards nobody could tell it.
fn unknown_node(view: &MachineView, look: &Answer<driver::Vm>) -> Option<Effect> {
    if !view.has_target() || view.machine.node_name.is_some() {
        return None;
    }
    let found = match look {
        Ok(vm) => Found::of(vm),
        Err(error) => found_in(error)?,
    };
    let provider_id = view.machine.provider_id.clone().unwrap_or(found.provider_id);
    found.node_name.map(|name| Effect::RecordVm { provider_id, node_name: Some(name) })
}

/// The look of this pass went before the order, so a VM that it found is looked for once more in another pass. That holds
/// also when the driver says that nothing was there to remove: one of both is behind.
fn after_order(
    view: &MachineView,
    driver: &DriverFacts,
    progress: &Progress,
    last_known_state: Option<&String>,
    now: Timestamp,
) -> Vm {
    match &progress.probe {
        None => settled(view, driver, now),
        Some(Ok(_)) => terminating(view, last_known_state, now),
        Some(Err(error)) if is_not_found(error) || error.code() == Code::Unimplemented => {
            settled(view, driver, now)
        }
        Some(Err(error)) if error.code() == Code::Uninitialized => terminating(view, last_known_state, now),
        Some(Err(error)) => unseen(view, error, last_known_state),
    }
}

/// A Machine may have a VM that the cloud's reads do not show yet, and that an order by what they show does not reach. They
/// must show it once the consistency window has passed since the Machine was seen to be going, because no create of it
/// begins after that. A Node that has reported proves that its VM is older than reads can lag.
fn settled(view: &MachineView, driver: &DriverFacts, now: Timestamp) -> Vm {
    let machine = &view.machine;
    let has_lived = machine.provider_id.is_some() && !machine.conditions.is_empty();
    if has_lived || driver.consistency_window.is_zero() {
        return Vm::Gone;
    }
    let window = driver.consistency_window.saturating_add(STATUS_TIME_GRAIN);
    let left = window - elapsed(going_since(machine, now), now);
    if left <= SignedDuration::ZERO {
        return Vm::Gone;
    }
    Vm::Wait(Box::new(Conclusion {
        status: StatusChange::default(),
        reason: Reason::CreationUnresolved,
        message: "no VM is seen: waiting until the cloud's reads must show one that was just made".into(),
        wake: Wake::After(left),
    }))
}

/// Since when the status says that the Machine is going. Where it does not say when, the request for it is the next best.
fn going_since(machine: &MachineFact, now: Timestamp) -> Timestamp {
    machine.phase_since.or(machine.deletion).unwrap_or(now)
}

fn terminating(view: &MachineView, last_known_state: Option<&String>, now: Timestamp) -> Vm {
    let waited = elapsed(going_since(&view.machine, now), now);
    Vm::Wait(Box::new(Conclusion {
        status: StatusChange {
            operation: deleting(DeletionStage::Vm, None, OperationState::Processing),
            last_known_state: last_known_state.cloned(),
            ..StatusChange::default()
        },
        reason: Reason::VmTerminating,
        message: "the cloud is removing the VM".into(),
        wake: Wake::After((waited / 8).clamp(FIRST_POLL, LAST_POLL)),
    }))
}

/// The order is taken, and the cloud cannot be asked whether it was carried out.
fn unseen(view: &MachineView, error: &CallError, last_known_state: Option<&String>) -> Vm {
    let message = error.to_string();
    Vm::Wait(Box::new(Conclusion {
        status: StatusChange {
            operation: deleting(DeletionStage::Vm, Some(message.clone()), OperationState::Failed),
            last_known_state: last_known_state.cloned(),
            ..StatusChange::default()
        },
        reason: reason_of(error, Reason::CloudUnreachable),
        message,
        wake: retry_call(view, Situation::Status, error),
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
            batch.push(Effect::DeleteNode { node: node.name.clone(), uid: node.uid.clone() });
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
