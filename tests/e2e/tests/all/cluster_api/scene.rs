//! A lab with a host and Cluster API's own programs, and a workload cluster in it.

use std::collections::BTreeSet;

use anyhow::Result;
use e2e::cluster_api::{Management, Workload, credentials, plane_options};
use e2e::{Host, Lab, LabOptions};

use super::played::provider_spec;
use crate::scene::{SIM, hosted, turn};

/// The namespace of the workload cluster.
pub(super) const TEAM: &str = "team";

pub(super) fn options() -> LabOptions {
    LabOptions { plane: plane_options(), ..LabOptions::default() }
}

/// Runs a test in a lab whose host serves Cluster API, with core and bootstrap provider beside it.
pub(super) async fn managed(
    options: LabOptions,
    test: impl AsyncFnOnce(&Lab, &Management, &Host) -> Result<()>,
) {
    let _turn = turn().await;
    let lab = Lab::start(options).await.expect("the lab starts");
    let management = Management::start(&lab.plane).await.unwrap_or_else(|error| panic!("{error:#}"));
    hosted(&lab.host_options().with(&["--cluster-api=*"]), async |host| {
        lab.install_driver(&SIM).await?;
        test(&lab, &management, host).await.map_err(|error| error.context(management.logs()))
    })
    .await;
}

/// Cluster `shop`, whose Nodes register with the lab's own API server.
pub(super) async fn workload(lab: &Lab) -> Result<Workload> {
    let credentials = credentials(&lab.cloud)?;
    let planes = (&lab.plane, &lab.plane);
    Workload::create(planes, (TEAM, "shop"), ("sim", &provider_spec(), &credentials)).await
}

/// The ids of the VMs that live.
pub(super) fn ids(lab: &Lab) -> BTreeSet<String> {
    lab.cloud.live_vms().into_iter().map(|vm| vm.id).collect()
}
