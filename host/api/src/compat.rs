//! The texts of `status.lastOperation.description` that other programs read.
//!
//! machine-controller-manager keeps its place in a deletion in this text, and its users' tools look for parts of it.
//! Here the text is output: it is rendered from an enum. It is read in one place, [`stage_left_at`], for a Machine
//! whose deletion another program began.

use std::fmt;

use jiff::SignedDuration;
use machinist_core::machine::DeletionStage;
use machinist_core::value::duration;

/// The stages of a deletion, in their order.
pub const DELETION_STAGES: [DeletionStage; 6] = [
    DeletionStage::VmStatus,
    DeletionStage::Drain,
    DeletionStage::VolumeAttachments,
    DeletionStage::Vm,
    DeletionStage::Node,
    DeletionStage::Finalizer,
];

/// The words by which a description names the stage that comes next.
pub fn marker(stage: DeletionStage) -> &'static str {
    match stage {
        DeletionStage::VmStatus => "Set machine status to termination. Now, getting VM Status",
        DeletionStage::Drain => "Initiate node drain",
        DeletionStage::VolumeAttachments => "Delete Volume Attachments",
        DeletionStage::Vm => "Initiate VM deletion",
        DeletionStage::Node => "Initiate node object deletion",
        DeletionStage::Finalizer => "Initiate machine object finalizer removal",
    }
}

/// The stage that a deletion is at, by its description: the first whose marker occurs, and the first of all for any
/// other text. An earlier stage than the real one is safe, since each finds out when it has nothing to do.
pub fn stage_left_at(description: &str) -> DeletionStage {
    let marked = DELETION_STAGES.into_iter().find(|stage| description.contains(marker(*stage)));
    marked.unwrap_or(DeletionStage::VmStatus)
}

/// A description. Texts inside come from the caller, in the form in which people are to read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusMessage<'a> {
    /// The VM is made, its Node is awaited.
    Creating,
    /// The VM is made, and no Node is awaited.
    Created,
    /// The driver could not create the VM, or not look at it.
    CreationFailed { error: &'a str },
    /// The driver could not do the step after creation.
    InitializationFailed { error: &'a str },
    /// The VM came up under the name of a Node that exists.
    StaleNode,
    /// The Node is there and healthy for the first time.
    Joined {
        /// Name of the Machine.
        machine: &'a str,
        /// How long it took.
        after: SignedDuration,
    },
    /// The Node is healthy again.
    Rejoined {
        /// Name of the Machine.
        machine: &'a str,
    },
    /// The Node of a running Machine is gone.
    NodeMissing {
        /// Name of the Machine.
        machine: &'a str,
    },
    /// The Node of a running Machine is not healthy.
    Unhealthy {
        /// Name of the Machine.
        machine: &'a str,
        /// The conditions that say so, such as `Ready=False`.
        conditions: &'a str,
    },
    /// The Node did not join in time.
    JoinTimedOut {
        /// Name of the Machine.
        machine: &'a str,
        /// The time it had.
        limit: SignedDuration,
    },
    /// The Node was not healthy for too long.
    HealthTimedOut {
        /// Name of the Machine.
        machine: &'a str,
        /// The time it had.
        limit: SignedDuration,
        /// The conditions that say so.
        conditions: &'a str,
    },
    /// The API server was unreachable, so the health timeout of the Machine starts again.
    HealthTimeoutReset,
    /// The Node is handed over to be updated in place.
    UpdatingInPlace {
        /// Name of the Machine.
        machine: &'a str,
    },
    /// The Node was updated in place.
    UpdatedInPlace {
        /// Name of the Machine.
        machine: &'a str,
    },
    /// The update in place failed.
    InPlaceUpdateFailed {
        /// Name of the Machine.
        machine: &'a str,
        because: &'a str,
    },
    /// The update in place took too long.
    InPlaceUpdateTimedOut {
        /// Name of the Machine.
        machine: &'a str,
        /// The time it had.
        limit: SignedDuration,
    },
    /// The Node could not be emptied, apart from deletion.
    DrainFailed { error: &'a str },
    /// The Node is empty, apart from deletion, after a failure.
    NodeDrained,
    /// A set asked for the deletion.
    DeletionRequested,
    /// The deletion goes on.
    Deleting(Deleting<'a>),
}

/// A step of a deletion. Each text names the next step by its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleting<'a> {
    Begun,
    /// The VM could not be queried; tried again.
    FindVmFailed {
        error: &'a str,
    },
    /// The Machine's Node is known.
    NodeKnown,
    /// There is no target cluster.
    NoTargetCluster,
    /// The cloud has no VM. The driver is asked to delete it nevertheless, for what may be left of it.
    VmNotFound,
    /// The VM's creation was not finished.
    VmNotInitialized,
    /// There is no Node to drain.
    NoNodeToDrain,
    /// The Node's condition could not be written; tried again.
    NodeConditionFailed {
        /// The API server's error.
        error: &'a str,
    },
    /// The drain failed; tried again.
    DrainFailed {
        error: &'a str,
    },
    /// The drain failed, and the deletion is forced.
    ForcedDrainFailed {
        error: &'a str,
    },
    /// All pods are gone and their volumes are detached.
    Drained,
    /// All pods are deleted; their volumes may be attached.
    ForceDrained,
    /// Nothing attaches volumes to the Node.
    VolumesDetached,
    /// The cloud works on the VM's removal.
    VmWorking {
        message: &'a str,
    },
    /// The VM could not be deleted; tried again soon.
    VmDeletionFailed {
        error: &'a str,
    },
    /// The VM could not be deleted, and something must change before it can.
    VmDeletionRefused {
        error: &'a str,
    },
    /// The VM is deleted.
    VmDeleted,
    /// There was no VM to delete.
    VmGone,
    /// The Machine never had a Node.
    NoNodeLabel {
        /// Name of the Machine.
        machine: &'a str,
    },
    /// The Node is not there.
    NodeGone {
        /// Name of the Machine.
        machine: &'a str,
    },
    /// The Node could not be deleted; tried again.
    NodeDeletionFailed {
        /// Name of the Node.
        node: &'a str,
        /// The API server's error.
        error: &'a str,
    },
    /// The Node is deleted.
    NodeDeleted {
        /// Name of the Node.
        node: &'a str,
    },
}

impl Deleting<'_> {
    /// The stage that comes next.
    pub fn next(&self) -> DeletionStage {
        match self {
            Self::Begun | Self::FindVmFailed { .. } => DeletionStage::VmStatus,
            Self::NodeKnown
            | Self::VmNotFound
            | Self::VmNotInitialized
            | Self::NodeConditionFailed { .. }
            | Self::DrainFailed { .. } => DeletionStage::Drain,
            // Volume attachments go with the pods of a forced drain, so that stage is never waited for here.
            Self::NoTargetCluster
            | Self::NoNodeToDrain
            | Self::Drained
            | Self::ForceDrained
            | Self::ForcedDrainFailed { .. }
            | Self::VmWorking { .. }
            | Self::VolumesDetached
            | Self::VmDeletionFailed { .. }
            | Self::VmDeletionRefused { .. } => DeletionStage::Vm,
            Self::VmDeleted | Self::VmGone | Self::NodeDeletionFailed { .. } => DeletionStage::Node,
            Self::NoNodeLabel { .. } | Self::NodeGone { .. } | Self::NodeDeleted { .. } => {
                DeletionStage::Finalizer
            }
        }
    }
}

impl fmt::Display for StatusMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Creating => f.write_str("Creating machine on cloud provider"),
            Self::Created => f.write_str("Created machine on cloud provider"),
            Self::CreationFailed { error } => write!(f, "Cloud provider message - {error}"),
            Self::InitializationFailed { error } => {
                write!(f, "Provider error: {error}. Initialize VM Instance")
            }
            Self::StaleNode => f.write_str("VM using old node obj"),
            Self::Joined { machine, after } => {
                write!(
                    f,
                    "Machine {machine} successfully joined the cluster in {}",
                    duration::format(whole_seconds(*after))
                )
            }
            Self::Rejoined { machine } => write!(f, "Machine {machine} successfully re-joined the cluster"),
            Self::NodeMissing { machine } => write!(
                f,
                "Node object went missing. Machine {machine} is unhealthy - changing MachinePhase to Unknown"
            ),
            Self::Unhealthy { machine, conditions } => write!(
                f,
                "Machine {machine} is unhealthy - changing MachinePhase to Unknown. Node conditions: {conditions}"
            ),
            Self::JoinTimedOut { machine, limit } => {
                write!(f, "Machine {machine} failed to join the cluster in {} minutes.", Minutes(*limit))
            }
            Self::HealthTimedOut { machine, limit, conditions } => write!(
                f,
                "Machine {machine} health checks failing since last {} minutes. Node conditions: {conditions}",
                Minutes(*limit)
            ),
            Self::HealthTimeoutReset => {
                f.write_str("Machine Health Timeout was reset due to APIServer being unreachable")
            }
            Self::UpdatingInPlace { machine } => {
                write!(f, "Machine {machine} is undergoing an in-place update")
            }
            Self::UpdatedInPlace { machine } => {
                write!(f, "Machine {machine} was updated in place successfully")
            }
            Self::InPlaceUpdateFailed { machine, because } => {
                write!(f, "Machine {machine} could not be updated in place: {because}")
            }
            Self::InPlaceUpdateTimedOut { machine, limit } => {
                write!(f, "Machine {machine} was not updated in place within {} minutes.", Minutes(*limit))
            }
            Self::DrainFailed { error } => {
                write!(f, "Drain failed due to - {error}. Will retry in next sync.")
            }
            Self::NodeDrained => f.write_str("Drain successful."),
            Self::DeletionRequested => f.write_str("Deleting machine from cloud provider"),
            Self::Deleting(what) => what.fmt(f),
        }
    }
}

impl fmt::Display for Deleting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun | Self::NodeKnown | Self::VolumesDetached => {}
            Self::FindVmFailed { error } => write!(f, "Error while getting VM status: {error}. ")?,
            Self::NoTargetCluster => f.write_str(
                "Running without target cluster, skipping node drain and volume attachment deletion. ",
            )?,
            Self::VmNotFound => {
                f.write_str("VM was not found at provider. Moving forward to node drain. ")?;
            }
            Self::VmNotInitialized => {
                f.write_str("VM instance was not initialized. Moving forward to node drain. ")?;
            }
            Self::NoNodeToDrain => {
                f.write_str("Skipping drain as nodeName is not a valid one for machine. ")?;
            }
            Self::NodeConditionFailed { error } => write!(
                f,
                "Drain failed due to failure in update of node conditions - {error}. Will retry in next sync. "
            )?,
            Self::DrainFailed { error } => {
                write!(f, "Drain failed due to - {error}. Will retry in next sync. ")?;
            }
            Self::ForcedDrainFailed { error } => write!(
                f,
                "Drain failed due to - {error}. However, since it's a force deletion shall continue deletion of VM. "
            )?,
            Self::Drained => f.write_str("Drain successful. ")?,
            Self::ForceDrained => f.write_str("Force Drain successful. ")?,
            Self::VmWorking { message } => write!(f, "{message}. ")?,
            Self::VmDeletionFailed { error } => {
                write!(f, "VM deletion failed due to - {error}. However, will re-try in the next resync. ")?;
            }
            Self::VmDeletionRefused { error } => {
                write!(f, "VM deletion failed due to - {error}. Aborting operation. ")?;
            }
            Self::VmDeleted => f.write_str("VM deletion was successful. ")?,
            Self::VmGone => f.write_str("VM not found. Continuing deletion flow. ")?,
            Self::NoNodeLabel { machine } => {
                write!(f, "Label \"node\" not present on machine {machine}. ")?;
            }
            Self::NodeGone { machine } => write!(f, "No node object found for {machine}. ")?,
            Self::NodeDeletionFailed { node, error } => {
                write!(f, "Deletion of Node Object {node} failed due to - {error}. ")?;
            }
            Self::NodeDeleted { node } => write!(f, "Deletion of Node Object {node} is successful. ")?,
        }
        f.write_str(marker(self.next()))
    }
}

fn whole_seconds(duration: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(duration.as_secs())
}

/// A duration in minutes, with what is below a minute only where there is some.
struct Minutes(SignedDuration);

impl fmt::Display for Minutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64() / 60.0)
    }
}
