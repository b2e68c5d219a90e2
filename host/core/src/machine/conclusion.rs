//! The end of a reconcile: the change of the status, and the requeue.

use jiff::{SignedDuration, Timestamp};

use crate::drain;
use crate::driver::error::Code;
use crate::driver::{Address, CloudCondition, Vm, VmState};
use crate::machine::node::health::ConditionStatus;
use crate::scheduling::gate::EffectKind;
use crate::value::id::FailureDomain;
use crate::value::phase::{OperationState, OperationType, Phase};
use crate::value::reason::reasons;

pub use crate::scheduling::step::Requeue;
use crate::scheduling::step::Step;

use super::delete::note::DeletionNote;
use super::effect::MachineEffect;

/// The next step of a reconcile.
pub type MachineStep = Step<MachineEffect, MachineConclusion>;

/// The end of a reconcile.
#[derive(Clone, Debug)]
pub struct MachineConclusion {
    /// The change of the status.
    pub status: StatusChange,
    /// The reason for the Machine's state; shown as condition and, when it changes, as an Event.
    pub reason: MachineReason,
    /// The text for people.
    pub message: String,
    pub wake: Requeue,
}

/// The fields of the status that change. `None` leaves a field alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusChange {
    /// The phase. A different one starts its clock.
    pub phase: Option<Phase>,
    pub timeout_active: Option<bool>,
    pub operation: Option<LastOperation>,
    /// Whether conditions of the Node are copied: a type was added or removed, or a status changed.
    pub copies_conditions: bool,
    /// The state to pass to the driver next time.
    pub last_known_state: Option<String>,
    pub addresses: Option<Vec<Address>>,
    /// Where the VM is.
    pub failure_domain: Option<FailureDomain>,
    /// The cloud's report about the VM.
    pub vm: Option<VmReport>,
    /// Until when the Machine is preserved; `Some(None)` ends it.
    pub preserve_until: Option<Option<Timestamp>>,
    /// Machinist's conditions beside `Ready`, which follows from the reason of the conclusion.
    pub conditions: Vec<MachineCondition>,
    /// The memory of a drain that no API object holds.
    pub drain_memory: Option<drain::DrainMemory>,
}

/// A driver's report about a VM, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmReport {
    pub state: VmState,
    /// Further conditions that the cloud reports.
    pub conditions: Vec<CloudCondition>,
}

impl VmReport {
    /// Returns the report of a driver's answer.
    pub fn of(vm: &Vm) -> Self {
        Self { state: vm.state, conditions: vm.conditions.clone() }
    }
}

impl StatusChange {
    /// Returns the kind of the write for the gate.
    pub fn kind(&self) -> EffectKind {
        let ends_an_update = self
            .operation
            .as_ref()
            .is_some_and(|operation| matches!(operation.note, OperationNote::InPlaceUpdateTimedOut { .. }));
        match self.phase {
            Some(Phase::Failed) => EffectKind::FailMachine,
            Some(Phase::InPlaceUpdating) => EffectKind::EmptyNode,
            Some(_) | None if ends_an_update => EffectKind::FailMachine,
            Some(_) | None => EffectKind::StatusWrite,
        }
    }
}

/// Machinist's conditions on a Machine. `Ready` is not among them: every reconcile sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineConditionKind {
    /// The Node is healthy.
    Healthy,
    /// The Node's pods are gone.
    Drained,
    /// The update in place has ended.
    InPlaceUpdated,
    /// The Machine is preserved.
    Preserved,
    /// The decisions that observing policies would have made.
    PolicyObserved,
    /// Other Machines claim its VM or its Node.
    Contested,
    /// Its settings can be understood.
    Valid,
    /// Status queries find the VM.
    VmPresent,
}

impl MachineConditionKind {
    /// The type of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Drained => "Drained",
            Self::InPlaceUpdated => "InPlaceUpdated",
            Self::Preserved => "Preserved",
            Self::PolicyObserved => "PolicyObserved",
            Self::Contested => "Contested",
            Self::Valid => "Valid",
            Self::VmPresent => "VmPresent",
        }
    }
}

/// One of Machinist's conditions. Conditions that a reconcile does not mention stay as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCondition {
    pub kind: MachineConditionKind,
    pub status: ConditionStatus,
    /// One word in CamelCase, from a closed set.
    pub reason: &'static str,
    /// For people: the awaited change, the reason, the end of the wait. Never empty.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastOperation {
    pub kind: OperationType,
    pub state: OperationState,
    /// The content of the description. The API layer renders the text.
    pub note: OperationNote,
    /// The driver's code, after an error of creation or initialisation. The autoscaler reads it.
    pub code: Option<Code>,
}

/// The content of `lastOperation.description`. Other programs read some of these sentences, so one place renders them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationNote {
    /// Creation continues, the Node is awaited.
    Creating,
    /// Created, and no Node is awaited.
    Created,
    /// The cloud works on it.
    CloudWorking { message: String },
    /// The driver could not create it.
    CreationFailed { error: String },
    /// The step after creation failed.
    InitializationFailed { error: String },
    /// A prerequisite of creation is missing.
    CreationWaits { message: String },
    /// The Node joined for the first time.
    Joined {
        /// Since the Machine's creation.
        took: SignedDuration,
    },
    /// The Node is healthy again.
    Rejoined,
    /// The Node is not healthy.
    Unhealthy {
        /// Which conditions say so.
        because: String,
    },
    /// The Node is not there any more.
    NodeMissing,
    /// The Node did not join in time.
    JoinTimedOut { limit: SignedDuration },
    /// The Node of another VM has the name of its Node.
    NodeNameTaken,
    /// The Node was unhealthy for too long.
    HealthTimedOut {
        limit: SignedDuration,
        /// Which conditions say so.
        because: String,
    },
    /// An outage is over, so that the health timeout starts again.
    HealthTimeoutReset,
    /// The Node is handed over to the agent that updates it in place.
    UpdatingInPlace,
    /// The Node was updated in place.
    UpdatedInPlace,
    /// The update in place failed.
    InPlaceUpdateFailed {
        /// The reason that the agent gives.
        because: String,
    },
    /// The update in place took too long.
    InPlaceUpdateTimedOut { limit: SignedDuration },
    /// The drain of a Node that is not being deleted failed.
    DrainFailed { error: String },
    /// The Node that is not being deleted is drained, after a failed drain.
    Drained,
    /// Deletion, and where it is.
    Deleting(DeletionNote),
}

reasons! {
    /// The reason for a Machine's state. Printed as condition and Event reasons; stable once released.
    MachineReason {
        /// The spec cannot be understood.
        InvalidMachine: Warning,
        /// The class is not there.
        ClassMissing: Warning,
        /// The class cannot be used.
        ClassInvalid: Warning,
        /// The class is being deleted.
        ClassDeleting: Warning,
        /// The class's Secret is not there.
        SecretMissing: Warning,
        /// The class may not use a Secret that it names.
        SecretRefused: Warning,
        /// The Secret has no `userData`.
        UserDataMissing: Warning,
        /// The class's driver may be among the plugins that are being loaded.
        DriverLoading: Normal,
        /// No ready plugin serves the class's provider.
        DriverNotReady: Warning,
        /// The plugin broke during the call.
        DriverBroken: Warning,
        Frozen: Warning,
        /// The finalizer could not be put on.
        ClaimFailed: Warning,
        /// The bootstrap token could not be created.
        BootstrapTokenFailed: Warning,
        /// A write to the Machine or Node failed.
        WriteFailed: Warning,
        /// The cloud could not be asked.
        CloudUnreachable: Warning,
        /// The driver could not create the VM.
        CreationFailed: Warning,
        /// The cloud works on it.
        CloudWorking: Normal,
        /// A create may have succeeded; the cloud is queried until its reads must show the VM.
        CreationUnresolved: Warning,
        /// The step after creation failed.
        InitializationFailed: Warning,
        /// The VM is there, its Node is awaited.
        WaitingForNode: Normal,
        /// A Node of that name belongs to another VM.
        NodeNameTaken: Warning,
        /// The VM is there, and no Node is awaited.
        VmCreated: Normal,
        /// The Node is there and not ready yet.
        NodeNotReady: Normal,
        NodeHealthy: Normal,
        /// The Node is not healthy.
        NodeUnhealthy: Warning,
        /// The Node is gone.
        NodeMissing: Warning,
        /// The Node did not join in time.
        JoinTimedOut: Warning,
        /// The Node was unhealthy for too long.
        HealthTimedOut: Warning,
        /// A policy has no verdict yet about the Machine's health, or about the action.
        PolicyHolds: Warning,
        /// The policies could not be asked.
        PolicyUnheard: Warning,
        /// The VM was rebooted, because a policy requested it.
        VmRebooted: Warning,
        /// The VM could not be rebooted.
        RebootFailed: Warning,
        /// Several Machines claim the Node.
        NodeContested: Warning,
        /// Several Machines claim the VM, so that nothing is done to it.
        VmContested: Warning,
        /// The Machine or its class has the mark of another cluster, so that nothing is done to its VM.
        ClusterMarkDiffers: Warning,
        /// The Node is being deleted, and so is its Machine.
        NodeDeleting: Normal,
        /// The Machine must fail, and enough others of its deployment are being replaced or rebooted.
        ReplacementHeld: Warning,
        /// The VM must be rebooted, and enough others of its deployment are being replaced or rebooted.
        RebootHeld: Warning,
        /// The Machine must fail or its VM be rebooted, and its zone is silent but not believed to be dead.
        ZoneHeld: Warning,
        /// The Node is being updated in place.
        UpdatingInPlace: Normal,
        /// The Node was updated in place.
        UpdatedInPlace: Normal,
        /// The update in place has failed.
        InPlaceUpdateFailed: Warning,
        /// The health timeout starts again after an outage.
        HealthTimeoutReset: Normal,
        /// The Machine has failed, and stays so until it is replaced or recovers.
        Failed: Warning,
        Deleting: Normal,
        /// A hook of others blocks the drain.
        PreDrainHooks: Normal,
        /// The Node's pods are leaving.
        Draining: Normal,
        /// The Node could not be cordoned, or its pods cannot be evicted.
        DrainFailed: Warning,
        /// A hook of others blocks the deletion of the VM.
        PreTerminateHooks: Normal,
        /// The VM is being deleted.
        VmTerminating: Normal,
        /// The driver could not remove the VM.
        VmDeletionFailed: Warning,
        /// The Node could not be deleted.
        NodeDeletionFailed: Warning,
        /// The finalizer could not be taken off.
        FinalizerHeld: Warning,
        Deleted: Normal,
        /// Deleted; an operator declared that the VM is gone, and no query proved it.
        VmDeclaredGone: Warning,
    }
}

/// Returns the time since `from`, never negative: clocks jump.
pub(super) fn elapsed(from: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(from).max(SignedDuration::ZERO)
}
