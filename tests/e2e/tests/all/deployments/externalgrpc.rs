//! The program serves cluster-autoscaler by its interface for external providers.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use machinist_autoscaler::messages::cloud_provider_client::CloudProviderClient;
use machinist_autoscaler::messages::{
    ExternalGrpcNode, NodeGroupDeleteNodesRequest, NodeGroupForNodeRequest, NodeGroupIncreaseSizeRequest,
    NodeGroupNodesRequest, NodeGroupTargetSizeRequest, NodeGroupsRequest,
};
use serde_json::json;
use tonic::transport::Channel;

use super::{POOL, list_is_empty, names, node_of, pool};
use crate::scene::{SIM, flagged};

pub(crate) type Client = CloudProviderClient<Channel>;

/// Returns a client once the host has the group.
pub(crate) async fn client(address: &str) -> Result<Client> {
    e2e::eventually("the group is served", async || {
        let Ok(channel) = Channel::from_shared(format!("http://{address}"))?.connect().await else {
            return Ok(None);
        };
        let mut client = CloudProviderClient::new(channel);
        let groups = client.node_groups(NodeGroupsRequest {}).await;
        let has_group = groups.is_ok_and(|groups| groups.get_ref().node_groups.len() == 1);
        Ok(has_group.then_some(client))
    })
    .await
}

#[tokio::test]
async fn the_program_serves_cluster_autoscaler_and_the_named_node_goes() {
    let address = format!("127.0.0.1:{}", control_plane::free_port().unwrap());
    flagged(&[format!("--autoscaler-address={address}")], async |lab, _| {
        lab.install_driver(&SIM).await?;
        let fleet = pool(lab, 2).await?;
        let limits = json!({
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1",
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "3",
        });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": limits } }));
        let deployment = lab.deployments().patch(POOL, &PatchParams::default(), &patch).await?;
        let id = format!("mcm/{}/{POOL}", deployment.metadata.namespace.unwrap_or_default());
        let mut client = client(&address).await?;

        client.node_group_increase_size(NodeGroupIncreaseSizeRequest { delta: 1, id: id.clone() }).await?;
        fleet.until("three Machines run", |tally| tally.available == 3).await?;
        lab.deployment_is_complete(POOL).await?;

        let machine = names(&fleet).into_iter().next().context("there are Machines")?;
        let node = Api::<Node>::all(lab.client.clone()).get(&node_of(&fleet, &machine)).await?;
        let provider_id = node.spec.and_then(|spec| spec.provider_id).context("the Node has an id")?;
        let named = ExternalGrpcNode { provider_id: provider_id.clone(), ..ExternalGrpcNode::default() };
        let of_node = NodeGroupForNodeRequest { node: Some(named.clone()) };
        let group = client.node_group_for_node(of_node).await?.into_inner().node_group.unwrap_or_default();
        ensure!(group.id == id && group.max_size == 3, "{group:?}");

        let request = NodeGroupDeleteNodesRequest { nodes: vec![named], id: id.clone() };
        client.node_group_delete_nodes(request.clone()).await?;
        client.node_group_delete_nodes(request).await?;
        let size = client.node_group_target_size(NodeGroupTargetSizeRequest { id: id.clone() }).await?;
        ensure!(size.get_ref().target_size == 2, "{size:?}");
        fleet.until("two are left", |tally| tally.objects == 2).await?;
        lab.deployment_is_complete(POOL).await?;
        ensure!(!names(&fleet).contains(&machine), "{machine} was named");
        let left = client.node_group_nodes(NodeGroupNodesRequest { id }).await?.into_inner().instances;
        ensure!(left.len() == 2 && left.iter().all(|instance| instance.id != provider_id), "{left:?}");
        list_is_empty(lab).await?;
        lab.clear().await
    })
    .await;
}
