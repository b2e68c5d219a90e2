//! Pauses, and a move to another management cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use cluster_api::Clusterctl;
use e2e::cluster_api::{Elsewhere, Workload};
use e2e::{Cloud as _, Lab, eventually};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams};

use super::scene::{TEAM, ids, managed, options, workload};
use crate::scene::SIM;

/// While it is paused, nothing reaches the cloud, whatever a user deletes; afterwards all of it happens.
#[tokio::test]
#[ignore = "nightly: two minutes; lives of the runtime pause and move on each change"]
async fn a_pause_holds_everything_and_a_move_makes_and_deletes_no_vm() {
    managed(options(), async |lab, management, _| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 3).await?;
        workload.has(3, "small").await?;
        paused(lab, &workload).await?;

        let before = lab.cloud.stats();
        let vms = ids(lab);
        let there = Elsewhere::start(&lab.cloud.plugin(&SIM)?).await?;
        let clusterctl = Clusterctl::new(&management.programs, &deploy())?;
        let (from, to) = (lab.plane.admin_kubeconfig(), there.plane.admin_kubeconfig());
        let to = to.to_str().context("a path")?;
        clusterctl.run(&from, &["move", "--namespace", TEAM, "--to-kubeconfig", to]).await?;
        let moved = Workload::of(TEAM, "shop", there.plane.client()?);
        moved.initialize_control_plane().await?;
        let outcome = moved.has(3, "small").await;
        outcome.map_err(|error| error.context(there.management.logs()).context(there.host.log_end()))?;
        ensure!(ids(lab) == vms, "the same VMs: {vms:?}, {:?}", ids(lab));
        ensure!(lab.cloud.stats().created == before.created, "no VM was created");
        moved.cluster_condition("Available", "True").await?;
        let described = clusterctl
            .run(&there.plane.admin_kubeconfig(), &["describe", "cluster", "shop", "--namespace", TEAM])
            .await?;
        let is_available = |line: &str| line.contains("Cluster team/shop") && line.contains("True");
        ensure!(described.lines().filter(|line| is_available(line)).count() == 2, "{described}");
        let left = workload.infra_machines().list(&ListParams::default()).await?;
        ensure!(left.items.is_empty(), "none is left where it was");

        moved.delete().await?;
        ensure!(lab.cloud.live_vms().is_empty(), "{:?}", lab.cloud.live_vms());
        ensure!(lab.cloud.stats().duplicates_ever == 0, "no machine ever had two VMs");
        Ok(())
    })
    .await;
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// Deletes a MachinistMachine of a paused Cluster, and then of one that is not.
async fn paused(lab: &Lab, workload: &Workload) -> Result<()> {
    let vms = ids(lab);
    let machines = workload.infra_machines();
    let machine = machines.list(&ListParams::default()).await?.items.swap_remove(0).name_any();
    workload.pause(true).await?;
    workload.infra_condition(&machine, "Paused", "True").await?;
    // Core replaces a machine whose Machine is deleted; it is paused as well.
    workload.machines().delete(&machine, &DeleteParams::default()).await?;
    machines.delete(&machine, &DeleteParams::default()).await?;
    eventually("the host has seen the deletion", async || {
        let machine = machines.get(&machine).await?;
        let conditions =
            machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let has_seen =
            |one: &Condition| one.type_ == "Paused" && one.observed_generation == machine.metadata.generation;
        Ok((machine.metadata.deletion_timestamp.is_some() && conditions.iter().any(has_seen)).then_some(()))
    })
    .await?;
    ensure!(ids(lab) == vms, "a paused deletion deletes nothing");
    workload.pause(false).await?;
    eventually("the VM goes, and another machine takes its place", async || {
        let now = ids(lab);
        Ok((now.len() == 3 && now != vms).then_some(()))
    })
    .await?;
    workload.has(3, "small").await
}
