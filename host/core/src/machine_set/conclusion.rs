//! The end of a reconcile of a set: the status, and the requeue.

use crate::machine::Requeue;
use crate::machine::node::health::ConditionStatus;
use crate::value::id::Name;
use crate::value::phase::{OperationState, OperationType};

use crate::scheduling::step::Step;
use crate::value::reason::reasons;

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

reasons! {
    /// The reason for a set's state, the most important first. Printed as condition and Event reasons; stable once
    /// released.
    SetReason {
        /// The spec is invalid.
        InvalidSet: Warning = "InvalidMachineSet",
        /// The template names no class.
        ClassNotNamed: Warning,
        /// The selector is empty.
        SelectsEverything: Warning,
        /// The selector does not select the Machines of the template.
        SelectorMismatch: Warning,
        /// A Machine could not be created.
        CreationFailed: Warning,
        /// A Machine could not be deleted.
        DeletionFailed: Warning,
        /// The finalizer could not be added.
        ClaimFailed: Warning,
        /// The finalizer could not be removed.
        FinalizerHeld: Warning,
        /// A write to the set or its Machines failed, or a read from the API server.
        WriteFailed: Warning,
        /// The caches are behind the API server.
        CachesBehind: Normal,
        /// Dangerous work is held.
        GateFrozen: Warning = "Frozen",
        /// The set is frozen: it has or had too many Machines, or somebody has set the label. None is created.
        Frozen: Warning = "MachineSetFrozen",
        /// An update in place is running: no Machine is created.
        ScaleUpDisabled: Normal,
        /// The set is being deleted, and its Machines stay.
        Orphaning: Normal = "LeavingMachines",
        /// The set is being deleted, and so are its Machines.
        Deleting: Normal,
        /// Machines are being created.
        Creating: Normal = "CreatingMachines",
        /// Machines are being deleted.
        Removing: Normal = "RemovingMachines",
        /// A Machine cannot be decoded: it counts, and nothing is done to it.
        UnreadableMachine: Warning,
        /// Failed Machines wait until the deployment permits their deletion.
        WaitingForDeployment: Normal,
        /// All Machines are available, but an optional setting is invalid.
        InvalidOption: Warning,
        /// All Machines exist, and not all of them are available.
        Waiting: Normal = "WaitingForMachines",
        AllAvailable: Normal = "AllMachinesAvailable",
        Deleted: Normal,
    }
}
