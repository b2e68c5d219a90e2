//! The fifteen calls of cluster-autoscaler.

use machinist_core::autoscaler::member::NamedNode;
use machinist_core::value::id::ObjectKey;
use machinist_runtime::autoscaler::{CallError, NodeGroups, NodeQuery, Scope};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status};

use crate::messages::cloud_provider_server::CloudProvider;
use crate::messages::{
    CleanupRequest, CleanupResponse, ExternalGrpcNode, GetAvailableGpuTypesRequest,
    GetAvailableGpuTypesResponse, GpuLabelRequest, GpuLabelResponse, NodeGroupAutoscalingOptionsRequest,
    NodeGroupAutoscalingOptionsResponse, NodeGroupDecreaseTargetSizeRequest,
    NodeGroupDecreaseTargetSizeResponse, NodeGroupDeleteNodesRequest, NodeGroupDeleteNodesResponse,
    NodeGroupForNodeRequest, NodeGroupForNodeResponse, NodeGroupIncreaseSizeRequest,
    NodeGroupIncreaseSizeResponse, NodeGroupNodesRequest, NodeGroupNodesResponse, NodeGroupTargetSizeRequest,
    NodeGroupTargetSizeResponse, NodeGroupTemplateNodeInfoRequest, NodeGroupTemplateNodeInfoResponse,
    NodeGroupsRequest, NodeGroupsResponse, PricingNodePriceRequest, PricingNodePriceResponse,
    PricingPodPriceRequest, PricingPodPriceResponse, RefreshRequest, RefreshResponse,
};
use crate::metrics::CallMetrics;
use crate::{answers, node, options};

/// Answers the calls of one autoscaler.
#[derive(Clone)]
pub(crate) struct Calls {
    groups: NodeGroups,
    scope: Scope,
    metrics: CallMetrics,
    /// Cancelled when another process has to be asked.
    end: CancellationToken,
}

impl Calls {
    pub(crate) fn new(groups: NodeGroups, scope: Scope, metrics: CallMetrics) -> Self {
        Self { groups, scope, metrics, end: CancellationToken::new() }
    }

    /// The same calls, on a connection that this token ends.
    pub(crate) fn ending(&self, end: CancellationToken) -> Self {
        Self { end, ..self.clone() }
    }

    fn answer<T>(&self, method: &'static str, result: Result<T, CallError>) -> Result<Response<T>, Status> {
        let answered = result.map(Response::new).map_err(|error| {
            if error == CallError::NotLeading {
                self.end.cancel();
            }
            answers::status(&error)
        });
        self.metrics.count(method, answered.as_ref().map_or_else(Status::code, |_| Code::Ok));
        answered
    }

    fn unpriced<T>(&self, method: &'static str) -> Result<Response<T>, Status> {
        self.metrics.count(method, Code::Unimplemented);
        Err(Status::unimplemented("this program knows no prices: use an expander that needs none"))
    }
}

fn named(node: &ExternalGrpcNode) -> NamedNode<'_> {
    NamedNode { provider_id: &node.provider_id, name: &node.name }
}

/// The Machine that Cluster API has written on a Node.
fn machine_of(node: &ExternalGrpcNode) -> Option<ObjectKey> {
    let annotation = |name: &str| node.annotations.get(name).filter(|value| !value.is_empty());
    let (namespace, name) =
        (annotation("cluster.x-k8s.io/cluster-namespace")?, annotation("cluster.x-k8s.io/machine")?);
    Some(ObjectKey::new(namespace, name))
}

#[tonic::async_trait]
impl CloudProvider for Calls {
    async fn node_groups(
        &self,
        _: Request<NodeGroupsRequest>,
    ) -> Result<Response<NodeGroupsResponse>, Status> {
        let groups = self.groups.groups(&self.scope).map(|groups| NodeGroupsResponse {
            node_groups: groups.iter().map(answers::node_group).collect(),
        });
        self.answer("NodeGroups", groups)
    }

    async fn node_group_for_node(
        &self,
        request: Request<NodeGroupForNodeRequest>,
    ) -> Result<Response<NodeGroupForNodeResponse>, Status> {
        let node = request.into_inner().node.unwrap_or_default();
        let query = NodeQuery { node: named(&node), machine: machine_of(&node) };
        let group = self.groups.group_of_node(&self.scope, &query).map(|group| NodeGroupForNodeResponse {
            node_group: Some(group.as_ref().map(answers::node_group).unwrap_or_default()),
        });
        self.answer("NodeGroupForNode", group)
    }

    async fn pricing_node_price(
        &self,
        _: Request<PricingNodePriceRequest>,
    ) -> Result<Response<PricingNodePriceResponse>, Status> {
        self.unpriced("PricingNodePrice")
    }

    async fn pricing_pod_price(
        &self,
        _: Request<PricingPodPriceRequest>,
    ) -> Result<Response<PricingPodPriceResponse>, Status> {
        self.unpriced("PricingPodPrice")
    }

    async fn gpu_label(&self, _: Request<GpuLabelRequest>) -> Result<Response<GpuLabelResponse>, Status> {
        let label = self.groups.gpu_label(&self.scope).to_owned();
        self.answer("GPULabel", self.groups.check().map(|()| GpuLabelResponse { label }))
    }

    /// Limits by type of GPU need a list of types, and no API has one.
    async fn get_available_gpu_types(
        &self,
        _: Request<GetAvailableGpuTypesRequest>,
    ) -> Result<Response<GetAvailableGpuTypesResponse>, Status> {
        let none = self.groups.check().map(|()| GetAvailableGpuTypesResponse::default());
        self.answer("GetAvailableGPUTypes", none)
    }

    /// An autoscaler has nothing open here.
    async fn cleanup(&self, _: Request<CleanupRequest>) -> Result<Response<CleanupResponse>, Status> {
        self.answer("Cleanup", Ok(CleanupResponse {}))
    }

    /// Watches keep the caches up to date.
    async fn refresh(&self, _: Request<RefreshRequest>) -> Result<Response<RefreshResponse>, Status> {
        self.answer("Refresh", self.groups.check().map(|()| RefreshResponse {}))
    }

    async fn node_group_target_size(
        &self,
        request: Request<NodeGroupTargetSizeRequest>,
    ) -> Result<Response<NodeGroupTargetSizeResponse>, Status> {
        let size = self.groups.target_size(&self.scope, &request.get_ref().id);
        let answer = size.map(|target_size| NodeGroupTargetSizeResponse { target_size });
        self.answer("NodeGroupTargetSize", answer)
    }

    async fn node_group_increase_size(
        &self,
        request: Request<NodeGroupIncreaseSizeRequest>,
    ) -> Result<Response<NodeGroupIncreaseSizeResponse>, Status> {
        let NodeGroupIncreaseSizeRequest { delta, id } = request.into_inner();
        let done = self.groups.increase(&self.scope, &id, delta).await;
        self.answer("NodeGroupIncreaseSize", done.map(|()| NodeGroupIncreaseSizeResponse {}))
    }

    async fn node_group_delete_nodes(
        &self,
        request: Request<NodeGroupDeleteNodesRequest>,
    ) -> Result<Response<NodeGroupDeleteNodesResponse>, Status> {
        let NodeGroupDeleteNodesRequest { nodes, id } = request.into_inner();
        let nodes: Vec<NamedNode<'_>> = nodes.iter().map(named).collect();
        let done = self.groups.delete(&self.scope, &id, &nodes).await;
        self.answer("NodeGroupDeleteNodes", done.map(|()| NodeGroupDeleteNodesResponse {}))
    }

    async fn node_group_decrease_target_size(
        &self,
        request: Request<NodeGroupDecreaseTargetSizeRequest>,
    ) -> Result<Response<NodeGroupDecreaseTargetSizeResponse>, Status> {
        let NodeGroupDecreaseTargetSizeRequest { delta, id } = request.into_inner();
        let done = self.groups.decrease(&self.scope, &id, delta).await;
        self.answer("NodeGroupDecreaseTargetSize", done.map(|()| NodeGroupDecreaseTargetSizeResponse {}))
    }

    async fn node_group_nodes(
        &self,
        request: Request<NodeGroupNodesRequest>,
    ) -> Result<Response<NodeGroupNodesResponse>, Status> {
        let instances = self.groups.instances(&self.scope, &request.get_ref().id);
        let answer = instances.map(|instances| NodeGroupNodesResponse {
            instances: instances.into_iter().map(answers::instance).collect(),
        });
        self.answer("NodeGroupNodes", answer)
    }

    async fn node_group_template_node_info(
        &self,
        request: Request<NodeGroupTemplateNodeInfoRequest>,
    ) -> Result<Response<NodeGroupTemplateNodeInfoResponse>, Status> {
        let template = self.groups.template(&self.scope, &request.get_ref().id);
        let answer = template.map(|template| {
            let bytes = node::bytes(&template);
            NodeGroupTemplateNodeInfoResponse {
                node_info: bytes.clone(),
                node_bytes: bytes,
                resource_slice_bytes: Vec::new(),
            }
        });
        self.answer("NodeGroupTemplateNodeInfo", answer)
    }

    async fn node_group_get_options(
        &self,
        request: Request<NodeGroupAutoscalingOptionsRequest>,
    ) -> Result<Response<NodeGroupAutoscalingOptionsResponse>, Status> {
        let NodeGroupAutoscalingOptionsRequest { id, defaults } = request.into_inner();
        let defaults = defaults.unwrap_or_default();
        let own = self.groups.options(&self.scope, &id, options::read(&defaults));
        let answer = own.map(|own| {
            for (setting, expected) in &own.problems {
                tracing::warn!(group = id, setting, "an option of a node group must be {expected}");
            }
            let options = options::write(own.options, &defaults);
            NodeGroupAutoscalingOptionsResponse { node_group_autoscaling_options: Some(options) }
        });
        self.answer("NodeGroupGetOptions", answer)
    }
}
