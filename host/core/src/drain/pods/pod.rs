//! The pods of a Node, as far as a drain cares.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{ObjectKey, Uid};

use super::budget::BudgetFact;
use super::volume::{PvcFact, VolumeName};

/// One pod, and no later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRef {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
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
    /// Which.
    pub pod: PodRef,
    /// Who keeps it.
    pub owner: PodOwner,
    /// How far it is.
    pub phase: PodPhase,
    /// Its condition `Ready` is True.
    pub is_ready: bool,
    /// It was told to end.
    pub ending: Option<PodTermination>,
    /// `spec.terminationGracePeriodSeconds`.
    pub grace: SignedDuration,
    /// `spec.priority`; 0 where it is not set.
    pub priority: i32,
    /// Something in it is lost with the Node: an `emptyDir`.
    pub has_local_storage: bool,
    /// The volumes that it claims.
    pub claims: Vec<PvcFact>,
    /// The PodDisruptionBudgets that select it, by name.
    pub budgets: Vec<BudgetFact>,
}

impl PodFact {
    /// A drain leaves alone what the kubelet keeps by itself, and what a DaemonSet would put back at once.
    pub(crate) fn is_drained(&self) -> bool {
        match self.owner {
            PodOwner::Mirror | PodOwner::DaemonSet => false,
            PodOwner::Controller | PodOwner::Nobody => true,
        }
    }

    /// It claims volumes, so it takes turns.
    pub(crate) fn has_volumes(&self) -> bool {
        !self.claims.is_empty()
    }

    /// The volumes that it claims, as far as they are known.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = &VolumeName> {
        self.claims.iter().filter_map(|claim| claim.volume.as_ref())
    }
}

/// Who keeps a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodOwner {
    /// The kubelet itself, from a file: the API server has only its mirror.
    Mirror,
    /// A DaemonSet, which would put it back at once.
    DaemonSet,
    /// Another controller, which makes a new one elsewhere.
    Controller,
    /// Nobody: it does not come back.
    Nobody,
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodPhase {
    /// Not started.
    Pending,
    /// Running, or of unknown state.
    Running,
    /// Succeeded or failed.
    Finished,
}

/// A pod that was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodTermination {
    /// `metadata.deletionTimestamp`: by when it should have ended.
    pub deadline: Timestamp,
    /// `metadata.deletionGracePeriodSeconds`.
    pub grace: SignedDuration,
}

impl PodTermination {
    /// When it was told so.
    pub(crate) fn since(&self) -> Timestamp {
        self.deadline.checked_sub(self.grace).unwrap_or(Timestamp::MIN)
    }
}
