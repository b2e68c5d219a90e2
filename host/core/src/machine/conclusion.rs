//! The end of a reconcile: the change of the status, and the requeue.

use jiff::{SignedDuration, Timestamp};

use crate::drain;
use crate::driver::error::Code;
use crate::driver::{Address, CloudCondition, Vm, VmState};
use crate::machine::node::health::ConditionStatus;
use crate::scheduling::gate::EffectKind;
use crate::value::id::FailureDomain;
use crate::value::phase::{OperationState, OperationType, Phase};

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

/// The reason for a Machine's state. Printed as condition and Event reasons; stable once released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MachineReason {
    /// The spec cannot be understood.
    InvalidMachine,
    /// The class is not there.
    ClassMissing,
    /// The class cannot be used.
    ClassInvalid,
    /// The class is being deleted.
    ClassDeleting,
    /// The class's Secret is not there.
    SecretMissing,
    /// The class may not use a Secret that it names.
    SecretRefused,
    /// The Secret has no `userData`.
    UserDataMissing,
    /// The class's driver may be among the plugins that are being loaded.
    DriverLoading,
    /// No ready plugin serves the class's provider.
    DriverNotReady,
    /// The plugin broke during the call.
    DriverBroken,
    Frozen,
    /// The finalizer could not be put on.
    ClaimFailed,
    /// The bootstrap token could not be created.
    BootstrapTokenFailed,
    /// A write to the Machine or Node failed.
    WriteFailed,
    /// The cloud could not be asked.
    CloudUnreachable,
    /// The driver could not create the VM.
    CreationFailed,
    /// The cloud works on it.
    CloudWorking,
    /// A create may have succeeded; the cloud is queried until its reads must show the VM.
    CreationUnresolved,
    /// The step after creation failed.
    InitializationFailed,
    /// The VM is there, its Node is awaited.
    WaitingForNode,
    /// A Node of that name belongs to another VM.
    NodeNameTaken,
    /// The VM is there, and no Node is awaited.
    VmCreated,
    /// The Node is there and not ready yet.
    NodeNotReady,
    NodeHealthy,
    /// The Node is not healthy.
    NodeUnhealthy,
    /// The Node is gone.
    NodeMissing,
    /// The Node did not join in time.
    JoinTimedOut,
    /// The Node was unhealthy for too long.
    HealthTimedOut,
    /// A policy has no verdict yet about the Machine's health, or about the action.
    PolicyHolds,
    /// The policies could not be asked.
    PolicyUnheard,
    /// The VM was rebooted, because a policy requested it.
    VmRebooted,
    /// The VM could not be rebooted.
    RebootFailed,
    /// Several Machines claim the Node.
    NodeContested,
    /// Several Machines claim the VM, so that nothing is done to it.
    VmContested,
    /// The Machine or its class has the mark of another cluster, so that nothing is done to its VM.
    ClusterMarkDiffers,
    /// The Node is being deleted, and so is its Machine.
    NodeDeleting,
    /// The Machine must fail, and enough others of its deployment are being replaced or rebooted.
    ReplacementHeld,
    /// The VM must be rebooted, and enough others of its deployment are being replaced or rebooted.
    RebootHeld,
    /// The Machine must fail or its VM be rebooted, and its zone is silent but not believed to be dead.
    ZoneHeld,
    /// The Node is being updated in place.
    UpdatingInPlace,
    /// The Node was updated in place.
    UpdatedInPlace,
    /// The update in place has failed.
    InPlaceUpdateFailed,
    /// The health timeout starts again after an outage.
    HealthTimeoutReset,
    /// The Machine has failed, and stays so until it is replaced or recovers.
    Failed,
    Deleting,
    /// A hook of others blocks the drain.
    PreDrainHooks,
    /// The Node's pods are leaving.
    Draining,
    /// The Node could not be cordoned, or its pods cannot be evicted.
    DrainFailed,
    /// A hook of others blocks the deletion of the VM.
    PreTerminateHooks,
    /// The VM is being deleted.
    VmTerminating,
    /// The driver could not remove the VM.
    VmDeletionFailed,
    /// The Node could not be deleted.
    NodeDeletionFailed,
    /// The finalizer could not be taken off.
    FinalizerHeld,
    Deleted,
    /// Deleted; an operator declared that the VM is gone, and no query proved it.
    VmDeclaredGone,
}

impl MachineReason {
    /// The word in conditions and Events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidMachine => "InvalidMachine",
            Self::ClassMissing => "ClassMissing",
            Self::ClassInvalid => "ClassInvalid",
            Self::ClassDeleting => "ClassDeleting",
            Self::SecretMissing => "SecretMissing",
            Self::SecretRefused => "SecretRefused",
            Self::UserDataMissing => "UserDataMissing",
            Self::DriverLoading => "DriverLoading",
            Self::DriverNotReady => "DriverNotReady",
            Self::DriverBroken => "DriverBroken",
            Self::Frozen => "Frozen",
            Self::ClaimFailed => "ClaimFailed",
            Self::BootstrapTokenFailed => "BootstrapTokenFailed",
            Self::WriteFailed => "WriteFailed",
            Self::CloudUnreachable => "CloudUnreachable",
            Self::CreationFailed => "CreationFailed",
            Self::CloudWorking => "CloudWorking",
            Self::CreationUnresolved => "CreationUnresolved",
            Self::InitializationFailed => "InitializationFailed",
            Self::WaitingForNode => "WaitingForNode",
            Self::NodeNameTaken => "NodeNameTaken",
            Self::VmCreated => "VmCreated",
            Self::NodeNotReady => "NodeNotReady",
            Self::NodeHealthy => "NodeHealthy",
            Self::NodeUnhealthy => "NodeUnhealthy",
            Self::NodeMissing => "NodeMissing",
            Self::JoinTimedOut => "JoinTimedOut",
            Self::HealthTimedOut => "HealthTimedOut",
            Self::PolicyHolds => "PolicyHolds",
            Self::PolicyUnheard => "PolicyUnheard",
            Self::VmRebooted => "VmRebooted",
            Self::RebootFailed => "RebootFailed",
            Self::NodeContested => "NodeContested",
            Self::VmContested => "VmContested",
            Self::ClusterMarkDiffers => "ClusterMarkDiffers",
            Self::NodeDeleting => "NodeDeleting",
            Self::ReplacementHeld => "ReplacementHeld",
            Self::RebootHeld => "RebootHeld",
            Self::ZoneHeld => "ZoneHeld",
            Self::UpdatingInPlace => "UpdatingInPlace",
            Self::UpdatedInPlace => "UpdatedInPlace",
            Self::InPlaceUpdateFailed => "InPlaceUpdateFailed",
            Self::HealthTimeoutReset => "HealthTimeoutReset",
            Self::Failed => "Failed",
            Self::Deleting => "Deleting",
            Self::PreDrainHooks => "PreDrainHooks",
            Self::Draining => "Draining",
            Self::DrainFailed => "DrainFailed",
            Self::PreTerminateHooks => "PreTerminateHooks",
            Self::VmTerminating => "VmTerminating",
            Self::VmDeletionFailed => "VmDeletionFailed",
            Self::NodeDeletionFailed => "NodeDeletionFailed",
            Self::FinalizerHeld => "FinalizerHeld",
            Self::Deleted => "Deleted",
            Self::VmDeclaredGone => "VmDeclaredGone",
        }
    }

    /// Returns the severity for the user.
    pub fn severity(self) -> Severity {
        match self {
            Self::WaitingForNode
            | Self::VmCreated
            | Self::NodeNotReady
            | Self::NodeHealthy
            | Self::CloudWorking
            | Self::DriverLoading
            | Self::NodeDeleting
            | Self::UpdatingInPlace
            | Self::UpdatedInPlace
            | Self::HealthTimeoutReset
            | Self::Deleting
            | Self::PreDrainHooks
            | Self::Draining
            | Self::PreTerminateHooks
            | Self::VmTerminating
            | Self::Deleted => Severity::Normal,
            Self::InvalidMachine
            | Self::ClassMissing
            | Self::ClassInvalid
            | Self::ClassDeleting
            | Self::SecretMissing
            | Self::SecretRefused
            | Self::UserDataMissing
            | Self::DriverNotReady
            | Self::DriverBroken
            | Self::Frozen
            | Self::ClaimFailed
            | Self::BootstrapTokenFailed
            | Self::WriteFailed
            | Self::CloudUnreachable
            | Self::CreationFailed
            | Self::CreationUnresolved
            | Self::InitializationFailed
            | Self::NodeNameTaken
            | Self::NodeUnhealthy
            | Self::NodeMissing
            | Self::JoinTimedOut
            | Self::HealthTimedOut
            | Self::PolicyHolds
            | Self::PolicyUnheard
            | Self::VmRebooted
            | Self::RebootFailed
            | Self::NodeContested
            | Self::VmContested
            | Self::ClusterMarkDiffers
            | Self::ReplacementHeld
            | Self::RebootHeld
            | Self::ZoneHeld
            | Self::InPlaceUpdateFailed
            | Self::Failed
            | Self::DrainFailed
            | Self::VmDeclaredGone
            | Self::VmDeletionFailed
            | Self::NodeDeletionFailed
            | Self::FinalizerHeld => Severity::Warning,
        }
    }
}

/// As Kubernetes Events have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Normal,
    /// Someone should look at it.
    Warning,
}

/// Returns the time since `from`, never negative: clocks jump.
pub(super) fn elapsed(from: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(from).max(SignedDuration::ZERO)
}
