//! The end of a reconcile of a set: the status, and the requeue.

use crate::machine::Requeue;
use crate::machine::node::health::ConditionStatus;
use crate::value::id::Name;
use crate::value::phase::{OperationState, OperationType};
use crate::value::words::{reasons, words};

use crate::scheduling::step::Step;

use super::effect::SetEffect;

/// The next step of a reconcile.
pub type SetStep = Step<SetEffect, SetConclusion>;

/// The end of a reconcile.
#[derive(Clone, Debug)]
pub struct SetConclusion {
    pub status: SetStatus,
    /// The reason for the set's state; shown as condition and, when it changes, as an Event.
    pub reason: SetReason,
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

words! {
    /// MCM's conditions of a set.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SetConditionKind with as_str {
        /// A Machine could not be created or deleted.
        ReplicaFailure = "ReplicaFailure",
        /// There are too many Machines.
        Frozen = "Frozen",
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

words! {
    /// Machinist's conditions of a set.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SetOwnConditionKind with as_str {
        /// The selector selects Machines that others control.
        Overlapping = "Overlapping",
        /// All settings that the set copies to Machines are valid.
        Valid = "Valid",
    }
}

impl SetOwnConditionKind {
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
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SetReason {
        /// The spec is invalid.
        InvalidSet = Warning "InvalidMachineSet",
        /// The template names no class.
        ClassNotNamed = Warning "ClassNotNamed",
        /// The selector is empty.
        SelectsEverything = Warning "SelectsEverything",
        /// The selector does not select the Machines of the template.
        SelectorMismatch = Warning "SelectorMismatch",
        /// A Machine could not be created.
        CreationFailed = Warning "CreationFailed",
        /// A Machine could not be deleted.
        DeletionFailed = Warning "DeletionFailed",
        /// The finalizer could not be added.
        ClaimFailed = Warning "ClaimFailed",
        /// The finalizer could not be removed.
        FinalizerHeld = Warning "FinalizerHeld",
        /// A write to the set or its Machines failed, or a read from the API server.
        WriteFailed = Warning "WriteFailed",
        /// The caches are behind the API server.
        CachesBehind = Normal "CachesBehind",
        /// Dangerous work is held.
        GateFrozen = Warning "Frozen",
        /// The set is frozen: it has or had too many Machines, or somebody has set the label. None is created.
        Frozen = Warning "MachineSetFrozen",
        /// An update in place is running: no Machine is created.
        ScaleUpDisabled = Normal "ScaleUpDisabled",
        /// The set is being deleted, and its Machines stay.
        Orphaning = Normal "LeavingMachines",
        /// The set is being deleted, and so are its Machines.
        Deleting = Normal "Deleting",
        Creating = Normal "CreatingMachines",
        Removing = Normal "RemovingMachines",
        /// A Machine cannot be decoded: it counts, and nothing is done to it.
        UnreadableMachine = Warning "UnreadableMachine",
        /// Failed Machines wait until the deployment permits their deletion.
        WaitingForDeployment = Normal "WaitingForDeployment",
        /// All Machines are available, but an optional setting is invalid.
        InvalidOption = Warning "InvalidOption",
        /// All Machines exist, and not all of them are available.
        Waiting = Normal "WaitingForMachines",
        AllAvailable = Normal "AllMachinesAvailable",
        Deleted = Normal "Deleted",
    }
}
