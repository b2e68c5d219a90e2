//! The end of a reconcile of a deployment.

use crate::machine::{Requeue, Severity};

use crate::scheduling::step::Step;

use super::effect::DeploymentEffect;
use super::status::DeploymentStatus;

/// The next step of a reconcile.
pub type DeploymentStep = Step<DeploymentEffect, DeploymentConclusion>;

/// The end of a reconcile.
#[derive(Clone, Debug)]
pub struct DeploymentConclusion {
    /// The whole status to write.
    pub status: DeploymentStatus,
    /// The reason for the deployment's state; shown as condition and, when it changes, as an Event.
    pub reason: DeploymentReason,
    /// The text for people.
    pub message: String,
    /// Events of this reconcile.
    pub notes: Vec<DeploymentEvent>,
    pub wake: Requeue,
}

/// An Event of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentEvent {
    pub kind: DeploymentEventKind,
    pub message: String,
}

/// The reason of such an Event. Other programs count some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeploymentEventKind {
    /// A set was made larger or smaller.
    ScalingSet,
    /// An earlier template is restored.
    Rollback,
    /// The earlier template is no longer stored.
    RollbackRevisionNotFound,
    /// The earlier template is the current one.
    RollbackTemplateUnchanged,
    /// The autoscaler's list has entries that cannot be applied.
    TriggerIgnored,
    /// A set was adopted or released.
    SetClaimed,
}

impl DeploymentEventKind {
    /// The reason of the Event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScalingSet => "ScalingMachineSet",
            Self::Rollback => "DeploymentRollback",
            Self::RollbackRevisionNotFound => "DeploymentRollbackRevisionNotFound",
            Self::RollbackTemplateUnchanged => "DeploymentRollbackTemplateUnchanged",
            Self::TriggerIgnored => "TriggerIgnored",
            Self::SetClaimed => "MachineSetClaimed",
        }
    }

    /// Returns the severity for the user.
    pub fn severity(self) -> Severity {
        match self {
            Self::ScalingSet | Self::Rollback | Self::SetClaimed => Severity::Normal,
            Self::RollbackRevisionNotFound | Self::RollbackTemplateUnchanged | Self::TriggerIgnored => {
                Severity::Warning
            }
        }
    }
}

/// The reason for a deployment's state. Printed as condition and Event reasons; stable once released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeploymentReason {
    /// The spec is invalid.
    InvalidDeployment,
    /// The selector is empty.
    SelectingAll,
    Frozen,
    /// A set cannot be decoded.
    UnreadableSet,
    /// A set is frozen: it has too many Machines, or they never join.
    SetFrozen,
    WriteFailed,
    /// The set of the template could not be created.
    SetCreateFailed,
    /// The name of the set was taken; another one is tried.
    SetNameTaken,
    /// Something was written, and the next reconcile continues.
    UnderWay,
    /// A set has not observed its last change.
    WaitingForSet,
    /// The rollout waits until Machines are gone.
    WaitingForDeletion,
    /// The rollout waits until Machines are available.
    WaitingForMachines,
    /// Nodes are being updated in place.
    UpdatingInPlace,
    /// Somebody must select Nodes for the update in place.
    WaitingForSelection,
    /// The rollout is paused.
    Paused,
    /// The rollout waits for its maintenance window.
    WaitingForWindow,
    /// Failed Machines, or the rollout, wait for the disruption budget.
    WaitingForBudget,
    /// Machines stay until their replacements are available.
    Replacing,
    /// An annotation or a setting is invalid.
    InvalidOption,
    /// The rollout makes no progress.
    ProgressDeadlineExceeded,
    /// All Machines exist, of the current template.
    Complete,
    /// Its sets are being deleted.
    Deleting,
    Deleted,
}

impl DeploymentReason {
    /// The word in conditions and Events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidDeployment => "InvalidDeployment",
            Self::SelectingAll => "SelectingAll",
            Self::Frozen => "Frozen",
            Self::UnreadableSet => "UnreadableMachineSet",
            Self::SetFrozen => "MachineSetFrozen",
            Self::WriteFailed => "WriteFailed",
            Self::SetCreateFailed => "MachineSetCreateError",
            Self::SetNameTaken => "MachineSetNameTaken",
            Self::UnderWay => "UnderWay",
            Self::WaitingForSet => "WaitingForMachineSet",
            Self::WaitingForDeletion => "WaitingForDeletion",
            Self::WaitingForMachines => "WaitingForMachines",
            Self::UpdatingInPlace => "UpdatingInPlace",
            Self::WaitingForSelection => "WaitingForSelection",
            Self::Paused => "Paused",
            Self::WaitingForWindow => "WaitingForWindow",
            Self::WaitingForBudget => "WaitingForDisruptionBudget",
            Self::Replacing => "ReplacingMachines",
            Self::InvalidOption => "InvalidOption",
            Self::ProgressDeadlineExceeded => "ProgressDeadlineExceeded",
            Self::Complete => "Complete",
            Self::Deleting => "Deleting",
            Self::Deleted => "Deleted",
        }
    }

    /// How the reason concerns the user.
    pub fn severity(self) -> Severity {
        match self {
            Self::UnderWay
            | Self::WaitingForSet
            | Self::WaitingForDeletion
            | Self::WaitingForMachines
            | Self::UpdatingInPlace
            | Self::WaitingForSelection
            | Self::Paused
            | Self::WaitingForWindow
            | Self::WaitingForBudget
            | Self::Replacing
            | Self::Complete
            | Self::Deleting
            | Self::Deleted => Severity::Normal,
            Self::InvalidDeployment
            | Self::SelectingAll
            | Self::Frozen
            | Self::UnreadableSet
            | Self::SetFrozen
            | Self::WriteFailed
            | Self::SetCreateFailed
            | Self::SetNameTaken
            | Self::InvalidOption
            | Self::ProgressDeadlineExceeded => Severity::Warning,
        }
    }
}
