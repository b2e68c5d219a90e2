//! The resources of Nodes in the status of templates.

use std::time::Duration;

use machinist_core::driver::{Architecture, NodeResources};
use memory_api::wire::table;
use serde_json::{Value, json};

use super::objects::{CLUSTERS, TEAM, TEMPLATES, add_cluster, empty, of_team};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::Stage;

const LIMIT: Duration = Duration::from_secs(60);

fn resources(cpu: &str, architecture: Option<Architecture>) -> NodeResources {
    let all = [("cpu", cpu), ("memory", "8Gi"), ("nvidia.com/gpu", "1")];
    NodeResources {
        resources: all.into_iter().map(|(name, is)| (name.to_owned(), is.to_owned())).collect(),
        architecture,
        operating_system: Some("linux".to_owned()),
    }
}

fn add_template(stage: &Stage, name: &str) {
    let template = json!({
        "metadata": {
            "name": name, "namespace": TEAM, "labels": { "cluster.x-k8s.io/cluster-name": "c" },
        },
        "spec": { "template": { "spec": { "provider": "sim", "providerSpec": { "size": 1 } } } },
    });
    stage.api.create(TEMPLATES, &template).unwrap();
}

fn status(stage: &Stage, name: &str) -> Value {
    stage.api.find(TEMPLATES, &of_team(name)).unwrap_or_default()["status"].clone()
}

fn asked(stage: &Stage) -> usize {
    stage.wire.records(|call| call.what == "node-capacity").len()
}

fn writes(stage: &Stage) -> usize {
    stage.wire.records(|call| call.is_write() && call.name == "workers").len()
}

#[tokio::test(start_paused = true)]
async fn a_template_gets_the_resources_of_a_node_with_one_question_and_one_write() {
    let stage = empty(Habits::default());
    stage.cloud.tell_capacity(resources("2", Some(Architecture::Arm64)));
    let host = stage.host_without_target("host");
    add_cluster(&stage);
    add_template(&stage, "workers");
    stage.until("it has resources", LIMIT, || status(&stage, "workers")["capacity"]["cpu"] == "2").await;
    assert_eq!(
        status(&stage, "workers"),
        json!({
            "capacity": { "cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "1" },
            "nodeInfo": { "architecture": "arm64", "operatingSystem": "linux" },
        })
    );
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    let calls = stage.wire.records(|call| call.what == "node-capacity" || call.name == "workers");
    assert_eq!((asked(&stage), writes(&stage)), (1, 1), "{}", table(&calls));

    // The next process asks once more, and writes nothing.
    drop(host);
    let _host = stage.host_without_target("next");
    stage.until("the next process has asked", LIMIT, || asked(&stage) == 2).await;
    tokio::time::sleep(LIMIT).await;
    assert_eq!(writes(&stage), 1);

    // A later version of the driver knows better, and a resource is gone.
    let mut fewer = resources("4", None);
    fewer.resources.remove("nvidia.com/gpu");
    stage.cloud.tell_capacity(fewer);
    stage.report_plugins(&["sim"]);
    stage.until("the change is there", LIMIT, || status(&stage, "workers")["capacity"]["cpu"] == "4").await;
    assert_eq!(
        status(&stage, "workers"),
        json!({
            "capacity": { "cpu": "4", "memory": "8Gi" },
            "nodeInfo": { "operatingSystem": "linux" },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn without_the_interface_nobody_is_asked_and_a_status_of_others_stays() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    add_template(&stage, "workers");
    let by_hand = json!({ "status": { "capacity": { "cpu": "1" } } });
    stage.api.edit_status(TEMPLATES, &of_team("workers"), &by_hand).unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((asked(&stage), writes(&stage)), (0, 0));
    assert_eq!(status(&stage, "workers"), by_hand["status"]);
}

/// A template may come before its cluster.
#[tokio::test(start_paused = true)]
async fn missing_credentials_are_awaited_and_their_cluster_brings_them() {
    let stage = empty(Habits::default());
    stage.cloud.tell_capacity(resources("2", None));
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    let identity = |name: &str| json!({ "spec": { "identityRef": { "kind": "Secret", "name": name } } });
    stage.api.edit(CLUSTERS, &of_team("c"), &identity("later")).unwrap();
    tokio::time::sleep(LIMIT).await;
    add_template(&stage, "workers");
    stage.until("it says so", LIMIT, || stage.events("workers") == ["CapacityWaits"]).await;
    assert_eq!(asked(&stage), 0);
    stage.api.edit(CLUSTERS, &of_team("c"), &identity("account")).unwrap();
    stage.until("it has resources", LIMIT, || status(&stage, "workers")["capacity"]["cpu"] == "2").await;
}
