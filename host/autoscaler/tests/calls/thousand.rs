//! A thousand Machines: each call answers within a second, and without a request to the API server.

use std::time::{Duration, Instant};

use machinist_autoscaler::messages::ExternalGrpcNode;
use memory_api::wire::Call;
use serde_json::{Value, json};

use crate::fixture::{Client, Stage, delete, group_of, groups, increase, instances, node, target_size};
use crate::objects::{CAPI, add_md, capi_id_of, limits, machines, replicas};

const MACHINES: usize = 1_000;
const SECOND: Duration = Duration::from_secs(1);

/// A MachineDeployment of machine-controller-manager's kind with a thousand Machines, made by hand: nobody rolls it.
fn add_large_pool(api: &memory_api::ApiServer) -> Vec<String> {
    let meta = |name: &str, owner: Option<(&str, &Value)>| {
        let reference = owner.map(|(kind, owner)| {
            json!([{
                "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": kind, "controller": true,
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            }])
        });
        json!({ "name": name, "namespace": "shoot", "labels": { "name": "large" }, "ownerReferences": reference })
    };
    let template =
        json!({ "metadata": { "labels": { "name": "large" } }, "spec": { "class": { "name": "small" } } });
    let selector = json!({ "matchLabels": { "name": "large" } });
    let mut metadata = meta("large", None);
    metadata["annotations"] = limits(2_000);
    // The host's controllers leave it alone while it is being deleted by nobody and paused.
    let spec = json!({ "replicas": MACHINES, "selector": selector, "template": template, "paused": true });
    let pool = api.create("machinedeployments", &json!({ "metadata": metadata, "spec": spec })).unwrap();
    let set = json!({
        "metadata": meta("large-1", Some(("MachineDeployment", &pool))),
        "spec": { "replicas": MACHINES, "selector": selector, "template": template },
    });
    let set = api.create("machinesets", &set).unwrap();
    let add = |number: usize| {
        let name = format!("large-{number:04}");
        let mut metadata = meta(&name, Some(("MachineSet", &set)));
        metadata["labels"]["node"] = json!(format!("node-{name}"));
        let spec = json!({ "class": { "name": "small" }, "providerID": format!("sim:///region/{name}") });
        api.create("machines", &json!({ "metadata": metadata, "spec": spec })).unwrap();
        let labels = json!({ "node.gardener.cloud/machine-name": name });
        let metadata = json!({ "name": format!("node-{name}"), "labels": labels });
        let spec = json!({ "providerID": format!("sim:///zone/{name}") });
        api.create("nodes", &json!({ "metadata": metadata, "spec": spec })).unwrap();
        name
    };
    (0..MACHINES).map(add).collect()
}

/// Runs a call and checks its time.
async fn timed<T>(what: &str, call: impl Future<Output = T>) -> T {
    let begin = Instant::now();
    let answer = call.await;
    assert!(begin.elapsed() < SECOND, "{what} took {:?}", begin.elapsed());
    answer
}

/// Asks for the group of each Node, one after the other, as an autoscaler does in each round.
async fn groups_of_all(client: &mut Client, nodes: Vec<ExternalGrpcNode>, group: &str) -> Duration {
    let begin = Instant::now();
    for node in nodes {
        let name = node.name.clone();
        assert_eq!(timed(&name, group_of(client, node)).await, group, "{name}");
    }
    begin.elapsed()
}

#[tokio::test]
async fn a_thousand_machines_of_machine_controller_managers_kind_are_answered_within_a_second() {
    const ID: &str = "mcm/shoot/large";
    let mut names = Vec::new();
    let stage = Stage::over(|api| names = add_large_pool(api)).await;
    let mut client = stage.client().await;
    assert_eq!(machines(&stage.api).len(), MACHINES);
    let begun = stage.wire.len();
    assert_eq!(timed("NodeGroups", groups(&mut client)).await.len(), 1);
    assert_eq!(timed("NodeGroupTargetSize", target_size(&mut client, ID)).await, 1_000);
    let all = timed("NodeGroupNodes", instances(&mut client, ID)).await;
    assert_eq!(all.len(), MACHINES);
    assert_eq!(all[0].id, format!("sim:///zone/{}", names[0]));
    let nodes =
        names.iter().map(|name| node(&format!("sim:///zone/{name}"), &format!("node-{name}"))).collect();
    let took = groups_of_all(&mut client, nodes, ID).await;
    eprintln!("NodeGroupForNode for {MACHINES} Nodes took {took:?}");
    let is_read = |call: &Call| matches!(call.verb, "LIST" | "GET") && call.what.starts_with("machine");
    assert!(stage.wire.records_since(begun, is_read).is_empty(), "the caches answer");
    timed("NodeGroupIncreaseSize", increase(&mut client, ID, 1)).await.unwrap();
    assert_eq!(replicas(&stage.api, ID), 1_001);
}

#[tokio::test]
async fn a_thousand_machines_of_cluster_api_are_answered_within_a_second() {
    let names: Vec<String> = (0..MACHINES).map(|number| format!("m-{number:04}")).collect();
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let stage = Stage::over(|api| add_md(api, &texts, &limits(2_000))).await;
    let mut client = stage.client().await;
    assert_eq!(timed("NodeGroupNodes", instances(&mut client, CAPI)).await.len(), MACHINES);
    let nodes = names.iter().map(|name| node(&capi_id_of(name), &format!("node-{name}"))).collect();
    let took = groups_of_all(&mut client, nodes, CAPI).await;
    eprintln!("NodeGroupForNode for {MACHINES} Nodes took {took:?}");
    let ids: Vec<String> = names.iter().take(50).map(|name| capi_id_of(name)).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    timed("NodeGroupDeleteNodes", delete(&mut client, CAPI, &ids)).await.unwrap();
    assert_eq!(replicas(&stage.api, CAPI), 950);
}
