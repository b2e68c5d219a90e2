//! cluster-autoscaler by its interface for external providers, and a MachineDeployment of Cluster API's own core.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use e2e::{Cloud, Lab, eventually};
use kube::api::{ListParams, Patch, PatchParams};
use machinist_autoscaler::messages::{
    ExternalGrpcNode, NodeGroupDeleteNodesRequest, NodeGroupIncreaseSizeRequest, NodeGroupTargetSizeRequest,
    NodeGroupTemplateNodeInfoRequest, NodeGroupsRequest,
};
use serde_json::json;

use super::scene::{Sim, ends, managed_with, options, workload};
use crate::deployments::externalgrpc::client;

/// Under the rights of `deploy/autoscaler`: core makes the Machine that was asked for, and deletes the named one.
#[tokio::test]
#[ignore = "nightly: a minute; tests of host/autoscaler make all calls on each change"]
async fn core_follows_what_cluster_autoscaler_asks_for() {
    let address = format!("127.0.0.1:{}", control_plane::free_port().unwrap());
    let flag = format!("--autoscaler-address=team/shop@{address}");
    managed_with::<Sim>(options(), &[flag], async |lab, _, _| resized(lab, &address).await).await;
}

async fn resized<C: Cloud>(lab: &Lab<C>, address: &str) -> Result<()> {
    lab.plane.apply_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/autoscaler")).await?;
    let workload = workload(lab).await?;
    workload.deploy(&lab.plane, 2).await?;
    workload.has(2, "small").await?;
    let limits = json!({
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "0",
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "4",
    });
    let patch = Patch::Merge(json!({ "metadata": { "annotations": limits } }));
    workload.deployments().patch("workers", &PatchParams::default(), &patch).await?;
    let mut client = client(address).await?;
    let groups = client.node_groups(NodeGroupsRequest {}).await?.into_inner().node_groups;
    let id = groups.first().context("there is a group")?.id.clone();

    // From the driver's own word about its VMs, without any annotation.
    let request = NodeGroupTemplateNodeInfoRequest { id: id.clone() };
    let next = client.node_group_template_node_info(request).await?.into_inner();
    ensure!(!next.node_bytes.is_empty(), "the next Node is described: {next:?}");

    client.node_group_increase_size(NodeGroupIncreaseSizeRequest { delta: 1, id: id.clone() }).await?;
    workload.has(3, "small").await?;

    let machines = workload.infra_machines().list(&ListParams::default()).await?;
    let machine = machines.items.into_iter().next().context("there are machines")?;
    let name = machine.metadata.name.clone().context("it has a name")?;
    let provider_id = machine.provider_id().context("it has a VM")?.to_owned();
    let node = ExternalGrpcNode { provider_id, ..ExternalGrpcNode::default() };
    let request = NodeGroupDeleteNodesRequest { nodes: vec![node], id: id.clone() };
    client.node_group_delete_nodes(request.clone()).await?;
    client.node_group_delete_nodes(request).await?;
    let size = client.node_group_target_size(NodeGroupTargetSizeRequest { id }).await?;
    ensure!(size.get_ref().target_size == 2, "{size:?}");
    eventually("the named machine goes", async || {
        Ok(workload.infra_machines().get_opt(&name).await?.is_none().then_some(()))
    })
    .await?;
    workload.has(2, "small").await?;
    ends(lab, &workload).await
}
