//! What `lastOperation` says of a deletion.

/// What came last in a deletion. Each tells which stage comes next, by [`DeletionNote::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletionNote {
    /// The deletion begins.
    Begun,
    /// The VM could not be looked at.
    FindVmFailed {
        /// The driver's error.
        error: String,
    },
    /// The Machine's Node is known.
    NodeKnown,
    /// The Node's condition could not be written.
    NodeConditionFailed {
        /// The API server's error.
        error: String,
    },
    /// The drain failed, and is tried again.
    DrainFailed {
        /// What failed.
        error: String,
    },
    /// There is no target cluster.
    NoTargetCluster,
    /// There is no Node to drain.
    NoNodeToDrain,
    /// All pods are gone and their volumes are detached.
    Drained,
    /// All pods are deleted without waiting for their end.
    ForceDrained,
    /// The drain failed, and the deletion is forced.
    ForcedDrainFailed {
        /// What failed.
        error: String,
    },
    /// Pods and volumes are done with, as an earlier pass knew.
    VolumesDetached,
    /// The cloud works on the VM's removal.
    VmWorking {
        /// What it says.
        message: String,
    },
    /// The VM could not be removed, which may pass by itself.
    VmDeletionFailed {
        /// Why.
        error: String,
    },
    /// The VM could not be removed, and something must change before it can.
    VmDeletionRefused {
        /// Why.
        error: String,
    },
    /// The VM is gone, and the Node could not be deleted.
    NodeDeletionFailed {
        /// The Node.
        node: String,
        /// The API server's error.
        error: String,
    },
    /// The Node is deleted; what else is of the Machine is left.
    NodeDeleted {
        /// The Node.
        node: String,
    },
    /// There is no Node.
    NodeGone,
    /// The Machine never had one.
    NoNodeLabel,
}

/// The stages of a deletion, as others read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeletionStage {
    /// Looking at the VM.
    VmStatus,
    /// Draining the Node.
    Drain,
    /// Removing volume attachments.
    VolumeAttachments,
    /// Removing the VM.
    Vm,
    /// Removing the Node.
    Node,
    /// Taking the finalizer off.
    Finalizer,
}

impl DeletionNote {
    /// The stage that comes next.
    pub fn next(&self) -> DeletionStage {
        match self {
            Self::Begun | Self::FindVmFailed { .. } => DeletionStage::VmStatus,
            Self::NodeKnown | Self::NodeConditionFailed { .. } | Self::DrainFailed { .. } => {
                DeletionStage::Drain
            }
            // Volume attachments go with the pods of a forced drain.
            Self::NoTargetCluster
            | Self::NoNodeToDrain
            | Self::Drained
            | Self::ForceDrained
            | Self::ForcedDrainFailed { .. }
            | Self::VolumesDetached
            | Self::VmWorking { .. }
            | Self::VmDeletionFailed { .. }
            | Self::VmDeletionRefused { .. } => DeletionStage::Vm,
            Self::NodeDeletionFailed { .. } => DeletionStage::Node,
            Self::NodeDeleted { .. } | Self::NodeGone | Self::NoNodeLabel => DeletionStage::Finalizer,
        }
    }
}
