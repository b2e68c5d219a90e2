//! The content of `lastOperation` during a deletion.

/// The last step of a deletion. [`DeletionNote::next`] returns the stage that comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletionNote {
    Begun,
    /// The VM could not be queried.
    FindVmFailed {
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
        error: String,
    },
    /// Pods and volumes are removed, as an earlier reconcile knew.
    VolumesDetached,
    /// The cloud works on the VM's removal.
    VmWorking {
        message: String,
    },
    /// The VM could not be deleted; a retry may help.
    VmDeletionFailed {
        error: String,
    },
    /// The VM could not be deleted, and something must change before a retry helps.
    VmDeletionRefused {
        error: String,
    },
    /// The VM is gone, and the Node could not be deleted.
    NodeDeletionFailed {
        node: String,
        /// The API server's error.
        error: String,
    },
    /// The Node is deleted; other objects of the Machine are left.
    NodeDeleted {
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
    VmStatus,
    Drain,
    VolumeAttachments,
    Vm,
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
            // A forced drain deletes volume attachments with the pods.
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
