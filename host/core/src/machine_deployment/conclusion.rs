//! How a pass over a deployment ends.

use crate::machine::{Requeue, Severity};

use super::effect::DeploymentEffect;
use super::status::DeploymentStatus;

/// What to do next in a pass.
#[derive(Clone, Debug)]
pub enum DeploymentStep {
    /// Do these, at the same time, and ask again.
    Act(Vec<DeploymentEffect>),
    /// The pass is over.
    Finish(DeploymentConclusion),
}

/// The end of a pass.
#[derive(Clone, Debug)]
pub struct DeploymentConclusion {
    /// What the status is to say, all of it.
    pub status: DeploymentStatus,
    /// Why the deployment is as it is; shown as condition and, when it changes, as an Event.
    pub reason: DeploymentReason,
    /// The same for people.
    pub message: String,
    /// What this pass did that people want to know, as Events.
    pub notes: Vec<DeploymentEvent>,
    /// When to look again.
    pub wake: Requeue,
}

/// An Event of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentEvent {
    /// Its reason.
    pub kind: DeploymentEventKind,
    /// Its message.
    pub message: String,
}

/// Why something is told. Others count some of these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeploymentEventKind {
    /// A set was made larger or smaller.
    ScalingSet,
    /// An earlier template is in place again.
    Rollback,
    /// The earlier template is not kept.
    RollbackRevisionNotFound,
    /// The earlier template is the one in place.
    RollbackTemplateUnchanged,
    /// The autoscaler's list names what cannot be heeded.
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

    /// How it concerns the user.
    pub fn severity(self) -> Severity {
        match self {
            Self::ScalingSet | Self::Rollback | Self::SetClaimed => Severity::Normal,
            Self::RollbackRevisionNotFound | Self::RollbackTemplateUnchanged | Self::TriggerIgnored => {
                Severity::Warning
            }
        }
    }
}

/// Why a deployment is as it is. Printed as condition and Event reasons; stable once released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeploymentReason {
    /// The spec cannot be understood.
    InvalidDeployment,
    /// The selector is empty.
    SelectingAll,
    /// Dangerous work is held.
    Frozen,
    /// A set cannot be decoded.
    UnreadableSet,
    /// A set makes no Machines: it has too many, or they never join.
    SetFrozen,
    /// A write failed.
    WriteFailed,
    /// The set of the template could not be made.
    SetCreateFailed,
    /// The name of the set was taken; another one is tried.
    SetNameTaken,
    /// Something was written, and the next pass goes on from there.
    UnderWay,
    /// A set has not taken note of what was asked of it.
    WaitingForSet,
    /// The rollout waits until Machines are gone.
    WaitingForDeletion,
    /// The rollout waits until Machines are available.
    WaitingForMachines,
    /// Nodes are being updated in place.
    UpdatingInPlace,
    /// Somebody has to choose Nodes that are to be updated in place.
    WaitingForSelection,
    /// Nothing is rolled while it is paused.
    Paused,
    /// The rollout goes on in its maintenance window.
    WaitingForWindow,
    /// Machines that failed, or the rollout, wait until the disruption budget allows more.
    WaitingForBudget,
    /// Machines are there until their replacements are.
    Replacing,
    /// An annotation or a setting cannot be understood.
    InvalidOption,
    /// The rollout makes no progress.
    ProgressDeadlineExceeded,
    /// All Machines are there, of the current template.
    Complete,
    /// Its sets are being deleted.
    Deleting,
    /// Gone.
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
