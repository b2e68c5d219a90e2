//! The end of a reconcile of a deployment.

use crate::machine::Requeue;
use crate::scheduling::step::Step;
use crate::value::words::reasons;

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

reasons! {
    /// The reason of such an Event. Other programs count some of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DeploymentEventKind {
        /// A set was made larger or smaller.
        ScalingSet = Normal "ScalingMachineSet",
        /// An earlier template is restored.
        Rollback = Normal "DeploymentRollback",
        /// The earlier template is no longer stored.
        RollbackRevisionNotFound = Warning "DeploymentRollbackRevisionNotFound",
        /// The earlier template is the current one.
        RollbackTemplateUnchanged = Warning "DeploymentRollbackTemplateUnchanged",
        /// The autoscaler's list has entries that cannot be applied.
        TriggerIgnored = Warning "TriggerIgnored",
        /// A set was adopted or released.
        SetClaimed = Normal "MachineSetClaimed",
    }
}

reasons! {
    /// The reason for a deployment's state. Printed as condition and Event reasons; stable once released.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum DeploymentReason {
        InvalidDeployment = Warning "InvalidDeployment",
        /// The selector is empty.
        SelectingAll = Warning "SelectingAll",
        Frozen = Warning "Frozen",
        /// A set cannot be decoded.
        UnreadableSet = Warning "UnreadableMachineSet",
        /// A set is frozen: it has too many Machines, or they never join.
        SetFrozen = Warning "MachineSetFrozen",
        WriteFailed = Warning "WriteFailed",
        /// The set of the template could not be created.
        SetCreateFailed = Warning "MachineSetCreateError",
        /// The name of the set was taken; another one is tried.
        SetNameTaken = Warning "MachineSetNameTaken",
        /// Something was written, and the next reconcile continues.
        UnderWay = Normal "UnderWay",
        /// A set has not observed its last change.
        WaitingForSet = Normal "WaitingForMachineSet",
        /// The rollout waits until Machines are gone.
        WaitingForDeletion = Normal "WaitingForDeletion",
        /// The rollout waits until Machines are available.
        WaitingForMachines = Normal "WaitingForMachines",
        /// Nodes are being updated in place.
        UpdatingInPlace = Normal "UpdatingInPlace",
        /// Somebody must select Nodes for the update in place.
        WaitingForSelection = Normal "WaitingForSelection",
        Paused = Normal "Paused",
        /// The rollout waits for its maintenance window.
        WaitingForWindow = Normal "WaitingForWindow",
        /// Failed Machines, or the rollout, wait for the disruption budget.
        WaitingForBudget = Normal "WaitingForDisruptionBudget",
        /// Machines stay until their replacements are available.
        Replacing = Normal "ReplacingMachines",
        /// An annotation or a setting is invalid.
        InvalidOption = Warning "InvalidOption",
        ProgressDeadlineExceeded = Warning "ProgressDeadlineExceeded",
        /// All Machines exist, of the current template.
        Complete = Normal "Complete",
        Deleting = Normal "Deleting",
        Deleted = Normal "Deleted",
    }
}
