//! The life of a workload cluster with Cluster API's own programs.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use e2e::cluster_api::{Elsewhere, Workload};
use e2e::{Cloud, Host, Lab, LiveVm, eventually};
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use super::scene::{
    Sim, ends, lab, managed, one_vm_each, options, put_large_template, vms_of_kept_machines, workload,
    workload_from,
};
use crate::scene::{SIM, turn};

#[tokio::test]
async fn a_workload_cluster_is_made_scaled_rolled_and_deleted() {
    workload_cluster_on::<Sim>().await;
}

/// The whole life of a workload cluster whose machines are of this cloud.
pub(crate) async fn workload_cluster_on<C: Cloud>() {
    managed::<C>(options(), async |lab, _, host| life(lab, host, 6).await).await;
}

/// As in production: the Nodes join an API server that neither core's objects nor the host are on.
#[tokio::test]
#[ignore = "nightly: a minute; the move takes a cluster to another management cluster as well"]
async fn a_workload_cluster_has_an_api_server_of_its_own() {
    let _turn = turn().await;
    let lab = lab::<Sim>(options()).await;
    apart(&lab).await.unwrap_or_else(|error| panic!("{error:#}"));
}

async fn apart(lab: &Lab) -> Result<()> {
    let there = Elsewhere::start(&lab.cloud.plugin(&SIM)?).await?;
    let lived = async {
        let workload = workload_from(lab, &there.plane).await?;
        workload.deploy(&there.plane, 2).await?;
        workload.has(2, "small").await?;
        let nodes = async |client| {
            let nodes = Api::<Node>::all(client).list(&ListParams::default()).await?;
            anyhow::Ok(nodes.items.len())
        };
        let counts = (nodes(lab.client.clone()).await?, nodes(there.plane.client()?).await?);
        ensure!(counts == (2, 0), "Nodes of workload and management cluster: {counts:?}");
        ends(lab, &workload).await
    };
    let lived: Result<()> = lived.await;
    lived.map_err(|error| error.context(there.management.logs()).context(there.host.log_end()))
}

/// Three machines in the second failure domain, or the only one; `most`, two; a roll of these; none.
pub(super) async fn life<C: Cloud>(lab: &Lab<C>, host: &Host, most: usize) -> Result<()> {
    let workload = workload(lab).await?;
    let zones = lab.cloud.failure_domains();
    let zone = zones.get(1).or(zones.first()).context("there is a failure domain")?;
    workload.deploy_in(&lab.plane, 3, zone).await?;
    workload.has(3, "small").await?;
    joined(lab, &workload, zone, 3).await?;

    workload.scale(u32::try_from(most)?).await?;
    workload.has(most, "small").await?;
    workload.scale(2).await?;
    workload.has(2, "small").await?;
    let live = lab.cloud.live_machines().await?;
    ensure!(live.len() == 2, "{live:?}");

    put_large_template(lab).await?;
    let created = lab.cloud.made().await?.created;
    workload.roll("large").await?;
    let seen = rolled(&workload, lab, 2).await?;
    ensure!(seen.most_vms <= 3, "never more VMs than wanted and one: {seen:?}");
    ensure!(seen.fewest_available >= 2, "never fewer available than wanted: {seen:?}");
    let made = lab.cloud.made().await?.created;
    ensure!(made == created + 2, "one VM for each of 2: {}\n{}", made - created, host.log_end());

    ends(lab, &workload).await?;
    let errors = host.log_lines("ERROR");
    ensure!(errors.is_empty(), "{errors:?}");
    Ok(())
}

/// Nodes are what core makes of them: nothing of it is the host's. Core finds each by an id that the provider gives and
/// that the cloud's controller manager has written to the Node.
async fn joined<C: Cloud>(lab: &Lab<C>, workload: &Workload, zone: &str, machines: usize) -> Result<()> {
    let nodes: Api<Node> = Api::all(lab.client.clone());
    let nodes = eventually("core has set up the Nodes", async || {
        let nodes = nodes.list(&ListParams::default()).await?;
        let is_set_up = |node: &Node| {
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
            node.labels().contains_key("node-role.kubernetes.io/worker")
                && !taints.into_iter().any(|taint| taint.key.contains("uninitialized"))
        };
        Ok((nodes.items.len() == machines && nodes.iter().all(is_set_up)).then_some(nodes.items))
    })
    .await?;
    let ids_of_nodes: BTreeMap<String, String> = nodes
        .into_iter()
        .map(|node| (node.name_any(), node.spec.and_then(|spec| spec.provider_id).unwrap_or_default()))
        .collect();
    let vms: BTreeMap<String, LiveVm> =
        lab.cloud.live_machines().await?.into_iter().map(|vm| (vm.node_id.clone(), vm)).collect();
    for machine in workload.machines().list(&ListParams::default()).await? {
        let (spec, status) = (&machine.data["spec"], &machine.data["status"]);
        let addresses = status["addresses"].as_array().cloned().unwrap_or_default();
        ensure!(!addresses.is_empty(), "core took the addresses: {status}");
        ensure!(status["failureDomain"] == zone, "and the failure domain {zone}: {status}");
        let id = spec["providerID"].as_str().context("core took the id")?;
        let vm = vms.get(id).with_context(|| format!("{id} is of none of {vms:?}"))?;
        ensure!(vm.zone == zone, "{vm:?} is in {zone}");
        let node = status["nodeRef"]["name"].as_str().context("core found the Node")?;
        ensure!(ids_of_nodes.get(node).map(String::as_str) == Some(id), "{node}: {ids_of_nodes:?}, {id}");
    }
    one_vm_each(lab).await
}

/// Extremes of all moments of a rollout that were seen.
#[derive(Debug)]
struct Seen {
    most_vms: usize,
    fewest_available: usize,
}

/// Waits for the end of a rollout.
async fn rolled<C: Cloud>(workload: &Workload, lab: &Lab<C>, wanted: usize) -> Result<Seen> {
    let mut seen = Seen { most_vms: 0, fewest_available: usize::MAX };
    eventually("the rollout is done", async || {
        let now = workload.look().await?;
        seen.most_vms = seen.most_vms.max(vms_of_kept_machines(lab, workload).await?);
        seen.fewest_available = seen.fewest_available.min(usize::try_from(now.available)?);
        Ok(now.is_complete(wanted, "large").then_some(()))
    })
    .await?;
    Ok(seen)
}
