//! A host that serves an autoscaler, and the autoscaler's client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinist_autoscaler::messages::cloud_provider_client::CloudProviderClient;
use machinist_autoscaler::messages::{
    ExternalGrpcNode, Instance, NodeGroup, NodeGroupDecreaseTargetSizeRequest, NodeGroupDeleteNodesRequest,
    NodeGroupForNodeRequest, NodeGroupIncreaseSizeRequest, NodeGroupNodesRequest, NodeGroupTargetSizeRequest,
    NodeGroupsRequest, RefreshRequest,
};
use machinist_autoscaler::metrics::CallMetrics;
use machinist_autoscaler::tls::TlsFiles;
use machinist_autoscaler::{Endpoint, serve};
use machinist_core::value::id::ObjectKey;
use machinist_runtime::autoscaler::{NodeGroups, Scope};
use machinist_runtime::context::clock::Clock;
use machinist_runtime::context::settings::{ClusterApi, Controllers, Settings};
use machinist_runtime::metrics::Metrics;
use machinist_runtime::ports::Ports;
use machinist_runtime::tenant::Tenant;
use memory_api::ApiServer;
use memory_api::wire::Wire;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::no_drivers::NoDrivers;
use crate::objects::{NAMESPACE, TEAM};

/// How long anything may take that a test waits for.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) type Client = CloudProviderClient<Channel>;

pub(crate) struct Stage {
    pub(crate) api: ApiServer,
    pub(crate) wire: Wire,
    pub(crate) address: SocketAddr,
    pub(crate) leads: watch::Sender<bool>,
    pub(crate) metrics: CallMetrics,
    stop: CancellationToken,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// MachineDeployments of both APIs.
pub(crate) fn both() -> Scope {
    Scope { mcm: true, clusters: [ObjectKey::new(TEAM, "c")].into() }
}

impl Stage {
    /// A host that leads, over these objects.
    pub(crate) async fn over(objects: impl FnOnce(&ApiServer)) -> Self {
        Self::with(both(), None, true, objects).await
    }

    /// A host that serves this scope.
    pub(crate) async fn with(
        scope: Scope,
        tls: Option<TlsFiles>,
        is_leading: bool,
        objects: impl FnOnce(&ApiServer),
    ) -> Self {
        let (is_plain, wire) = (tls.is_none(), Wire::new());
        let api = ApiServer::new(wire.clone(), Timestamp::now);
        objects(&api);
        let (leads, leading) = watch::channel(is_leading);
        let stop = CancellationToken::new();
        let (groups, metrics) = (NodeGroups::new(true), CallMetrics::default());
        let endpoint = Endpoint { address: "127.0.0.1:0".parse().unwrap(), scope };
        let addresses = serve(vec![endpoint], tls, &groups, &metrics, &stop).await.unwrap();
        let tenant = Tenant {
            control: api.client("host"),
            namespace: NAMESPACE.to_owned(),
            plugin_namespace: NAMESPACE.to_owned(),
            target: Some(api.client("host")),
            settings: Settings {
                controllers: Controllers { machines: false, ..Controllers::ALL },
                cluster_api: ClusterApi::EveryNamespace,
                ..Settings::for_cluster("test")
            },
            ports: Ports::of(NoDrivers),
            clock: Clock::Wall,
            seed: [7; 32],
            identity: "host".to_owned(),
            metrics: Arc::new(Metrics::default()),
            node_groups: Some(groups),
        };
        let (synced, mut is_synced) = watch::channel(false);
        tokio::spawn(tenant.run(leading, synced, stop.clone()));
        tokio::time::timeout(LIMIT, is_synced.wait_for(|is_synced| *is_synced)).await.unwrap().unwrap();
        let stage = Self { api, wire, address: addresses[0], leads, metrics, stop };
        if is_leading && is_plain {
            stage.until("the host is ready", async || stage.refresh().await.is_ok()).await;
        }
        stage
    }

    pub(crate) async fn client(&self) -> Client {
        let channel = Channel::from_shared(format!("http://{}", self.address)).unwrap().connect().await;
        CloudProviderClient::new(channel.unwrap())
    }

    async fn refresh(&self) -> Result<(), Status> {
        let channel = Channel::from_shared(format!("http://{}", self.address)).unwrap().connect().await;
        let channel = channel.map_err(|error| Status::unavailable(error.to_string()))?;
        CloudProviderClient::new(channel).refresh(RefreshRequest {}).await.map(|_| ())
    }

    /// Waits until it holds.
    pub(crate) async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let begin = Instant::now();
        while !holds().await {
            assert!(begin.elapsed() < LIMIT, "not within {LIMIT:?}: {what}\n{}", self.wire.trace());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The counted calls of a method with a code.
    pub(crate) fn counted(&self, method: &str, code: &str) -> bool {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let series = format!("machinist_autoscaler_calls_total{{method=\"{method}\",code=\"{code}\"}}");
        text.lines().any(|line| line.starts_with(&series))
    }
}

/// A Node as an autoscaler names it.
pub(crate) fn node(provider_id: &str, name: &str) -> ExternalGrpcNode {
    ExternalGrpcNode {
        provider_id: provider_id.to_owned(),
        name: name.to_owned(),
        ..ExternalGrpcNode::default()
    }
}

pub(crate) async fn groups(client: &mut Client) -> Vec<NodeGroup> {
    client.node_groups(NodeGroupsRequest {}).await.unwrap().into_inner().node_groups
}

/// The id of a Node's group; empty: none.
pub(crate) async fn group_of(client: &mut Client, node: ExternalGrpcNode) -> String {
    let request = NodeGroupForNodeRequest { node: Some(node) };
    let answer = client.node_group_for_node(request).await.unwrap().into_inner();
    answer.node_group.unwrap().id
}

pub(crate) async fn target_size(client: &mut Client, id: &str) -> i32 {
    let request = NodeGroupTargetSizeRequest { id: id.to_owned() };
    client.node_group_target_size(request).await.unwrap().into_inner().target_size
}

pub(crate) async fn instances(client: &mut Client, id: &str) -> Vec<Instance> {
    let request = NodeGroupNodesRequest { id: id.to_owned() };
    client.node_group_nodes(request).await.unwrap().into_inner().instances
}

pub(crate) async fn increase(client: &mut Client, id: &str, delta: i32) -> Result<(), Status> {
    let request = NodeGroupIncreaseSizeRequest { delta, id: id.to_owned() };
    client.node_group_increase_size(request).await.map(|_| ())
}

pub(crate) async fn decrease(client: &mut Client, id: &str, delta: i32) -> Result<(), Status> {
    let request = NodeGroupDecreaseTargetSizeRequest { delta, id: id.to_owned() };
    client.node_group_decrease_target_size(request).await.map(|_| ())
}

pub(crate) async fn delete(client: &mut Client, id: &str, ids: &[&str]) -> Result<(), Status> {
    let nodes = ids.iter().map(|id| node(id, "")).collect();
    let request = NodeGroupDeleteNodesRequest { nodes, id: id.to_owned() };
    client.node_group_delete_nodes(request).await.map(|_| ())
}

/// The call is refused with this code and a message with this part.
#[track_caller]
pub(crate) fn refuses<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, part: &str) {
    let status = result.unwrap_err();
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(part), "{:?} lacks {part:?}", status.message());
}
