//! The life of a workload cluster with Cluster API's own programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use cluster_api::Clusterctl;
use e2e::cluster_api::{Elsewhere, Management, Workload, credentials, objects, plane_options};
use e2e::{Cloud as _, Host, Lab, LabOptions, eventually};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::played::provider_spec;
use crate::scene::{SIM, hosted, turn};

const TEAM: &str = "team";

fn options() -> LabOptions {
    LabOptions { plane: plane_options(), ..LabOptions::default() }
}

/// Runs a test in a lab whose host serves Cluster API, with core and bootstrap provider beside it.
async fn managed(options: LabOptions, test: impl AsyncFnOnce(&Lab, &Management, &Host) -> Result<()>) {
    let _turn = turn().await;
    let lab = Lab::start(options).await.expect("the lab starts");
    let management = Management::start(&lab.plane).await.unwrap_or_else(|error| panic!("{error:#}"));
    hosted(&lab.host_options().with(&["--cluster-api=*"]), async |host| {
        lab.install_driver(&SIM).await?;
        test(&lab, &management, host).await.map_err(|error| error.context(management.logs()))
    })
    .await;
}

async fn workload(lab: &Lab) -> Result<Workload> {
    let credentials = credentials(&lab.cloud)?;
    let planes = (&lab.plane, &lab.plane);
    Workload::create(planes, (TEAM, "shop"), ("sim", &provider_spec(), &credentials)).await
}

#[tokio::test]
async fn a_workload_cluster_is_made_scaled_rolled_and_deleted() {
    managed(options(), async |lab, _, host| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 3).await?;
        workload.has(3).await?;
        joined(lab, &workload, 3).await?;

        workload.scale(6).await?;
        workload.has(6).await?;
        workload.scale(2).await?;
        workload.has(2).await?;
        ensure!(lab.cloud.live_vms().len() == 2, "{:?}", lab.cloud.live_vms());

        let mut large = provider_spec();
        large["type"] = json!("sim.large");
        let template = objects::machine_template(TEAM, "large", "sim", &large);
        lab.plane.apply(&template.to_string()).await?;
        let created = lab.cloud.stats().created;
        workload.roll("large").await?;
        let most = rolled(&workload, lab, 2).await?;
        ensure!(most <= 3, "never more VMs than wanted and one: {most}");
        ensure!(lab.cloud.stats().created == created + 2, "one VM for each machine");

        workload.delete().await?;
        ensure!(lab.cloud.live_vms().is_empty(), "{:?}", lab.cloud.live_vms());
        ensure!(lab.cloud.stats().duplicates_ever == 0, "no machine ever had two VMs");
        let errors = host.log_lines("ERROR");
        ensure!(errors.is_empty(), "{errors:?}");
        Ok(())
    })
    .await;
}

/// Nodes are what core makes of them: nothing of it is the host's.
async fn joined(lab: &Lab, workload: &Workload, machines: usize) -> Result<()> {
    let nodes: Api<Node> = Api::all(lab.client.clone());
    eventually("core has set up the Nodes", async || {
        let nodes = nodes.list(&ListParams::default()).await?;
        let is_set_up = |node: &Node| {
            let labels = node.metadata.labels.as_ref();
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
            labels.is_some_and(|labels| labels.contains_key("node-role.kubernetes.io/worker"))
                && !taints.into_iter().any(|taint| taint.key.contains("uninitialized"))
        };
        Ok((nodes.items.len() == machines && nodes.iter().all(is_set_up)).then_some(()))
    })
    .await?;
    for machine in workload.machines().list(&ListParams::default()).await? {
        let addresses = machine.data["status"]["addresses"].as_array().cloned().unwrap_or_default();
        ensure!(!addresses.is_empty(), "core took the addresses: {}", machine.data["status"]);
        ensure!(machine.data["spec"]["providerID"].is_string(), "core took the id: {}", machine.data["spec"]);
    }
    Ok(())
}

/// Waits for the end of a rollout. Returns the most VMs at one moment; never are fewer Machines available than wanted.
async fn rolled(workload: &Workload, lab: &Lab, wanted: usize) -> Result<usize> {
    let mut most = 0;
    let fewest = std::cell::Cell::new(usize::MAX);
    eventually("the rollout is done", async || {
        let seen = workload.look().await?;
        most = most.max(lab.cloud.live_vms().len());
        fewest.set(fewest.get().min(usize::try_from(seen.available)?));
        let is_done = seen.up_to_date == wanted as u64
            && seen.machines.len() == wanted
            && seen.machines.values().all(|phase| phase == "Running");
        Ok(is_done.then_some(()))
    })
    .await?;
    ensure!(fewest.get() >= wanted, "only {} machines were available", fewest.get());
    Ok(most)
}

/// While it is paused, nothing reaches the cloud, whatever a user deletes; afterwards all of it happens.
#[tokio::test]
async fn a_pause_holds_everything_and_a_move_makes_and_deletes_no_vm() {
    managed(options(), async |lab, management, _| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 3).await?;
        workload.has(3).await?;
        paused(lab, &workload).await?;

        let before = lab.cloud.stats();
        let vms = ids(lab);
        let there = Elsewhere::start(&lab.cloud.plugin(&SIM)?).await?;
        let clusterctl = Clusterctl::new(&management.programs, &deploy())?;
        let (from, to) = (lab.plane.admin_kubeconfig(), there.plane.admin_kubeconfig());
        let to = to.to_str().context("a path")?;
        clusterctl.run(&from, &["move", "--namespace", TEAM, "--to-kubeconfig", to]).await?;
        let moved = Workload::of(TEAM, "shop", there.plane.client()?);
        let outcome = moved.has(3).await;
        outcome.map_err(|error| error.context(there.management.logs()).context(there.host.log_end()))?;
        ensure!(ids(lab) == vms, "the same VMs: {vms:?}, {:?}", ids(lab));
        ensure!(lab.cloud.stats().created == before.created, "no VM was created");
        let described = clusterctl
            .run(&there.plane.admin_kubeconfig(), &["describe", "cluster", "shop", "--namespace", TEAM])
            .await?;
        ensure!(described.contains("MachinistCluster/shop"), "{described}");
        let left = workload.infra_machines().list(&ListParams::default()).await?;
        ensure!(left.items.is_empty(), "none is left where it was");

        moved.delete().await?;
        ensure!(lab.cloud.live_vms().is_empty(), "{:?}", lab.cloud.live_vms());
        ensure!(lab.cloud.stats().duplicates_ever == 0, "no machine ever had two VMs");
        Ok(())
    })
    .await;
}

fn ids(lab: &Lab) -> BTreeSet<String> {
    lab.cloud.live_vms().into_iter().map(|vm| vm.id).collect()
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
    workload.has(3).await
}
