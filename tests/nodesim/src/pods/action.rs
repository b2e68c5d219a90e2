//! The actions of kubelets on pods, and their results.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{PodFact, PodKey};

/// Something that a kubelet does about its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodAction {
    /// Write that the pod runs.
    Run(PodFact),
    /// Write that the pod has finished.
    Finish(PodFact),
    /// Remove the pod: nothing of it is left on the Node.
    Remove { key: PodKey, uid: String },
    /// Tell which volumes the pods of a Node use.
    TellInUse {
        node: String,
        /// Names as in `volumesInUse`.
        volumes: BTreeSet<String>,
    },
}

/// The result of a kubelet's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodDone {
    /// It is done, or what it was about is gone.
    Done,
    Failed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStats {
    /// Pods that are bound to a Node.
    pub bound: u64,
    /// Of these, pods whose containers run.
    pub running: u64,
    /// Of these, pods that are to end.
    pub terminating: u64,
    /// Pods that were started.
    pub started: u64,
    /// Pods that were removed after their end.
    pub removed: u64,
    pub failures: u64,
}

/// Whom something is due for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Pod(PodKey),
    /// A Node, for what concerns all its pods.
    Node(String),
}
