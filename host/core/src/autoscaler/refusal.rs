//! Why a call of the autoscaler is refused, and the next step.

use crate::value::id::Name;

use super::group::GroupId;

/// The kind of a refusal, as gRPC has codes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCode {
    InvalidArgument,
    NotFound,
    OutOfRange,
    FailedPrecondition,
    Unimplemented,
}

/// A call that writes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallRefusal {
    #[error(
        "{id:?} names no node group: use an id from NodeGroups, mcm/NAMESPACE/NAME or capi/NAMESPACE/NAME"
    )]
    InvalidId { id: String },
    #[error(
        "{id} is no node group here: look whether the MachineDeployment exists, has a valid maximum in its annotations, \
         and is of a cluster that this address serves"
    )]
    UnknownGroup { id: GroupId },
    #[error("{id} cannot grow by {delta}: the number must be above 0")]
    NotAnIncrease { id: GroupId, delta: i32 },
    #[error("{id} cannot shrink by {delta}: the number must be below 0")]
    NotADecrease { id: GroupId, delta: i32 },
    #[error(
        "{id} has {replicas} replicas and cannot grow by {delta} above its maximum {max}: raise the annotation with it"
    )]
    AboveMaximum { id: GroupId, replicas: i32, delta: i32, max: i32 },
    #[error(
        "{id} has {replicas} replicas and cannot shrink by {count} below its minimum {min}: lower the annotation with it"
    )]
    BelowMinimum { id: GroupId, replicas: i32, count: i64, min: i32 },
    #[error(
        "{id} has {replicas} replicas and {existing} Machines with a VM, and cannot shrink by {count} without a deletion: \
         name the nodes to delete"
    )]
    ExistingNodes { id: GroupId, replicas: i32, existing: usize, count: i64 },
    #[error("node {node:?} is of no Machine of {id}: nothing is deleted; take the ids of NodeGroupNodes")]
    UnknownNode { id: GroupId, node: String },
    #[error("Machine {machine} of {id} has a VM by now: nothing is deleted; its instance has another id")]
    HasVm { id: GroupId, machine: Name },
    #[error("{id} is being rolled: nothing is deleted until all its Machines are of one MachineSet")]
    Rolling { id: GroupId },
    #[error(
        "{id} says nothing about its next Node: annotate the MachineDeployment with cpu and memory, or give its class a nodeTemplate"
    )]
    NoTemplate { id: GroupId },
    #[error("{id} is invalid as a template of a Node: {problem}")]
    InvalidTemplate { id: GroupId, problem: String },
    #[error("{id} has no options of its own: the autoscaler's own count")]
    NoOptions { id: GroupId },
}

impl CallRefusal {
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::InvalidId { .. } | Self::NotAnIncrease { .. } | Self::NotADecrease { .. } => {
                RefusalCode::InvalidArgument
            }
            Self::UnknownGroup { .. } | Self::UnknownNode { .. } => RefusalCode::NotFound,
            Self::AboveMaximum { .. } | Self::BelowMinimum { .. } => RefusalCode::OutOfRange,
            Self::ExistingNodes { .. }
            | Self::HasVm { .. }
            | Self::Rolling { .. }
            | Self::InvalidTemplate { .. } => RefusalCode::FailedPrecondition,
            Self::NoTemplate { .. } | Self::NoOptions { .. } => RefusalCode::Unimplemented,
        }
    }
}
