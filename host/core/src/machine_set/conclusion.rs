//! The end of a reconcile of a set: the status, and the requeue.

use crate::machine::node::health::ConditionStatus;
use crate::machine::{Requeue, Severity};
use crate::value::id::Name;
use crate::value::phase::{OperationState, OperationType};

use crate::scheduling::step::Step;

use super::effect::SetEffect;

/// The next step of a reconcile.
pub type SetStep = Step<SetEffect, SetConclusion>;

/// The end of a reconcile.
#[derive(Clone, Debug)]
pub struct SetConclusion {
    /// The status to write.
    pub status: SetStatus,
    /// The reason for the set's state; shown as condition and, when it changes, as an Event.
    pub reason: SetReason,
    /// The text for people.
    pub message: String,
    pub wake: Requeue,
}

/// The status to write. Only fields that differ are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetStatus {
    /// Machines of the set, those in deletion included.
    pub replicas: usize,
    /// Those with all labels of the template.
    pub fully_labeled: usize,
    /// Those in phase Running.
    pub ready: usize,
    /// Those in phase Running or Available. The time since then does not matter: users of machine-controller-manager
    /// set large times and rely on their having no effect.
    pub available: usize,
    /// Those that have failed and are preserved.
    pub preserved_failed: usize,
    /// Those that are preserved without a request.
    pub auto_preserved: usize,
    /// The observed generation; `None` leaves the stored one, since nothing could be done.
    pub observed_generation: Option<i64>,
    /// Machines whose last operation has failed, without preserved ones, by name.
    pub failed: Vec<Name>,
    /// MCM's conditions. Those that are missing are False.
    pub conditions: Vec<SetCondition>,
    /// Machinist's conditions beside `Ready`, which follows from the reason of the conclusion. Those that are not
    /// mentioned stay.
    pub own_conditions: Vec<SetOwnCondition>,
    /// The last operation; `None` leaves the stored one.
    pub operation: Option<SetOperation>,
}

/// One of MCM's conditions. It is True.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCondition {
    pub kind: SetConditionKind,
    /// One word in CamelCase, from a closed set.
    pub reason: &'static str,
    pub message: String,
}

/// MCM's conditions of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetConditionKind {
    /// A Machine could not be created or deleted.
    ReplicaFailure,
    /// There are too many Machines.
    Frozen,
}

impl SetConditionKind {
    /// The type of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReplicaFailure => "ReplicaFailure",
            Self::Frozen => "Frozen",
        }
    }
}

/// One of Machinist's conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOwnCondition {
    pub kind: SetOwnConditionKind,
    pub status: ConditionStatus,
    /// One word in CamelCase, from a closed set.
    pub reason: &'static str,
    pub message: String,
}

/// Machinist's conditions of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetOwnConditionKind {
    /// The selector selects Machines that others control.
    Overlapping,
    /// All settings that the set copies to Machines are valid.
    Valid,
}

impl SetOwnConditionKind {
    /// The type of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overlapping => "Overlapping",
            Self::Valid => "Valid",
        }
    }

    /// Returns the status that needs attention.
    pub fn bad(self) -> ConditionStatus {
        match self {
            Self::Overlapping => ConditionStatus::True,
            Self::Valid => ConditionStatus::False,
        }
    }
}

/// `status.lastOperation` of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOperation {
    pub kind: OperationType,
    pub state: OperationState,
    pub text: String,
}

/// The reason for a set's state, the most important first. Printed as condition and Event reasons; stable once
/// released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetReason {
    /// The spec is invalid.
    InvalidSet,
    /// The template names no class.
    ClassNotNamed,
    /// The selector is empty.
    SelectsEverything,
    /// The selector does not select the Machines of the template.
    SelectorMismatch,
    /// A Machine could not be created.
    CreationFailed,
    /// A Machine could not be deleted.
    DeletionFailed,
    /// The finalizer could not be added.
    ClaimFailed,
    /// The finalizer could not be removed.
    FinalizerHeld,
    /// A write to the set or its Machines failed, or a read from the API server.
    WriteFailed,
    /// The caches are behind the API server.
    CachesBehind,
    /// Dangerous work is held.
    GateFrozen,
    /// The set is frozen: it has or had too many Machines, or somebody has set the label. None is created.
    Frozen,
    /// An update in place is running: no Machine is created.
    ScaleUpDisabled,
    /// The set is being deleted, and its Machines stay.
    Orphaning,
    /// The set is being deleted, and so are its Machines.
    Deleting,
    /// Machines are being created.
    Creating,
    /// Machines are being deleted.
    Removing,
    /// A Machine cannot be decoded: it counts, and nothing is done to it.
    UnreadableMachine,
    /// Failed Machines wait until the deployment permits their deletion.
    WaitingForDeployment,
    /// All Machines are available, but an optional setting is invalid.
    InvalidOption,
    /// All Machines exist, and not all of them are available.
    Waiting,
    AllAvailable,
    Deleted,
}

impl SetReason {
    /// The word in conditions and Events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidSet => "InvalidMachineSet",
            Self::ClassNotNamed => "ClassNotNamed",
            Self::SelectsEverything => "SelectsEverything",
            Self::SelectorMismatch => "SelectorMismatch",
            Self::CreationFailed => "CreationFailed",
            Self::DeletionFailed => "DeletionFailed",
            Self::ClaimFailed => "ClaimFailed",
            Self::FinalizerHeld => "FinalizerHeld",
            Self::WriteFailed => "WriteFailed",
            Self::CachesBehind => "CachesBehind",
            Self::GateFrozen => "Frozen",
            Self::Frozen => "MachineSetFrozen",
            Self::ScaleUpDisabled => "ScaleUpDisabled",
            Self::Orphaning => "LeavingMachines",
            Self::Deleting => "Deleting",
            Self::Creating => "CreatingMachines",
            Self::Removing => "RemovingMachines",
            Self::UnreadableMachine => "UnreadableMachine",
            Self::WaitingForDeployment => "WaitingForDeployment",
            Self::InvalidOption => "InvalidOption",
            Self::Waiting => "WaitingForMachines",
            Self::AllAvailable => "AllMachinesAvailable",
            Self::Deleted => "Deleted",
        }
    }

    /// How the reason concerns the user.
    pub fn severity(self) -> Severity {
        match self {
            Self::InvalidSet
            | Self::ClassNotNamed
            | Self::SelectsEverything
            | Self::SelectorMismatch
            | Self::CreationFailed
            | Self::DeletionFailed
            | Self::ClaimFailed
            | Self::FinalizerHeld
            | Self::WriteFailed
            | Self::GateFrozen
            | Self::InvalidOption
            | Self::UnreadableMachine
            | Self::Frozen => Severity::Warning,
            Self::CachesBehind
            | Self::ScaleUpDisabled
            | Self::Orphaning
            | Self::Deleting
            | Self::Creating
            | Self::Removing
            | Self::WaitingForDeployment
            | Self::Waiting
            | Self::AllAvailable
            | Self::Deleted => Severity::Normal,
        }
    }
}
