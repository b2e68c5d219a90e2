//! Nodes that no Machine answers for.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, in_namespace};
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
    stage.add_machine("a");
    stage.until_running("a").await;
    add_node(&stage, "stray");
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(meta(&stage, "stray")["annotations"][MARK], Value::Null, "it may still get its Machine");
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(meta(&stage, "stray")["annotations"][MARK], "1");
    assert_eq!(meta(&stage, "stray")["finalizers"], json!(["theirs"]));
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
