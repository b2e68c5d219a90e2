//! Creates exactly one VM for a Machine.
//!
//! The order of effects makes it exactly one: the finalizer is on the Machine before the cloud is called, the create
//! carries a key that follows from the Machine's uid, an earlier create is searched for first, and the cloud's answer
//! is stored before it is used.

use jiff::Timestamp;

use crate::driver::addresses;
use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::{Address, Creation, DriverFacts, Vm, is_not_found};
use crate::scheduling::retry::Situation;
use crate::value::id::{NodeName, ProviderId};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::doubt;
use super::failed::{creation_failed, in_progress, initialization_failed, query_refused};
use super::prerequisites::prerequisites;
use crate::machine::conclusion::{
    MachineReason, MachineStep, OperationNote, Requeue, StatusChange, VmReport,
};
use crate::machine::effect::{MachineEffect, MachineProgress};
use crate::machine::facts::MachineView;
use crate::machine::join;
use crate::machine::ownership::unproven;
use crate::machine::step::{conclude, operation, reason_of, rest, retry_call, write_failed};

pub(crate) fn step(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let driver = match prerequisites(view) {
        Ok(driver) => driver,
        Err(step) => return *step,
    };
    if !is_marked(view) {
        match &progress.claim {
            None => return MachineStep::act(MachineEffect::AddFinalizer),
            Some(Ok(())) => {}
            Some(Err(error)) => {
                return write_failed(MachineReason::ClaimFailed, "put the finalizer on the Machine", error);
            }
        }
    }
    let known = match known_vm(view, progress, driver) {
        KnownVm::Unqueried => return MachineStep::act(MachineEffect::ProbeVm),
        KnownVm::Unreachable(error) if unproven::refusal(error).is_some() => {
            return query_refused(view, error);
        }
        KnownVm::Unreachable(error) => return creation_failed(view, error, now),
        KnownVm::Vm(vm) => Some(vm),
        KnownVm::Nothing => None,
    };
    let vm = match known {
        Some(vm) => vm,
        None => match make_vm(view, progress, driver, now) {
            Ok(vm) => vm,
            Err(step) => return *step,
        },
    };
    if let Some(step) = store(view, progress, &vm, now) {
        return step;
    }
    if driver.capabilities.initialize {
        match &progress.initialize {
            None => return initialize(view, progress),
            Some(Ok(_)) => {}
            Some(Err(error)) if error.code() == Code::Unimplemented => {}
            Some(Err(error)) => return initialization_failed(view, error, now),
        }
    }
    created(view, progress, driver, &vm, now)
}

/// Returns whether a create may have begun: before it begins, one write puts our finalizer and a priority on the
/// Machine. A finalizer alone may come from a template or from another controller, and proves no create; a deletion
/// relies on that.
fn is_marked(view: &MachineView) -> bool {
    let machine = &view.machine;
    machine.has_finalizer && (machine.has_priority || machine.provider_id.is_some())
}

enum KnownVm<'a> {
    /// The cloud must be asked first.
    Unqueried,
    /// It could not be queried.
    Unreachable(&'a CallError),
    Vm(FoundVm),
    /// No VM exists, by the last query.
    Nothing,
}

/// The facts of a VM that must be stored.
pub(crate) struct FoundVm {
    pub(crate) provider_id: ProviderId,
    pub(crate) node_name: Option<NodeName>,
    vm: Option<Vm>,
    /// The driver named it in this reconcile.
    is_proven: bool,
}

impl FoundVm {
    pub(crate) fn of(vm: &Vm) -> Self {
        Self {
            provider_id: vm.provider_id.clone(),
            node_name: name_of(&vm.node_name),
            vm: Some(vm.clone()),
            is_proven: true,
        }
    }
}

/// Returns the VM that is known. A status query comes before the create of every reconcile that is not provably the
/// first. Provably the first are the reconcile that added the finalizer, since nothing is created without it, and that
/// of an unstarted Machine, which is created with it; traces of an earlier create say otherwise. A create that the
/// cloud works on is repeated without a query: its resume token finds it.
fn known_vm<'a>(view: &MachineView, progress: &'a MachineProgress, driver: &DriverFacts) -> KnownVm<'a> {
    let machine = &view.machine;
    let stored = machine.provider_id.as_ref().map(|id| FoundVm {
        provider_id: id.clone(),
        node_name: machine.node_name.clone(),
        vm: None,
        is_proven: false,
    });
    let has_traces =
        stored.is_some() || machine.create_intent.is_some() || machine.last_known_state.is_some();
    let is_first = (!machine.has_finalizer || machine.is_unstarted) && !has_traces;
    if is_first || !driver.capabilities.status || (stored.is_none() && creation_goes_on(view)) {
        return stored.map_or(KnownVm::Nothing, KnownVm::Vm);
    }
    match &progress.probe {
        None => KnownVm::Unqueried,
        Some(Ok(vm)) => KnownVm::Vm(FoundVm::of(vm)),
        // Reads of a cloud may lag, so a stored id outweighs a query that finds nothing.
        Some(Err(error)) if is_not_found(error) || error.code() == Code::Unimplemented => {
            stored.map_or(KnownVm::Nothing, KnownVm::Vm)
        }
        Some(Err(error)) => {
            match found_in(error).or(stored.filter(|_| error.code() == Code::Uninitialized)) {
                Some(found) => KnownVm::Vm(found),
                None => KnownVm::Unreachable(error),
            }
        }
    }
}

/// Returns the machine that a driver names when it answers `uninitialized`.
pub(crate) fn found_in(error: &CallError) -> Option<FoundVm> {
    let CallError::Guest(DriverError { code: Code::Uninitialized, provider_id: Some(id), node_name, .. }) =
        error
    else {
        return None;
    };
    Some(FoundVm {
        provider_id: id.clone(),
        node_name: node_name.as_ref().and_then(name_of),
        vm: None,
        is_proven: true,
    })
}

fn name_of(name: &NodeName) -> Option<NodeName> {
    (!name.is_empty()).then(|| name.clone())
}

/// Returns whether the status says that the cloud works on our create. In a later phase the same words are about the
/// Node's joining.
fn creation_goes_on(view: &MachineView) -> bool {
    let machine = &view.machine;
    matches!(machine.phase, Phase::New | Phase::CrashLoopBackOff)
        && machine.last_known_state.is_some()
        && machine.operation.is_some_and(|operation| {
            operation.kind == OperationType::Create && operation.state == OperationState::Processing
        })
}

fn make_vm(
    view: &MachineView,
    progress: &MachineProgress,
    driver: &DriverFacts,
    now: Timestamp,
) -> Result<FoundVm, Box<MachineStep>> {
    let keeps_keys = driver.capabilities.idempotency_key;
    if !keeps_keys
        && progress.intent.is_none()
        && !is_resumed(view)
        && let Some(step) = doubt::unresolved(view, driver)
    {
        return Err(Box::new(step));
    }
    if view.has_target() {
        match &progress.token {
            None => return Err(Box::new(MachineStep::act(MachineEffect::EnsureToken))),
            Some(Ok(())) => {}
            Some(Err(error)) => {
                let step =
                    write_failed(MachineReason::BootstrapTokenFailed, "make the bootstrap token", error);
                return Err(Box::new(step));
            }
        }
    }
    if !keeps_keys {
        note_intent(view, progress)?;
    }
    match &progress.create {
        None => Err(Box::new(MachineStep::act(MachineEffect::CreateVm))),
        Some(Ok(Creation::Created(vm))) => Ok(FoundVm::of(vm)),
        Some(Ok(Creation::InProgress(work))) => Err(Box::new(in_progress(view, work, now))),
        Some(Err(error)) => match found_in(error) {
            Some(found) => Ok(found),
            None => Err(Box::new(failed(view, progress, driver, error, now))),
        },
    }
}

/// Notes the intent on the Machine before the call, if the cloud keeps no idempotency keys.
fn note_intent(view: &MachineView, progress: &MachineProgress) -> Result<(), Box<MachineStep>> {
    match &progress.intent {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => {
            let step =
                write_failed(MachineReason::WriteFailed, "note on the Machine that a create begins", error);
            Err(Box::new(step))
        }
        None if is_resumed(view) => Ok(()),
        None => Err(Box::new(MachineStep::act(MachineEffect::NoteIntent))),
    }
}

/// Returns whether a create is resumed by its resume token.
fn is_resumed(view: &MachineView) -> bool {
    view.machine.create_intent.is_some() && creation_goes_on(view)
}

/// Ends a reconcile whose create failed. A create that failed for certain created nothing. A noted intent is removed
/// first, so that a later process does not search for a VM that is not there. If that write fails, this process knows
/// the result anyway.
fn failed(
    view: &MachineView,
    progress: &MachineProgress,
    driver: &DriverFacts,
    error: &CallError,
    now: Timestamp,
) -> MachineStep {
    if driver.capabilities.idempotency_key {
        return creation_failed(view, error, now);
    }
    if is_resumed(view) && !matches!(error, CallError::Guest(_)) {
        // The state of the work in the cloud is unknown: the resume token asks again.
        return rest(
            reason_of(error, MachineReason::CreationFailed),
            error.to_string(),
            retry_call(view, Situation::Create, error),
        );
    }
    if error.may_have_happened() {
        return doubt::in_doubt(view, driver, error, now);
    }
    match &progress.close_intent {
        None => MachineStep::act(MachineEffect::CloseIntent),
        Some(Ok(()) | Err(_)) => creation_failed(view, error, now),
    }
}

/// Stores id and Node name, unless they are stored. Returns `None` when that is done.
fn store(
    view: &MachineView,
    progress: &MachineProgress,
    found: &FoundVm,
    now: Timestamp,
) -> Option<MachineStep> {
    let machine = &view.machine;
    if found.provider_id.is_empty() || (view.has_target() && found.node_name.is_none()) {
        let error = DriverError::new(Code::Internal, "the driver named no provider id or no Node for the VM");
        return Some(creation_failed(view, &CallError::Guest(error), now));
    }
    let node_name = found.node_name.clone().filter(|_| view.has_target());
    let is_stored = machine.provider_id.as_ref() == Some(&found.provider_id)
        && machine.has_priority
        && (!view.has_target() || machine.node_name == node_name);
    if is_stored {
        return None;
    }
    match &progress.record {
        None => {
            let (provider_id, is_proven) = (found.provider_id.clone(), found.is_proven);
            Some(MachineStep::act(MachineEffect::RecordVm { provider_id, node_name, is_proven }))
        }
        Some(Ok(())) => None,
        Some(Err(error)) => {
            Some(write_failed(MachineReason::WriteFailed, "store the VM's id on the Machine", error))
        }
    }
}

/// Initialization sends user data too, so the token must be the one that creation used.
fn initialize(view: &MachineView, progress: &MachineProgress) -> MachineStep {
    match (&progress.token, view.has_target()) {
        (None, true) => MachineStep::act(MachineEffect::EnsureToken),
        (Some(Err(error)), true) => {
            write_failed(MachineReason::BootstrapTokenFailed, "make the bootstrap token", error)
        }
        (Some(Ok(())), true) | (_, false) => MachineStep::act(MachineEffect::InitializeVm),
    }
}

fn created(
    view: &MachineView,
    progress: &MachineProgress,
    driver: &DriverFacts,
    found: &FoundVm,
    now: Timestamp,
) -> MachineStep {
    let initialized = progress.initialize.as_ref().and_then(|answer| answer.as_ref().ok());
    let vm = initialized.or(found.vm.as_ref());
    let mut status = StatusChange {
        last_known_state: vm.and_then(|vm| vm.last_known_state.clone()),
        failure_domain: vm.and_then(|vm| vm.failure_domain.clone()),
        vm: vm.map(VmReport::of),
        addresses: Some(all_addresses(view, found, initialized)).filter(|all| *all != view.machine.addresses),
        ..StatusChange::default()
    };
    if !matches!(view.machine.phase, Phase::New | Phase::CrashLoopBackOff | Phase::Pending) {
        // The Machine lived before and only lost its id: with the id it continues where it was.
        let message = "the VM's id is stored again";
        return conclude(status, MachineReason::VmCreated, message, Requeue::Now);
    }
    if view.has_target() {
        status.phase = Some(Phase::Pending);
        status.timeout_active = Some(true);
        status.operation =
            operation(OperationType::Create, OperationState::Processing, OperationNote::Creating);
        // The same text as in the next reconcile, which then has nothing to write.
        let name = found.node_name.as_ref().map_or("(no name yet)", NodeName::as_str);
        return conclude(
            status,
            MachineReason::WaitingForNode,
            join::waiting_for_node(view, name, now),
            Requeue::Now,
        );
    }
    status.phase = Some(Phase::Available);
    status.timeout_active = Some(false);
    status.operation = operation(OperationType::Create, OperationState::Successful, OperationNote::Created);
    let message = "the VM is created, and there is no target cluster to join";
    let check = view.vm_check.as_ref().filter(|_| driver.capabilities.status);
    let wake = check.map_or(Requeue::Resync, |check| join::wake_at(check.next, now));
    conclude(status, MachineReason::VmCreated, message, wake)
}

/// Merges the addresses of all answers and removes none. The Node's name is one of them.
fn all_addresses(view: &MachineView, found: &FoundVm, initialized: Option<&Vm>) -> Vec<Address> {
    let of = |vm: Option<&Vm>| vm.map(|vm| vm.addresses.clone()).unwrap_or_default();
    let host =
        found.vm.as_ref().map(|vm| Address { kind: "Hostname".into(), address: vm.node_name.to_string() });
    let hosts: Vec<Address> = host.into_iter().collect();
    let lists = [view.machine.addresses.clone(), of(found.vm.as_ref()), of(initialized), hosts];
    addresses::union(lists.iter().map(Vec::as_slice))
}
