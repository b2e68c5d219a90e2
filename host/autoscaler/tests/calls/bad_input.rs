//! Calls that are refused: each says why, and writes nothing.

use machinist_autoscaler::messages::{
    NodeGroupAutoscalingOptionsRequest, NodeGroupForNodeRequest, NodeGroupNodesRequest,
    NodeGroupTargetSizeRequest, NodeGroupTemplateNodeInfoRequest,
};
use memory_api::wire::Call;
use tonic::Code;

use crate::fixture::{Client, Stage, decrease, delete, increase, refuses};
use crate::objects::{CAPI, MCM, add_md, add_pool, capi_id_of, limits, machines};

/// A group of each API with two replicas, of 1 to 5.
async fn stage() -> (Stage, Client) {
    let stage = Stage::over(|api| {
        add_pool(api, 2, &limits(5));
        add_md(api, &["a", "b"], &limits(5));
    })
    .await;
    stage.until("the set has its Machines", async || machines(&stage.api).len() == 2).await;
    let client = stage.client().await;
    (stage, client)
}

/// Writes of sizes and marks.
fn writes(stage: &Stage, begun: usize) -> usize {
    let is_write = |call: &Call| {
        call.verb == "PATCH"
            && (call.what.starts_with("machinedeployments") || call.what.starts_with("machines."))
    };
    stage.wire.records_since(begun, is_write).len()
}

#[tokio::test]
async fn an_unknown_group_is_not_found_and_an_invalid_id_is_invalid() {
    let (stage, mut client) = stage().await;
    let begun = stage.wire.len();
    for (id, code) in [
        ("mcm/shoot/other", Code::NotFound),
        ("capi/team/other", Code::NotFound),
        ("capi/shoot/pool", Code::NotFound),
        ("mcm/other/pool", Code::NotFound),
        ("", Code::InvalidArgument),
        ("pool", Code::InvalidArgument),
        ("mcm/shoot/pool/more", Code::InvalidArgument),
    ] {
        let id = id.to_owned();
        let part = if code == Code::NotFound { "no node group here" } else { "use an id from NodeGroups" };
        let size = client.node_group_target_size(NodeGroupTargetSizeRequest { id: id.clone() }).await;
        refuses(size, code, part);
        let nodes = client.node_group_nodes(NodeGroupNodesRequest { id: id.clone() }).await;
        refuses(nodes, code, part);
        let template = NodeGroupTemplateNodeInfoRequest { id: id.clone() };
        refuses(client.node_group_template_node_info(template).await, code, part);
        let options = NodeGroupAutoscalingOptionsRequest { id: id.clone(), defaults: None };
        refuses(client.node_group_get_options(options).await, code, part);
        refuses(increase(&mut client, &id, 1).await, code, part);
        refuses(decrease(&mut client, &id, -1).await, code, part);
        refuses(delete(&mut client, &id, &["sim:///a/b"]).await, code, part);
    }
    assert_eq!(writes(&stage, begun), 0);
}

#[tokio::test]
async fn sizes_beyond_the_limits_and_numbers_of_the_wrong_sign_are_refused() {
    let (stage, mut client) = stage().await;
    let begun = stage.wire.len();
    for id in [MCM, CAPI] {
        refuses(increase(&mut client, id, 0).await, Code::InvalidArgument, "above 0");
        refuses(increase(&mut client, id, -1).await, Code::InvalidArgument, "above 0");
        refuses(increase(&mut client, id, 4).await, Code::OutOfRange, "maximum 5");
        refuses(increase(&mut client, id, i32::MAX).await, Code::OutOfRange, "maximum 5");
        refuses(decrease(&mut client, id, 0).await, Code::InvalidArgument, "below 0");
        refuses(decrease(&mut client, id, 1).await, Code::InvalidArgument, "below 0");
        refuses(decrease(&mut client, id, i32::MIN).await, Code::OutOfRange, "minimum 1");
    }
    assert_eq!(writes(&stage, begun), 0);
}

#[tokio::test]
async fn nodes_of_others_and_too_many_nodes_are_not_deleted() {
    let (stage, mut client) = stage().await;
    let begun = stage.wire.len();
    let (a, b) = (capi_id_of("a"), capi_id_of("b"));
    refuses(delete(&mut client, CAPI, &[&a, &b]).await, Code::OutOfRange, "minimum 1");
    refuses(delete(&mut client, CAPI, &["sim:///capi/z"]).await, Code::NotFound, "nothing is deleted");
    refuses(delete(&mut client, CAPI, &[&a, "sim:///capi/z"]).await, Code::NotFound, "nothing is deleted");
    refuses(delete(&mut client, MCM, &[&a]).await, Code::NotFound, "of no Machine of mcm/shoot/pool");
    refuses(delete(&mut client, CAPI, &[""]).await, Code::NotFound, "nothing is deleted");
    let placeholder = "requested://capi/team/a";
    refuses(delete(&mut client, CAPI, &[placeholder]).await, Code::FailedPrecondition, "has a VM by now");
    delete(&mut client, CAPI, &[]).await.unwrap();
    assert_eq!(writes(&stage, begun), 0);
}

#[tokio::test]
async fn a_question_without_a_node_has_no_group() {
    let (_stage, mut client) = stage().await;
    let answer =
        client.node_group_for_node(NodeGroupForNodeRequest { node: None }).await.unwrap().into_inner();
    assert_eq!(answer.node_group.unwrap().id, "");
}
