//! A workload cluster, and what is known of it beside its objects.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::bootstrap::Bootstrap;
use crate::names::Site;
use crate::rng::Rng;

/// The credentials of a workload cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Its cloud needs none.
    Nothing,
    /// A Secret of its namespace.
    Secret,
    /// A MachinistIdentity, whose Secret is in another namespace.
    Central,
}

/// The life of a workload cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadState {
    /// Nobody has applied it yet, or again.
    Unmade,
    Applied,
    /// `clusterctl` moves it to the other management cluster.
    Moves,
    /// Its Cluster is deleted.
    Goes,
    /// Its namespace is deleted as a whole.
    GoesWithNamespace,
}

#[derive(Debug)]
pub(super) struct WorkloadCluster {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) site: Site,
    pub(super) state: WorkloadState,
    pub(super) identity: Identity,
    /// The mark of its VMs, where its MachinistCluster gives one.
    pub(super) mark: Option<String>,
    /// Machines that its MachineSet wants, and the number of the template that it makes them from.
    pub(super) wanted: usize,
    pub(super) template: u64,
    pub(super) made: u64,
    /// The label that templates put on Machines and MachinistMachines.
    pub(super) pool: u64,
    /// MachinistMachines whose Machine is made next.
    pub(super) pending: Vec<String>,
    /// The bootstrap data of each Machine, as far as they have come.
    pub(super) bootstraps: BTreeMap<String, Bootstrap>,
    /// When the drain of each Machine that is deleted is over.
    pub(super) drained: BTreeMap<String, Timestamp>,
    /// Machines that are not as they should be, and since when.
    pub(super) unhealthy: BTreeMap<String, Timestamp>,
    /// When it is applied again after its deletion.
    pub(super) again_at: Option<Timestamp>,
    pub(super) rng: Rng,
}

impl WorkloadCluster {
    pub(super) fn new(seed: u64, number: usize, wanted: usize) -> Self {
        let mut rng = Rng::new(seed, &format!("workload {number}"));
        let identities = [(2, Identity::Nothing), (4, Identity::Secret), (3, Identity::Central)];
        let identity = rng.weighed(&identities).unwrap_or(Identity::Nothing);
        Self {
            name: format!("c{number}"),
            namespace: format!("team-{number}"),
            site: Site::Home,
            state: WorkloadState::Unmade,
            identity,
            mark: rng.happens(0.4).then(|| format!("given/{number}")),
            wanted,
            template: 1,
            made: 0,
            pool: 0,
            pending: Vec::new(),
            bootstraps: BTreeMap::new(),
            drained: BTreeMap::new(),
            unhealthy: BTreeMap::new(),
            again_at: None,
            rng,
        }
    }

    /// The path of an object of its namespace.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace)
    }

    pub(super) fn template_name(&self) -> String {
        format!("{}-template-{}", self.name, self.template)
    }

    /// Forgets everything about a Machine that is gone.
    pub(super) fn forget(&mut self, machine: &str) {
        self.bootstraps.remove(machine);
        self.drained.remove(machine);
        self.unhealthy.remove(machine);
    }

    pub(super) fn is_going(&self) -> bool {
        matches!(self.state, WorkloadState::Goes | WorkloadState::GoesWithNamespace)
    }
}
