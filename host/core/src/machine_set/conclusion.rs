//! How a pass over a set ends: what its status is to say, and when to look again.

use crate::machine::node::health::ConditionStatus;
use crate::machine::{Requeue, Severity};
use crate::value::id::Name;
use crate::value::phase::{OperationState, OperationType};

use super::effect::SetEffect;

/// What to do next in a pass.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a few a pass, and each pass ends with a conclusion")]
pub enum SetStep {
    /// Do these, at the same time, and ask again.
    Act(Vec<SetEffect>),
    /// The pass is over.
    Finish(SetConclusion),
}

impl SetStep {
    /// A batch of one.
    pub(super) fn act(effect: SetEffect) -> Self {
        Self::Act(vec![effect])
    }
}

/// The end of a pass.
#[derive(Clone, Debug)]
pub struct SetConclusion {
    /// What the status is to say.
    pub status: SetStatus,
    /// Why the set is as it is; shown as condition and, when it changes, as an Event.
    pub reason: SetReason,
    /// The same for people.
    pub message: String,
    /// When to look again.
    pub wake: Requeue,
}

/// The status as it is to be. It is written only where it differs from what stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetStatus {
    /// Machines of the set, those on their way out included.
    pub replicas: usize,
    /// Those with all labels of the template.
    pub fully_labeled: usize,
    /// Those in phase Running.
    pub ready: usize,
    /// Those in phase Running or Available. How long they have been so does not matter: users of machine-controller-manager
    /// set large times and rely on their being without effect.
    pub available: usize,
    /// Those that have failed and are kept.
    pub preserved_failed: usize,
    /// Those that are kept without being asked for.
    pub auto_preserved: usize,
    /// The generation that was acted on; `None` leaves what is there, since nothing could be done.
    pub observed_generation: Option<i64>,
    /// Machines whose last operation has failed, those that are kept aside, in the order of their names.
    pub failed: Vec<Name>,
    /// Conditions that others count. What is not here does not hold.
    pub conditions: Vec<SetCondition>,
    /// Conditions of ours beside `Ready`, which follows from the reason of the conclusion. What is not mentioned stays.
    pub own_conditions: Vec<SetOwnCondition>,
    /// What was done last; `None` leaves what is there.
    pub operation: Option<SetOperation>,
}

/// A condition that others count. It is True.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCondition {
    /// Which.
    pub kind: SetConditionKind,
    /// One word in CamelCase, from a closed set.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// Conditions that others count.
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

/// A condition of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOwnCondition {
    /// Which.
    pub kind: SetOwnConditionKind,
    /// Its status.
    pub status: ConditionStatus,
    /// One word in CamelCase, from a closed set.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// Conditions of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetOwnConditionKind {
    /// The selector selects Machines that others control.
    Overlapping,
    /// All settings that the set hands down can be understood.
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

    /// The status that somebody has to act on.
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
    /// What.
    pub kind: OperationType,
    /// How it went.
    pub state: OperationState,
    /// For people.
    pub text: String,
}

/// Why a set is as it is, what concerns the user most first. Printed as condition and Event reasons; stable once released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetReason {
    /// The spec cannot be understood.
    InvalidSet,
    /// The template names no class.
    ClassNotNamed,
    /// The selector is empty.
    SelectsEverything,
    /// The selector does not select what the template makes.
    SelectorMismatch,
    /// A Machine could not be created.
    CreationFailed,
    /// A Machine could not be deleted.
    DeletionFailed,
    /// The finalizer could not be put on.
    ClaimFailed,
    /// The finalizer could not be taken off.
    FinalizerHeld,
    /// What is stored on the set or its Machines could not be written, or what the API server has could not be read.
    WriteFailed,
    /// The caches do not show yet what the API server has.
    CachesBehind,
    /// Dangerous work is held.
    Held,
    /// There are too many Machines, or were, or somebody has set the label: none is created.
    Frozen,
    /// An update in place goes on: no Machine is created.
    ScaleUpDisabled,
    /// The set is being deleted, and its Machines are to stay.
    Orphaning,
    /// The set is being deleted, and its Machines are going.
    Deleting,
    /// Machines are being made.
    Creating,
    /// Machines are on their way out.
    Removing,
    /// A Machine cannot be decoded: it counts and is left alone.
    UnreadableMachine,
    /// Failed Machines wait until the deployment lets them go.
    WaitingForDeployment,
    /// All is well, but for what its owner wishes beside.
    InvalidOption,
    /// All Machines are there, and not all of them are available.
    Waiting,
    /// All is well.
    AllAvailable,
    /// Gone.
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
            Self::Held => "Frozen",
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
            | Self::Held
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
