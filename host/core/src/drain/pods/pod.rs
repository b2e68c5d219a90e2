//! The pods of a Node, as far as a drain cares.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{ObjectKey, Uid};

use super::budget::BudgetFact;
use super::volume::{PvcFact, VolumeName};

/// One pod, and no later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRef {
    pub key: ObjectKey,
    pub uid: Uid,
}

impl fmt::Display for PodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// A pod of the Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFact {
    pub pod: PodRef,
    pub owner: PodOwner,
    /// How far it is.
    pub phase: PodPhase,
    /// Its condition `Ready` is True.
    pub is_ready: bool,
    /// Its termination, once it was deleted.
    pub ending: Option<PodTermination>,
    pub grace: SignedDuration,
    /// `spec.priority`; 0 where it is not set.
    pub priority: i32,
    /// It has an `emptyDir`, whose data is lost with the Node.
    pub has_local_storage: bool,
    /// The volumes that it claims.
    pub claims: Vec<PvcFact>,
    /// The PodDisruptionBudgets that select it, by name.
    pub budgets: Vec<BudgetFact>,
}

impl PodFact {
    /// Returns whether a drain evicts the pod. Static pods and pods of DaemonSets are ignored: they would come back at
    /// once.
    pub(crate) fn is_drained(&self) -> bool {
        match self.owner {
            PodOwner::Mirror | PodOwner::DaemonSet => false,
            PodOwner::Controller | PodOwner::Nobody => true,
        }
    }

    /// Returns whether it has volumes, so that it is evicted in turn.
    pub(crate) fn has_volumes(&self) -> bool {
        !self.claims.is_empty()
    }

    /// The volumes that it claims, as far as they are known.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = &VolumeName> {
        self.claims.iter().filter_map(|claim| claim.volume.as_ref())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodOwner {
    /// The kubelet, from a file: the API server has only the mirror pod.
    Mirror,
    /// A DaemonSet, which would create it again at once.
    DaemonSet,
    /// Another controller, which creates a new one elsewhere.
    Controller,
    /// No owner: the pod is not created again.
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodPhase {
    Pending,
    /// Running, or of unknown state.
    Running,
    Finished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodTermination {
    /// `metadata.deletionTimestamp`: by when it should have ended.
    pub deadline: Timestamp,
    pub grace: SignedDuration,
}

impl PodTermination {
    /// Returns when its deletion was requested.
    pub(crate) fn since(&self) -> Timestamp {
        self.deadline.checked_sub(self.grace).unwrap_or(Timestamp::MIN)
    }
}
