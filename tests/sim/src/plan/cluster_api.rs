//! The part of a run that belongs to Cluster API.

use crate::rng::Rng;

/// Of all runs, those in which hosts serve Cluster API's kinds beside MCM's.
const SHARE: f64 = 0.25;

/// Workload clusters with their Machines, and what is done to them.
#[derive(Clone, Debug)]
pub(crate) struct ClusterApiPlan {
    pub(crate) clusters: usize,
    /// Machines of each of them.
    pub(crate) machines: usize,
    /// Actions of users in an hour.
    pub(crate) actions: f64,
    /// The action that users take half of the time.
    pub(crate) favourite: Option<InfraAction>,
}

impl ClusterApiPlan {
    /// Of a run's seed; `None` for most.
    pub(crate) fn drawn(seed: u64) -> Option<Self> {
        Rng::new(seed, "cluster api").happens(SHARE).then(|| Self::of(seed))
    }

    /// Of a run that has them, whatever was drawn.
    pub(crate) fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed, "workload clusters");
        Self {
            clusters: 1 + rng.below(2),
            machines: 1 + rng.below(3),
            actions: 20.0 + rng.below(60) as f64,
            favourite: None,
        }
    }
}

/// An action of users and platform teams on the objects of a workload cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InfraAction {
    /// Deletes a Machine, which Cluster API's core replaces.
    DeleteMachine,
    /// Deletes a MachinistMachine, and its Machine is left.
    DeleteInfraMachine,
    PauseCluster,
    /// Pauses one MachinistMachine by its annotation.
    PauseMachine,
    Scale,
    /// Another template: all Machines are replaced one after the other.
    Roll,
    /// A VM dies without a request.
    KillVm,
    /// Other labels, which core writes to MachinistMachines in place.
    Relabel,
    /// The credentials are gone, or may not be used, for a while.
    BreakIdentity,
    /// Applies a MachinistMachine once more under another name, and removes that later.
    CopyMachine,
    /// Deletes the Cluster, mostly paused or with its namespace.
    DeleteCluster,
    DeleteNamespace,
    /// `clusterctl move` to the other management cluster.
    Move,
}

/// How often users do each, compared with the others.
pub(crate) const INFRA_ACTIONS: [(u32, InfraAction); 13] = [
    (14, InfraAction::DeleteMachine),
    (4, InfraAction::DeleteInfraMachine),
    (10, InfraAction::PauseCluster),
    (6, InfraAction::PauseMachine),
    (6, InfraAction::Scale),
    (4, InfraAction::Roll),
    (3, InfraAction::KillVm),
    (6, InfraAction::Relabel),
    (4, InfraAction::BreakIdentity),
    (2, InfraAction::CopyMachine),
    (2, InfraAction::DeleteCluster),
    (2, InfraAction::DeleteNamespace),
    (14, InfraAction::Move),
];
