//! Pauses, and a move to another management cluster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use cluster_api::Clusterctl;
use control_plane::ControlPlane;
use e2e::cluster_api::{Elsewhere, Workload};
use e2e::{Cloud, Lab, eventually};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use machinist_api::infrastructure::names::annotations;
use serde_json::{Value, json};

use super::scene::{Sim, TEAM, ends, ids, managed, one_vm_each, options, workload};
use crate::scene::SIM;

/// Whatever a user deletes meanwhile; afterwards all of it happens.
#[tokio::test]
#[ignore = "nightly: a minute and a half; lives of the runtime pause on each change"]
async fn while_it_is_paused_nothing_reaches_the_cloud() {
    managed::<Sim>(options(), async |lab, _, _| pauses(lab).await).await;
}

#[tokio::test]
#[ignore = "nightly: two minutes; lives of the runtime move on each change"]
async fn a_move_makes_and_deletes_no_vm() {
    managed::<Sim>(options(), async |lab, management, _| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 3).await?;
        workload.has(3, "small").await?;
        let before = lab.cloud.stats();
        let there = Elsewhere::start(&lab.cloud.plugin(&SIM)?).await?;
        let clusterctl = Clusterctl::new(&management.programs, &deploy())?;
        describes(&clusterctl, &lab.plane).await?;
        let here = State::of(lab).await?;
        let (from, to) = (lab.plane.admin_kubeconfig(), there.plane.admin_kubeconfig());
        let to = to.to_str().context("a path")?;
        clusterctl.run(&from, &["move", "--namespace", TEAM, "--to-kubeconfig", to]).await?;
        let moved = Workload::of(TEAM, "shop", there.plane.client()?);
        moved.initialize_control_plane().await?;
        let outcome = moved.has(3, "small").await;
        outcome.map_err(|error| error.context(there.management.logs()).context(there.host.log_end()))?;
        here.lasts(lab).await?;
        ensure!(lab.cloud.stats().created == before.created, "no VM was created");
        moved.cluster_condition("Available", "True").await?;
        describes(&clusterctl, &there.plane).await?;
        let left = workload.infra_machines().list(&ListParams::default()).await?;
        ensure!(left.items.is_empty(), "none is left where it was");

        ends(lab, &moved).await
    })
    .await;
}

pub(super) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// Waits until `clusterctl describe` shows Cluster, its infrastructure and workers as they should be.
async fn describes(clusterctl: &Clusterctl, plane: &ControlPlane) -> Result<()> {
    let mut last = String::new();
    let described = eventually("clusterctl describes a cluster that is available", async || {
        last = clusterctl
            .run(&plane.admin_kubeconfig(), &["describe", "cluster", "shop", "--namespace", TEAM])
            .await?;
        let is_good = |object: &str| {
            let mut of_object = last.lines().filter(|line| line.contains(object)).peekable();
            of_object.peek().is_some() && of_object.all(|line| line.contains("True"))
        };
        let all = ["Cluster team/shop", "MachineDeployment team/workers"];
        Ok(all.iter().all(|object| is_good(object)).then_some(()))
    })
    .await;
    described.with_context(|| last)
}

/// While the Cluster is paused, and then one object, nothing reaches the cloud; a deletion waits for the end of it.
pub(super) async fn pauses<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let workload = workload(lab).await?;
    workload.deploy(&lab.plane, 3).await?;
    workload.has(3, "small").await?;
    paused(lab, &workload).await?;
    annotated(lab, &workload).await?;
    ends(lab, &workload).await
}

/// Deletes a MachinistMachine of a paused Cluster, and lets the Cluster go on.
async fn paused<C: Cloud>(lab: &Lab<C>, workload: &Workload) -> Result<()> {
    let machine = any_machine(workload).await?;
    workload.pause(true).await?;
    workload.infra_condition(&machine, "Paused", "True").await?;
    let before = State::of(lab).await?;
    // Core replaces a machine whose Machine is deleted; it is paused as well.
    workload.machines().delete(&machine, &DeleteParams::default()).await?;
    workload.infra_machines().delete(&machine, &DeleteParams::default()).await?;
    sees_deletion(workload, &machine).await?;
    before.lasts(lab).await?;
    workload.pause(false).await?;
    replaced(lab, workload, &before).await
}

/// Pauses one MachinistMachine by its annotation. Core drains and marks it, and its VM waits.
async fn annotated<C: Cloud>(lab: &Lab<C>, workload: &Workload) -> Result<()> {
    let machine = any_machine(workload).await?;
    let paused = |value: Value| json!({ "metadata": { "annotations": { annotations::PAUSED: value } } });
    let (machines, params) = (workload.infra_machines(), PatchParams::default());
    machines.patch(&machine, &params, &Patch::Merge(paused(json!("")))).await?;
    workload.infra_condition(&machine, "Paused", "True").await?;
    let before = State::of(lab).await?;
    machines.delete(&machine, &DeleteParams::default()).await?;
    sees_deletion(workload, &machine).await?;
    before.lasts(lab).await?;
    machines.patch(&machine, &params, &Patch::Merge(paused(Value::Null))).await?;
    eventually("its VM goes", async || {
        let now = ids(lab).await?;
        Ok((!before.vms.is_subset(&now)).then_some(()))
    })
    .await?;
    // A machine whose infrastructure somebody deletes is not replaced by core: its owner has to go.
    workload.machines().delete(&machine, &DeleteParams::default()).await?;
    replaced(lab, workload, &before).await
}

async fn any_machine(workload: &Workload) -> Result<String> {
    let machines = workload.infra_machines().list(&ListParams::default()).await?;
    Ok(machines.items.first().context("there is a machine")?.name_any())
}

async fn sees_deletion(workload: &Workload, machine: &str) -> Result<()> {
    eventually("the host has seen the deletion", async || {
        let machine = workload.infra_machines().get(machine).await?;
        let conditions =
            machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let has_seen =
            |one: &Condition| one.type_ == "Paused" && one.observed_generation == machine.metadata.generation;
        Ok((machine.metadata.deletion_timestamp.is_some() && conditions.iter().any(has_seen)).then_some(()))
    })
    .await
}

/// A cloud at one moment.
#[derive(Debug, PartialEq, Eq)]
struct State {
    vms: BTreeSet<String>,
    /// Requests that create or delete.
    changes: u64,
}

impl State {
    async fn of<C: Cloud>(lab: &Lab<C>) -> Result<Self> {
        Ok(Self { vms: ids(lab).await?, changes: lab.cloud.changes_asked() })
    }

    async fn lasts<C: Cloud>(&self, lab: &Lab<C>) -> Result<()> {
        let now = Self::of(lab).await?;
        ensure!(now == *self, "nothing reaches the cloud while it is paused: {self:?}, {now:?}");
        Ok(())
    }
}

async fn replaced<C: Cloud>(lab: &Lab<C>, workload: &Workload, before: &State) -> Result<()> {
    eventually("the VM goes, and another machine takes its place", async || {
        let now = ids(lab).await?;
        Ok((now.len() == 3 && now != before.vms).then_some(()))
    })
    .await?;
    workload.has(3, "small").await?;
    one_vm_each(lab).await
}
