//! The end of a reconcile: the change of the status, and the requeue.

use jiff::{SignedDuration, Timestamp};

use crate::drain;
use crate::driver::error::Code;
use crate::driver::{Address, CloudCondition, Vm, VmState};
use crate::machine::node::health::ConditionStatus;
use crate::scheduling::gate::EffectKind;
use crate::value::id::FailureDomain;
use crate::value::phase::{OperationState, OperationType, Phase};
use crate::value::words::{reasons, words};

pub use crate::scheduling::step::Requeue;
use crate::scheduling::step::Step;

use super::delete::note::DeletionNote;
use super::effect::MachineEffect;

/// The next step of a reconcile.
pub type MachineStep = Step<MachineEffect, MachineConclusion>;

/// The end of a reconcile.
#[derive(Clone, Debug)]
pub struct MachineConclusion {
    pub status: StatusChange,
    /// The reason for the Machine's state; shown as condition and, when it changes, as an Event.
    pub reason: MachineReason,
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

words! {
    /// Machinist's conditions on a Machine. `Ready` is not among them: every reconcile sets it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum MachineConditionKind with as_str {
        Healthy = "Healthy",
        /// The Node's pods are gone.
        Drained = "Drained",
        /// The update in place has ended.
        InPlaceUpdated = "InPlaceUpdated",
        Preserved = "Preserved",
        /// The decisions that observing policies would have made.
        PolicyObserved = "PolicyObserved",
        /// Other Machines claim its VM or its Node.
        Contested = "Contested",
        /// Its settings can be understood.
        Valid = "Valid",
        /// Status queries find the VM.
        VmPresent = "VmPresent",
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
    CloudWorking {
        message: String,
    },
    /// The driver could not create it.
    CreationFailed {
        error: String,
    },
    InitializationFailed {
        error: String,
    },
    /// A prerequisite of creation is missing.
    CreationWaits {
        message: String,
    },
    /// The Node joined for the first time.
    Joined {
        /// Since the Machine's creation.
        took: SignedDuration,
    },
    /// The Node is healthy again.
    Rejoined,
    Unhealthy {
        /// Which conditions say so.
        because: String,
    },
    /// The Node is not there any more.
    NodeMissing,
    /// The Node did not join in time.
    JoinTimedOut {
        limit: SignedDuration,
    },
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
    InPlaceUpdateFailed {
        /// The reason that the agent gives.
        because: String,
    },
    /// The update in place took too long.
    InPlaceUpdateTimedOut {
        limit: SignedDuration,
    },
    /// The drain of a Node that is not being deleted failed.
    DrainFailed {
        error: String,
    },
    /// The Node that is not being deleted is drained, after a failed drain.
    Drained,
    /// Deletion, and where it is.
    Deleting(DeletionNote),
}

reasons! {
    /// The reason for a Machine's state. Printed as condition and Event reasons; stable once released.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum MachineReason {
        /// The spec cannot be understood.
        InvalidMachine = Warning "InvalidMachine",
        ClassMissing = Warning "ClassMissing",
        ClassInvalid = Warning "ClassInvalid",
        ClassDeleting = Warning "ClassDeleting",
        /// The class's Secret is not there.
        SecretMissing = Warning "SecretMissing",
        /// The class may not use a Secret that it names.
        SecretRefused = Warning "SecretRefused",
        /// The Secret has no `userData`.
        UserDataMissing = Warning "UserDataMissing",
        /// The class's driver may be among the plugins that are being loaded.
        DriverLoading = Normal "DriverLoading",
        /// No ready plugin serves the class's provider.
        DriverNotReady = Warning "DriverNotReady",
        /// The plugin broke during the call.
        DriverBroken = Warning "DriverBroken",
        Frozen = Warning "Frozen",
        /// The finalizer could not be put on.
        ClaimFailed = Warning "ClaimFailed",
        /// The bootstrap token could not be created.
        BootstrapTokenFailed = Warning "BootstrapTokenFailed",
        /// A write to the Machine or Node failed.
        WriteFailed = Warning "WriteFailed",
        /// The cloud could not be asked.
        CloudUnreachable = Warning "CloudUnreachable",
        /// The driver could not create the VM.
        CreationFailed = Warning "CreationFailed",
        CloudWorking = Normal "CloudWorking",
        /// A create may have succeeded; the cloud is queried until its reads must show the VM.
        CreationUnresolved = Warning "CreationUnresolved",
        InitializationFailed = Warning "InitializationFailed",
        /// The VM is there, its Node is awaited.
        WaitingForNode = Normal "WaitingForNode",
        /// A Node of that name belongs to another VM.
        NodeNameTaken = Warning "NodeNameTaken",
        /// The VM is there, and no Node is awaited.
        VmCreated = Normal "VmCreated",
        /// The Node is there and not ready yet.
        NodeNotReady = Normal "NodeNotReady",
        NodeHealthy = Normal "NodeHealthy",
        NodeUnhealthy = Warning "NodeUnhealthy",
        NodeMissing = Warning "NodeMissing",
        /// The Node did not join in time.
        JoinTimedOut = Warning "JoinTimedOut",
        /// The Node was unhealthy for too long.
        HealthTimedOut = Warning "HealthTimedOut",
        /// A policy has no verdict yet about the Machine's health, or about the action.
        PolicyHolds = Warning "PolicyHolds",
        /// The policies could not be asked.
        PolicyUnheard = Warning "PolicyUnheard",
        /// The VM was rebooted, because a policy requested it.
        VmRebooted = Warning "VmRebooted",
        /// The VM could not be rebooted.
        RebootFailed = Warning "RebootFailed",
        /// Several Machines claim the Node.
        NodeContested = Warning "NodeContested",
        /// Several Machines claim the VM, so that nothing is done to it.
        VmContested = Warning "VmContested",
        /// The Machine or its class has the mark of another cluster, so that nothing is done to its VM.
        ClusterMarkDiffers = Warning "ClusterMarkDiffers",
        /// The Node is being deleted, and so is its Machine.
        NodeDeleting = Normal "NodeDeleting",
        /// The Machine must fail, and enough others of its deployment are being replaced or rebooted.
        ReplacementHeld = Warning "ReplacementHeld",
        /// The VM must be rebooted, and enough others of its deployment are being replaced or rebooted.
        RebootHeld = Warning "RebootHeld",
        /// The Machine must fail or its VM be rebooted, and its zone is silent but not believed to be dead.
        ZoneHeld = Warning "ZoneHeld",
        /// The Node is being updated in place.
        UpdatingInPlace = Normal "UpdatingInPlace",
        /// The Node was updated in place.
        UpdatedInPlace = Normal "UpdatedInPlace",
        InPlaceUpdateFailed = Warning "InPlaceUpdateFailed",
        /// The health timeout starts again after an outage.
        HealthTimeoutReset = Normal "HealthTimeoutReset",
        /// The Machine has failed, and stays so until it is replaced or recovers.
        Failed = Warning "Failed",
        Deleting = Normal "Deleting",
        /// A hook of others blocks the drain.
        PreDrainHooks = Normal "PreDrainHooks",
        /// The Node's pods are leaving.
        Draining = Normal "Draining",
        /// The Node could not be cordoned, or its pods cannot be evicted.
        DrainFailed = Warning "DrainFailed",
        /// A hook of others blocks the deletion of the VM.
        PreTerminateHooks = Normal "PreTerminateHooks",
        VmTerminating = Normal "VmTerminating",
        /// The driver could not remove the VM.
        VmDeletionFailed = Warning "VmDeletionFailed",
        /// The Node could not be deleted.
        NodeDeletionFailed = Warning "NodeDeletionFailed",
        /// The finalizer could not be taken off.
        FinalizerHeld = Warning "FinalizerHeld",
        Deleted = Normal "Deleted",
        /// Deleted; an operator declared that the VM is gone, and no query proved it.
        VmDeclaredGone = Warning "VmDeclaredGone",
    }
}

/// Returns the time since `from`, never negative: clocks jump.
pub(super) fn elapsed(from: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(from).max(SignedDuration::ZERO)
}
