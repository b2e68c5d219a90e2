//! The objects of a namespace, as they are listed or watched.

use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::core_kinds::{CoreCluster, CoreDeployment, CoreMachine, CoreSet};
use machinist_api::{Machine, MachineDeployment, MachineSet};

/// All objects of a namespace.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// `None` where its kinds are not installed, or may not be read.
    pub(super) mcm: Option<McmObjects>,
    /// `None` where its kinds are not installed, or may not be read.
    pub(super) cluster_api: Option<ClusterApiObjects>,
    /// The kinds that are left out, and why.
    pub(super) left_out: Option<String>,
}

/// The kinds of machine-controller-manager.
#[derive(Debug, Default)]
pub(super) struct McmObjects {
    pub(super) deployments: Vec<MachineDeployment>,
    pub(super) sets: Vec<MachineSet>,
    pub(super) machines: Vec<Machine>,
}

/// The kinds of Cluster API, and of its provider Machinist.
#[derive(Debug, Default)]
pub(super) struct ClusterApiObjects {
    pub(super) clusters: Vec<CoreCluster>,
    pub(super) deployments: Vec<CoreDeployment>,
    pub(super) sets: Vec<CoreSet>,
    pub(super) machines: Vec<CoreMachine>,
    pub(super) machinist_machines: Vec<MachinistMachine>,
}
