//! Effects of a drain, and their outcomes.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::driver::write_error::ActError;
use crate::value::id::{Name, NodeName, Uid};

use super::pods::pod::{PodFact, PodRef};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainEffect {
    /// List the pods of the Node, with their volumes and budgets.
    LookAtPods {
        node: NodeName,
        /// The consistency of the answer.
        read: ReadConsistency,
    },
    /// Evict a pod, within its budgets.
    Evict(PodRef),
    /// Delete a pod without eviction and without grace period.
    DeletePod(PodRef),
    DeleteAttachment {
        name: Name,
        uid: Uid,
    },
}

impl DrainEffect {
    /// For logs and metrics: a closed set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LookAtPods { .. } => "look-at-pods",
            Self::Evict(_) => "evict",
            Self::DeletePod(_) => "delete-pod",
            Self::DeleteAttachment { .. } => "delete-attachment",
        }
    }

    /// Returns the outcome of an effect that may not be carried out.
    pub fn failed(&self, error: ActError) -> DrainOutcome {
        match self {
            Self::LookAtPods { .. } => DrainOutcome::Pods(Err(error)),
            Self::Evict(pod) => {
                DrainOutcome::Evict { pod: pod.clone(), result: Err(EvictError::Failed(error)) }
            }
            Self::DeletePod(pod) => DrainOutcome::DeletePod { pod: pod.clone(), result: Err(error) },
            Self::DeleteAttachment { name, .. } => {
                DrainOutcome::DeleteAttachment { name: name.clone(), result: Err(error) }
            }
        }
    }
}

/// The consistency of a list of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadConsistency {
    /// From the API server's cache: cheap, and perhaps a moment old. Good enough to see which pods are left.
    Cached,
    /// Consistent: needed to say that no pod is left.
    Latest,
    /// Like `Cached`, without the volumes of claims: for a forced drain, which waits for no volume.
    WithoutVolumes,
}

/// The outcome of one effect.
#[derive(Clone, Debug)]
pub enum DrainOutcome {
    Pods(Result<PodListing, ActError>),
    /// Of `Evict`. A pod that is gone has gone.
    Evict {
        pod: PodRef,
        result: Result<(), EvictError>,
    },
    /// Of `DeletePod`. A pod that is gone has gone.
    DeletePod {
        pod: PodRef,
        result: Result<(), ActError>,
    },
    /// Of `DeleteAttachment`. One that is gone has gone.
    DeleteAttachment {
        name: Name,
        result: Result<(), ActError>,
    },
}

/// The pods of a Node.
#[derive(Clone, Debug)]
pub struct PodListing {
    /// How sure it is.
    pub read: ReadConsistency,
    pub pods: Vec<PodFact>,
}

/// Why a pod was not evicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvictError {
    /// A PodDisruptionBudget does not allow it at the moment.
    #[error("a PodDisruptionBudget does not allow it")]
    Budget {
        /// Ask again after this.
        after: Option<SignedDuration>,
    },
    /// Its namespace is being deleted. An eviction cannot be created there; the pod is deleted without one.
    #[error("its namespace is being deleted")]
    NamespaceEnding,
    #[error("{0}")]
    Failed(ActError),
}

/// The outcomes of the drain's effects in this reconcile.
#[derive(Clone, Debug, Default)]
pub struct DrainProgress {
    /// Of the last `LookAtPods`.
    pub pods: Option<Result<PodListing, ActError>>,
    /// Of `Evict`, by pod.
    pub evictions: BTreeMap<PodRef, Result<(), EvictError>>,
    /// Of `DeletePod`, by pod.
    pub deletions: BTreeMap<PodRef, Result<(), ActError>>,
    /// Of `DeleteAttachment`, by name.
    pub attachments: BTreeMap<Name, Result<(), ActError>>,
}

impl DrainProgress {
    /// Returns whether the effect was carried out, so that it must not be repeated.
    pub(crate) fn has(&self, effect: &DrainEffect) -> bool {
        match effect {
            // An eviction changes the list of pods.
            DrainEffect::LookAtPods { .. } => false,
            DrainEffect::Evict(pod) => self.evictions.contains_key(pod),
            DrainEffect::DeletePod(pod) => self.deletions.contains_key(pod),
            DrainEffect::DeleteAttachment { name, .. } => self.attachments.contains_key(name),
        }
    }

    pub fn record(&mut self, outcome: DrainOutcome) {
        match outcome {
            DrainOutcome::Pods(result) => self.pods = Some(result),
            DrainOutcome::Evict { pod, result } => {
                self.evictions.insert(pod, result);
            }
            DrainOutcome::DeletePod { pod, result } => {
                self.deletions.insert(pod, result);
            }
            DrainOutcome::DeleteAttachment { name, result } => {
                self.attachments.insert(name, result);
            }
        }
    }
}

impl DrainProgress {
    /// Attachments that could not be deleted.
    pub(super) fn attachment_failures(&self) -> Vec<String> {
        let failed =
            self.attachments.iter().filter_map(|(name, result)| Some((name, result.as_ref().err()?)));
        failed.map(|(name, error)| format!("VolumeAttachment {name} could not be deleted: {error}")).collect()
    }

    /// Pods that could not be deleted.
    pub(super) fn deletion_failures(&self) -> Vec<String> {
        let failed = self.deletions.iter().filter_map(|(pod, result)| Some((pod, result.as_ref().err()?)));
        failed.map(|(pod, error)| format!("Pod {pod} could not be deleted: {error}")).collect()
    }
}
