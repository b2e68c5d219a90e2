//! Nodes without a Machine.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::{NAMESPACE, Stage, in_namespace};
use memory_api::wire::Call;

const MINUTE: Duration = Duration::from_secs(60);
const MARK: &str = "node.machine.sapcloud.io/not-managed-by-mcm";
const FINALIZER: &str = "node.machine.sapcloud.io/machine-controller";

fn add_node(stage: &Stage, name: &str) {
    let node = json!({
        "metadata": { "name": name, "finalizers": ["theirs", FINALIZER] },
        "spec": { "providerID": format!("other:///{name}") },
    });
    stage.api.create("nodes", &node).unwrap();
}

fn meta(stage: &Stage, name: &str) -> Value {
    stage.api.find("nodes", name).unwrap()["metadata"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_node_without_a_machine_is_marked_after_its_time_and_is_written_once() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    add_node(&stage, "stray");
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(meta(&stage, "stray")["annotations"][MARK], Value::Null, "it may still get its Machine");
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(meta(&stage, "stray")["annotations"][MARK], "1");
    assert_eq!(meta(&stage, "stray")["finalizers"], json!(["theirs"]));
    assert_eq!(stage.events("stray"), ["NodeNotManaged"]);
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.wire.records(|call: &Call| call.is_write() && call.name == "stray").len(), 1);
    assert_eq!(meta(&stage, "a")["annotations"][MARK], Value::Null, "the Node of a Machine is not");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_claims_a_marked_node_takes_the_mark_off() {
    let stage = Stage::set();
    let _host = stage.host("host");
    add_node(&stage, "stray");
    stage.until("marked", 30 * MINUTE, || meta(&stage, "stray")["annotations"][MARK] == "1").await;
    let machine = json!({
        "metadata": { "name": "late", "namespace": NAMESPACE, "labels": { "node": "stray" } },
        "spec": { "class": { "kind": "MachineClass", "name": "small" }, "providerID": "other:///stray" },
    });
    stage.api.create("machines", &machine).unwrap();
    stage.until("not marked", MINUTE, || meta(&stage, "stray")["annotations"][MARK] == Value::Null).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_machine_and_vm_were_removed_by_hand_goes_when_somebody_deletes_it_though_it_is_young() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(MINUTE).await;
    let bare = json!({ "metadata": { "finalizers": [] } });
    stage.api.edit("machines", &in_namespace("a"), &bare).unwrap();
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until("the Machine is gone", MINUTE, || stage.machine("a").is_none()).await;
    stage.cloud.lose("a");
    let others = json!({ "metadata": { "finalizers": ["theirs", FINALIZER] } });
    stage.api.edit("nodes", "a", &others).unwrap();
    stage.api.delete("nodes", "a").unwrap();
    let begun = stage.wire.elapsed();
    let is_released = || meta(&stage, "a")["finalizers"] == json!(["theirs"]);
    stage.until("released", 5 * MINUTE, is_released).await;
    let took = stage.wire.elapsed() - begun;
    assert!(took >= MINUTE && took <= 2 * MINUTE, "at a second look: {took:?}");
    assert_eq!(meta(&stage, "a")["annotations"][MARK], Value::Null);
    tokio::time::sleep(MINUTE).await;
    assert!(stage.events("a").contains(&"NodeReleased".to_owned()), "{:?}", stage.events("a"));
    let event = stage.api.all("events").into_iter().find(|event| event["reason"] == "NodeReleased").unwrap();
    assert_eq!([&event["metadata"]["namespace"], &event["regarding"]["kind"]], ["default", "Node"]);
    stage.api.edit("nodes", "a", &bare).unwrap();
    assert!(stage.api.find("nodes", "a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_node_of_another_vm_that_is_being_deleted_makes_room_for_the_machine_that_waits_for_its_name() {
    let stage = Stage::set();
    let old = json!({
        "metadata": { "name": "a", "finalizers": [FINALIZER] }, "spec": { "providerID": "sim:///vm-0" },
    });
    stage.api.create("nodes", &old).unwrap();
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("it waits", MINUTE, || stage.reason("a") == "NodeNameTaken").await;
    stage.api.delete("nodes", "a").unwrap();
    stage.until("it is free", 5 * MINUTE, || stage.api.find("nodes", "a").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn while_everything_is_held_no_node_is_marked() {
    let stage = Stage::set();
    let map = json!({ "metadata": { "name": "machinist-freeze", "namespace": NAMESPACE } });
    stage.api.create("configmaps", &map).unwrap();
    let _host = stage.host("host");
    add_node(&stage, "stray");
    tokio::time::sleep(120 * MINUTE).await;
    assert_eq!(meta(&stage, "stray")["annotations"][MARK], Value::Null);
    stage.api.delete("configmaps", &in_namespace("machinist-freeze")).unwrap();
    stage.until("marked", 3 * MINUTE, || meta(&stage, "stray")["annotations"][MARK] == "1").await;
}
