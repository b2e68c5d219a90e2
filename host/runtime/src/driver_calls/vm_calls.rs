//! The calls about one VM, and what this process remembers of them. The same for a Machine and for an infrastructure
//! machine of Cluster API.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use machinist_core::driver::error::{CallError, Code, Refusal};
use machinist_core::driver::{Creation, Deletion, DriverResult, MachineRequest, Vm, is_not_found};
use machinist_core::machine::MachineOutcome;
use machinist_core::scheduling::vm_checks::{CheckResult, VmChecks};
use machinist_core::value::id::{Name, ObjectKey, Uid};
use tokio::sync::mpsc;
use tracing::info;

use crate::context::clock::Clock;
use crate::context::key::Key;
use crate::driver_calls::bootstrap_data::DataChanges;
use crate::driver_calls::call_slots::CallSlots;
use crate::driver_calls::creates::Creates;
use crate::driver_calls::deletion_requests::DeletionRequests;
use crate::message::{AccountSignal, Message};
use crate::ports::Drivers;

/// The memory of this process about calls for the VMs of one kind. Lost with the process.
pub(crate) struct VmMemory {
    /// How creates of this process ended where clouds keep no keys.
    pub(crate) creates: Creates,
    /// VMs whose deletion this process has requested.
    pub(crate) deletion_requests: DeletionRequests,
    /// Bootstrap data that is not that of an earlier create.
    pub(crate) data_changes: DataChanges,
    /// How many objects are in calls of drivers at a time.
    pub(crate) call_slots: Arc<CallSlots>,
    /// When VMs are looked at. Never locked across an await.
    checks: Mutex<VmChecks>,
}

impl VmMemory {
    /// Of the process with this identity. `key_of` makes the key of an object of the kind.
    pub(crate) fn of(
        identity: String,
        outbox: mpsc::UnboundedSender<Message>,
        key_of: fn(ObjectKey) -> Key,
    ) -> Self {
        Self {
            creates: Creates::of(identity),
            deletion_requests: DeletionRequests::default(),
            data_changes: DataChanges::default(),
            call_slots: Arc::new(CallSlots::new(outbox, key_of)),
            checks: Mutex::default(),
        }
    }

    /// When VMs are looked at. A panic of another holder leaves a wrong time, which the next look corrects.
    pub(crate) fn checks(&self) -> MutexGuard<'_, VmChecks> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object is gone.
    pub(crate) fn forget(&self, object: &ObjectKey) {
        self.call_slots.forget(object);
        self.deletion_requests.forget(object);
        self.data_changes.forget(object);
        self.checks().forget(object);
    }
}

/// The calls about the VM of one object.
pub(crate) struct VmCalls<'a> {
    pub(crate) drivers: &'a dyn Drivers,
    pub(crate) memory: &'a VmMemory,
    pub(crate) clock: &'a Clock,
    pub(crate) key: &'a ObjectKey,
    pub(crate) uid: &'a Uid,
    /// The class, for what is known of its deletions.
    pub(crate) class: Option<Name>,
}

/// A request, unless the host refuses it.
type Request = Result<MachineRequest, Refusal>;

impl VmCalls<'_> {
    pub(crate) async fn probe(&self, request: Request) -> DriverResult<Vm> {
        let began = self.clock.now();
        let answer = ask(request, |request| self.drivers.get_status(request)).await;
        let memory = self.memory;
        memory.deletion_requests.probed(self.key, self.uid, self.class.as_ref(), &answer, began);
        let looked = match &answer {
            Ok(_) => CheckResult::Found,
            Err(error) if is_not_found(error) => CheckResult::Missing,
            Err(_) => CheckResult::Unknown,
        };
        memory.checks().looked(self.key, looked, self.clock.now());
        answer
    }

    /// `has_keys`: the cloud keeps idempotency keys, so that the end of the call need not be remembered.
    pub(crate) async fn create(&self, request: Request, has_keys: bool) -> DriverResult<Creation> {
        let noted = (!has_keys).then(|| self.memory.creates.begin(self.uid, self.clock));
        let answer = ask(request, |request| self.drivers.create(request)).await;
        if let Some(noted) = noted {
            noted.answered(&answer);
        }
        if let Ok(Creation::Created(vm)) = &answer {
            info!(provider_id = %vm.provider_id, "VM created");
        }
        answer
    }

    pub(crate) async fn initialize(&self, request: Request) -> DriverResult<Vm> {
        ask(request, |request| self.drivers.initialize(request)).await
    }

    pub(crate) async fn delete(&self, request: Request) -> DriverResult<Deletion> {
        let provider_id = request.as_ref().ok().and_then(|request| request.machine.provider_id.clone());
        let answer = ask(request, |request| self.drivers.delete(request)).await;
        // From its answer on: a probe that began before says nothing about it.
        self.memory.deletion_requests.requested(self.key, self.uid, &answer, self.clock.now());
        if answer.is_ok() {
            info!(?provider_id, "VM deletion ordered");
        }
        answer
    }
}

/// Asks the driver, unless the host refuses the request.
pub(crate) async fn ask<'a, T>(
    request: Request,
    call: impl FnOnce(MachineRequest) -> BoxFuture<'a, DriverResult<T>>,
) -> DriverResult<T> {
    call(request?).await
}

/// Returns whether an outcome shows that the cloud account answers. A permanent error is an answer
/// to this Machine alone.
pub(crate) fn account_signal(outcome: &MachineOutcome) -> Option<AccountSignal> {
    fn of<T>(answer: &DriverResult<T>) -> Option<AccountSignal> {
        match answer {
            Ok(_) => Some(AccountSignal::Answered),
            Err(error) => match error.code() {
                Code::NotFound | Code::Uninitialized => Some(AccountSignal::Answered),
                Code::Unknown | Code::DeadlineExceeded | Code::Aborted | Code::Unavailable => {
                    matches!(error, CallError::Guest(_)).then_some(AccountSignal::Unavailable)
                }
                Code::Canceled
                | Code::InvalidArgument
                | Code::AlreadyExists
                | Code::PermissionDenied
                | Code::ResourceExhausted
                | Code::FailedPrecondition
                | Code::OutOfRange
                | Code::Unimplemented
                | Code::Internal
                | Code::DataLoss
                | Code::Unauthenticated => None,
            },
        }
    }
    match outcome {
        MachineOutcome::ProbeVm(answer) | MachineOutcome::InitializeVm(answer) => of(answer),
        MachineOutcome::CreateVm(answer) => of(answer),
        MachineOutcome::DeleteVm(answer) => of(answer),
        _ => None,
    }
}
