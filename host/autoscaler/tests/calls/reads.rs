//! Calls that only read.

use std::collections::BTreeMap;

use machinist_autoscaler::messages::instance_status::InstanceState;
use machinist_autoscaler::messages::{
    CleanupRequest, GetAvailableGpuTypesRequest, GpuLabelRequest, Instance, NodeGroupAutoscalingOptions,
    NodeGroupAutoscalingOptionsRequest, NodeGroupTemplateNodeInfoRequest, PricingNodePriceRequest,
    PricingPodPriceRequest, RefreshRequest,
};
use prost_types::Duration;
use serde_json::{Value, json};
use tonic::Code;

use crate::fixture::{Client, Stage, group_of, groups, instances, node, refuses, target_size};
use crate::objects::{
    CAPI, MCM, TEAM, add_capi_machine, add_md, add_pool, capi_id_of, id_of, join, limits, machines,
};

/// A group of each API, each with two Nodes and one Machine without a VM.
async fn stage(extra: &Value) -> Stage {
    let mut annotations = limits(5);
    annotations.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let stage = Stage::over(|api| {
        add_pool(api, 3, &annotations);
        add_md(api, &["a", "b"], &annotations);
        add_capi_machine(api, "md-1", "c");
    })
    .await;
    stage.until("the set has its Machines", async || machines(&stage.api).len() == 3).await;
    for machine in machines(&stage.api).iter().take(2) {
        join(&stage.api, machine);
    }
    stage
}

/// The instances by id.
async fn states(client: &mut Client, id: &str) -> BTreeMap<String, InstanceState> {
    let state = |instance: &Instance| instance.status.as_ref().unwrap().instance_state();
    let all = instances(client, id).await;
    all.iter().map(|instance| (instance.id.clone(), state(instance))).collect()
}

#[tokio::test]
async fn groups_of_both_apis_have_their_limits_and_sizes() {
    let stage = stage(&json!({})).await;
    let mut client = stage.client().await;
    let groups = groups(&mut client).await;
    let all: Vec<_> =
        groups.iter().map(|group| (group.id.as_str(), group.min_size, group.max_size)).collect();
    assert_eq!(all, [(MCM, 1, 5), (CAPI, 1, 5)]);
    assert_eq!(groups[0].debug, "mcm/shoot/pool: 3 replicas, 1 to 5");
    assert_eq!(target_size(&mut client, MCM).await, 3);
    assert_eq!(target_size(&mut client, CAPI).await, 2);
    assert!(stage.counted("NodeGroups", "OK") && stage.counted("NodeGroupTargetSize", "OK"));
}

#[tokio::test]
async fn a_deployment_without_limits_is_no_group() {
    let stage = Stage::over(|api| {
        add_pool(api, 1, &json!({}));
        let reversed = json!({
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "4",
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "3",
        });
        add_md(api, &["a"], &reversed);
    })
    .await;
    let mut client = stage.client().await;
    assert_eq!(groups(&mut client).await, []);
    assert_eq!(group_of(&mut client, node(&capi_id_of("a"), "node-a")).await, "");
}

#[tokio::test]
async fn nodes_are_listed_by_the_ids_that_they_have_and_requests_by_placeholders() {
    let stage = stage(&json!({})).await;
    let mut client = stage.client().await;
    let of_mcm = machines(&stage.api);
    let expected = BTreeMap::from([
        (id_of(&of_mcm[0]), InstanceState::InstanceRunning),
        (id_of(&of_mcm[1]), InstanceState::InstanceRunning),
        (format!("requested://mcm/shoot/{}", of_mcm[2]), InstanceState::InstanceCreating),
    ]);
    stage.until("the Nodes are seen", async || states(&mut client.clone(), MCM).await == expected).await;
    let expected = BTreeMap::from([
        (capi_id_of("a"), InstanceState::InstanceRunning),
        (capi_id_of("b"), InstanceState::InstanceRunning),
        ("requested://capi/team/c".to_owned(), InstanceState::InstanceCreating),
    ]);
    assert_eq!(states(&mut client, CAPI).await, expected);
    for (id, group) in [(MCM, MCM), (CAPI, CAPI)] {
        for instance in instances(&mut client, id).await {
            // An autoscaler names an instance without a Node by its id twice.
            assert_eq!(
                group_of(&mut client, node(&instance.id, &instance.id)).await,
                group,
                "{}",
                instance.id
            );
        }
    }
}

#[tokio::test]
async fn a_node_is_found_by_its_id_its_name_and_what_cluster_api_wrote_on_it() {
    let stage = stage(&json!({})).await;
    let mut client = stage.client().await;
    let machine = machines(&stage.api)[0].clone();
    let name = format!("node-{machine}");
    let is_found = async || group_of(&mut client.clone(), node(&id_of(&machine), &name)).await == MCM;
    stage.until("the Node is seen", is_found).await;
    assert_eq!(group_of(&mut client, node("", &name)).await, MCM);
    assert_eq!(group_of(&mut client, node("sim:///zone/other", &name)).await, "", "another VM of that name");
    assert_eq!(group_of(&mut client, node("sim:///zone/control-plane", "control-plane")).await, "");
    assert_eq!(group_of(&mut client, node("", "")).await, "");
    assert_eq!(group_of(&mut client, node("", "node-a")).await, CAPI);
    let mut annotated = node(&capi_id_of("b"), "node-b");
    let annotations = [("cluster.x-k8s.io/cluster-namespace", TEAM), ("cluster.x-k8s.io/machine", "b")];
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    annotated.annotations = annotations.into_iter().collect();
    assert_eq!(group_of(&mut client, annotated.clone()).await, CAPI);
    annotated.provider_id = "sim:///capi/z".to_owned();
    assert_eq!(group_of(&mut client, annotated).await, "", "annotations alone prove nothing");
}

#[tokio::test]
async fn a_machine_that_the_cloud_has_no_capacity_for_has_the_class_of_missing_resources() {
    let stage = stage(&json!({})).await;
    let mut client = stage.client().await;
    let machine = machines(&stage.api)[2].clone();
    let failed = |code: &str| {
        let last = json!({ "type": "Create", "state": "Failed", "errorCode": code, "description": "no m5" });
        let status = json!({ "status": { "lastOperation": last } });
        stage.api.edit_status("machines", &format!("shoot/{machine}"), &status).unwrap();
    };
    let error = async || {
        let all = instances(&mut client.clone(), MCM).await;
        let mut errors = all.into_iter().filter_map(|instance| instance.status.unwrap().error_info);
        errors.next().map(|error| (error.error_code, error.instance_error_class, error.error_message))
    };
    failed("ResourceExhausted");
    let expected = Some(("ResourceExhausted".to_owned(), 1, "no m5".to_owned()));
    stage.until("capacity is missing", async || error().await == expected).await;
    failed("InvalidArgument");
    let expected = Some(("InvalidArgument".to_owned(), 99, "no m5".to_owned()));
    stage.until("the request is invalid", async || error().await == expected).await;
    failed("Unavailable");
    stage.until("the failure passes", async || error().await.is_none()).await;
    drop(client);
    client = stage.client().await;
    assert_eq!(instances(&mut client, MCM).await.len(), 3);
}

async fn template(client: &mut Client, id: &str) -> Vec<u8> {
    let request = NodeGroupTemplateNodeInfoRequest { id: id.to_owned() };
    let answer = client.node_group_template_node_info(request).await.unwrap().into_inner();
    assert_eq!(answer.node_info, answer.node_bytes, "both forms");
    answer.node_bytes
}

/// The Node of a template, as its strings in order.
fn strings(bytes: &[u8]) -> Vec<String> {
    let is_text = |byte: &u8| byte.is_ascii_graphic();
    let parts = bytes.split(|byte| !is_text(byte)).filter(|part| part.len() > 1);
    parts.map(|part| String::from_utf8(part.to_vec()).unwrap()).collect()
}

#[tokio::test]
async fn a_class_and_annotations_describe_the_next_node() {
    let capacity = json!({
        "capacity.cluster-autoscaler.kubernetes.io/cpu": "16",
        "capacity.cluster-autoscaler.kubernetes.io/memory": "64Gi",
        "capacity.cluster-autoscaler.kubernetes.io/taints": "dedicated=a:NoSchedule",
    });
    let stage = stage(&capacity).await;
    let mut client = stage.client().await;
    let has = |bytes: &[u8], text: &str| {
        let all = strings(bytes);
        assert!(all.iter().any(|part| part.contains(text)), "{text} is missing in {all:?}");
    };
    let mcm = template(&mut client, MCM).await;
    for text in ["template-pool", "64Gi", "m5.large", "eu-west-1a", "dedicated", "NoSchedule", "KubeletReady"]
    {
        has(&mcm, text);
    }
    let capi = template(&mut client, CAPI).await;
    for text in ["template-md", "64Gi", "zone-a", "node.cluster.x-k8s.io/pool", "dedicated"] {
        has(&capi, text);
    }
    assert!(!strings(&capi).iter().any(|part| part.contains("other")), "the label reaches no Node");
}

#[tokio::test]
async fn without_any_description_there_is_no_template() {
    let stage = stage(&json!({})).await;
    let mut client = stage.client().await;
    let request = |id: &str| NodeGroupTemplateNodeInfoRequest { id: id.to_owned() };
    assert!(client.node_group_template_node_info(request(MCM)).await.is_ok(), "its class has a nodeTemplate");
    let refused = client.node_group_template_node_info(request(CAPI)).await;
    refuses(refused, Code::Unimplemented, "annotate the MachineDeployment");
}

#[tokio::test]
async fn options_of_a_group_win_over_those_of_the_autoscaler() {
    let options = json!({
        "cluster.x-k8s.io/autoscaling-options-scaledownunneededtime": "90s",
        "autoscaler.gardener.cloud/scale-down-utilization-threshold": "0.25",
    });
    let stage = stage(&options).await;
    let mut client = stage.client().await;
    let minutes = |minutes: i64| Some(Duration { seconds: minutes * 60, nanos: 0 });
    let defaults = NodeGroupAutoscalingOptions {
        scale_down_utilization_threshold: 0.5,
        scale_down_unneeded_duration: minutes(10),
        scale_down_unready_duration: minutes(20),
        max_node_provision_duration: minutes(15),
        zero_or_max_node_scaling: true,
        ..NodeGroupAutoscalingOptions::default()
    };
    for id in [MCM, CAPI] {
        let request = NodeGroupAutoscalingOptionsRequest { id: id.to_owned(), defaults: Some(defaults) };
        let answer = client.node_group_get_options(request).await.unwrap().into_inner();
        let own = answer.node_group_autoscaling_options.unwrap();
        assert_eq!(own.scale_down_utilization_threshold, 0.25);
        assert_eq!(own.scale_down_unneeded_duration, Some(Duration { seconds: 90, nanos: 0 }));
        assert_eq!(own.scale_down_unneeded_time.unwrap().duration, 90_000_000_000, "before 1.35");
        assert_eq!(own.scale_down_unready_duration, minutes(20));
        assert!(own.zero_or_max_node_scaling);
    }
}

#[tokio::test]
async fn the_other_calls_answer_as_the_contract_allows() {
    let stage = stage(&json!({})).await;
    let mut client = stage.client().await;
    client.refresh(RefreshRequest {}).await.unwrap();
    client.cleanup(CleanupRequest {}).await.unwrap();
    let label = client.gpu_label(GpuLabelRequest {}).await.unwrap().into_inner().label;
    assert_eq!(label, "gardener.cloud/accelerator");
    let types = client.get_available_gpu_types(GetAvailableGpuTypesRequest {}).await.unwrap();
    assert!(types.into_inner().gpu_types.is_empty());
    let price = client.pricing_node_price(PricingNodePriceRequest::default()).await;
    refuses(price, Code::Unimplemented, "no prices");
    let price = client.pricing_pod_price(PricingPodPriceRequest::default()).await;
    refuses(price, Code::Unimplemented, "no prices");
    let request = NodeGroupAutoscalingOptionsRequest { id: MCM.to_owned(), defaults: None };
    refuses(client.node_group_get_options(request).await, Code::Unimplemented, "no options of its own");
    for (method, code) in [
        ("Refresh", "OK"),
        ("Cleanup", "OK"),
        ("GPULabel", "OK"),
        ("GetAvailableGPUTypes", "OK"),
        ("PricingNodePrice", "UNIMPLEMENTED"),
        ("PricingPodPrice", "UNIMPLEMENTED"),
        ("NodeGroupGetOptions", "UNIMPLEMENTED"),
    ] {
        assert!(stage.counted(method, code), "{method} {code}");
    }
}
