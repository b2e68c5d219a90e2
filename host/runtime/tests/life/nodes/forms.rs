//! Clouds whose Nodes have their provider ids in another form than the driver.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Host, NAMESPACE, Stage, in_namespace};

const SOON: Duration = Duration::from_secs(2);
const MINUTE: Duration = Duration::from_secs(60);

/// A stage on which Machine `a` runs.
async fn running() -> (Stage, Host) {
    let habits = KubeletHabits { has_own_ids: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    let host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(SOON).await;
    let on_node = stage.api.find("nodes", "a").unwrap()["spec"]["providerID"].clone();
    assert_eq!([&on_node, &vm_of(&stage)], [&json!("sim://zone-1/vm-1"), &json!("sim:///vm-1")]);
    (stage, host)
}

fn vm_of(stage: &Stage) -> Value {
    stage.machine("a").unwrap()["spec"]["providerID"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_host_that_takes_over_finds_each_machine_with_its_node() {
    let (stage, host) = running().await;
    host.end().await;
    let _other = stage.host("other");
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.reported("a", "Healthy").0.as_str()), ("Running", "True"));
    let reported = stage.events("a");
    assert!(!reported.iter().any(|reason| reason == "NodeNameTaken"), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn an_illness_of_the_node_is_one_of_its_machine() {
    let (stage, _host) = running().await;
    stage.report_ready("a", "False");
    stage.until("it is ill", SOON, || stage.phase("a") == "Unknown").await;
    stage.report_ready("a", "True");
    stage.until_running("a").await;
}

#[tokio::test(start_paused = true)]
async fn a_label_that_is_taken_off_is_put_back_by_the_vm_of_the_node() {
    let (stage, _host) = running().await;
    let unmarked = json!({ "metadata": { "labels": { "node.gardener.cloud/machine-name": null } } });
    stage.api.edit("nodes", "a", &unmarked).unwrap();
    let change = json!({ "metadata": { "labels": { "node": null } } });
    stage.api.edit("machines", &in_namespace("a"), &change).unwrap();
    stage
        .until("it is back", SOON, || stage.machine("a").unwrap()["metadata"]["labels"]["node"] == "a")
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_made_by_hand_with_the_nodes_form_of_the_id_has_the_same_vm() {
    let (stage, _host) = running().await;
    let twin = json!({
        "metadata": { "name": "twin", "namespace": NAMESPACE, "labels": { "node": "a" } },
        "spec": { "class": { "kind": "MachineClass", "name": "small" }, "providerID": "sim://zone-1/vm-1" },
    });
    stage.api.create("machines", &twin).unwrap();
    for name in ["a", "twin"] {
        stage.until("it says so", MINUTE, || stage.reported(name, "Contested").1 == "VmContested").await;
    }
    stage.api.delete("machines", &in_namespace("twin")).unwrap();
    stage.until("held", MINUTE, || stage.reason("twin") == "VmContested").await;
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.cloud.vms()), ("Running", 1));
    assert!(stage.machine("twin").is_some() && stage.api.find("nodes", "a").is_some());
}
