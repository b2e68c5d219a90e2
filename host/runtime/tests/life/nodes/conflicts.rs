//! Two Machines for one Node or one VM, labels that are removed, and invalid settings.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::{NAMESPACE, Stage, in_namespace};
use memory_api::wire::Call;

const SOON: Duration = Duration::from_secs(2);
const MINUTE: Duration = Duration::from_secs(60);

fn vm_of(stage: &Stage, name: &str) -> Value {
    stage.machine(name).unwrap()["spec"]["providerID"].clone()
}

/// Machine `twin` with the Node of `a`, and with its VM.
fn add_twin(stage: &Stage) {
    let twin = json!({
        "metadata": { "name": "twin", "namespace": NAMESPACE, "labels": { "node": "a" } },
        "spec": { "class": { "kind": "MachineClass", "name": "small" }, "providerID": vm_of(stage, "a") },
    });
    stage.api.create("machines", &twin).unwrap();
}

async fn until_both_say(stage: &Stage, reason: &str) {
    for name in ["a", "twin"] {
        stage.until("it says so", MINUTE, || stage.reported(name, "Contested").1 == reason).await;
    }
    // Events follow what they are about.
    tokio::time::sleep(SOON).await;
}

fn edit(stage: &Stage, name: &str, change: &Value) {
    stage.api.edit("machines", &in_namespace(name), change).unwrap();
}

fn label(stage: &Stage, name: &str) -> Value {
    stage.machine(name).unwrap()["metadata"]["labels"]["node"].clone()
}

#[tokio::test(start_paused = true)]
async fn two_machines_with_one_vm_both_say_so_and_neither_is_failed_or_loses_its_node() {
    let (stage, _host) = Stage::running_for(SOON).await;
    add_twin(&stage);
    until_both_say(&stage, "VmContested").await;
    for name in ["a", "twin"] {
        assert!(stage.events(name).contains(&"VmContested".to_owned()), "{:?}", stage.events(name));
    }
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.cloud.vms()), ("Running", 1));
    assert_ne!(stage.phase("twin"), "Failed");
    let node = stage.api.find("nodes", "a").unwrap();
    assert_eq!(node["metadata"]["labels"]["node.gardener.cloud/machine-name"], "a");
    let writes = stage.wire.records(|call: &Call| call.is_write()).len();
    assert!(writes < 45, "nobody fights: {writes} writes");
    stage.report_ready("a", "Unknown");
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.reason("a").as_str()), ("Unknown", "VmContested"));
}

#[tokio::test(start_paused = true)]
async fn the_vm_that_another_machine_lives_on_outlives_a_deletion_that_ends_once_its_owner_is_known() {
    for (deleted, kept) in [("twin", "a"), ("a", "twin")] {
        let (stage, _host) = Stage::running_for(SOON).await;
        let vm = vm_of(&stage, "a").as_str().unwrap().to_owned();
        add_twin(&stage);
        until_both_say(&stage, "VmContested").await;
        stage.api.delete("machines", &in_namespace(deleted)).unwrap();
        stage.until("held", MINUTE, || stage.reason(deleted) == "VmContested").await;
        edit(&stage, deleted, &json!({ "metadata": { "labels": { "force-deletion": "True" } } }));
        tokio::time::sleep(300 * MINUTE).await;
        let (_, _, message) = stage.reported(deleted, "Ready");
        assert!(message.contains("take spec.providerID off"), "{message}");
        assert!(stage.cloud.has(&vm) && stage.machine(deleted).is_some(), "{deleted} is held");
        let node = stage.api.find("nodes", "a").unwrap();
        assert_ne!(node["spec"]["unschedulable"], true, "nobody cordons");
        // As the message says: the other one is deleted too.
        stage.api.delete("machines", &in_namespace(kept)).unwrap();
        stage.until_gone(deleted).await;
        stage.until_gone(kept).await;
        tokio::time::sleep(MINUTE).await;
        assert_eq!(stage.cloud.vms(), 0);
        assert!(stage.api.find("nodes", "a").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_liar_goes_without_the_vm_once_its_provider_id_is_taken_off() {
    let (stage, _host) = Stage::running_for(SOON).await;
    add_twin(&stage);
    until_both_say(&stage, "VmContested").await;
    stage.api.delete("machines", &in_namespace("twin")).unwrap();
    stage.until("held", MINUTE, || stage.reason("twin") == "VmContested").await;
    edit(&stage, "twin", &json!({ "spec": { "providerID": null } }));
    stage.until_gone("twin").await;
    stage.until("a is told", MINUTE, || stage.reported("a", "Contested").1 == "NotContested").await;
    assert_eq!((stage.phase("a").as_str(), stage.cloud.vms()), ("Running", 1));
    assert!(stage.api.find("nodes", "a").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_label_is_taken_off_gets_it_back_and_no_other_takes_its_node() {
    let (stage, _host) = Stage::running_for(SOON).await;
    add_twin(&stage);
    until_both_say(&stage, "VmContested").await;
    for status in [
        json!({}),
        json!({ "currentStatus": { "phase": "Sleeping" }, "lastOperation": { "type": "Reticulate" } }),
    ] {
        stage.api.edit_status("machines", &in_namespace("a"), &json!({ "status": status })).unwrap();
        edit(&stage, "a", &json!({ "metadata": { "labels": { "node": null } } }));
        stage.until("it is back", SOON, || label(&stage, "a") == "a").await;
        stage.until_running("a").await;
    }
    let node = stage.api.find("nodes", "a").unwrap();
    assert_eq!(node["metadata"]["labels"]["node.gardener.cloud/machine-name"], "a");
}

#[tokio::test(start_paused = true)]
async fn a_label_that_no_node_tells_comes_from_the_driver() {
    let (stage, _host) = Stage::running_for(SOON).await;
    let marks = json!({ "metadata": { "finalizers": [] } });
    stage.api.edit("nodes", "a", &marks).unwrap();
    stage.api.delete("nodes", "a").unwrap();
    edit(&stage, "a", &json!({ "metadata": { "labels": { "node": null } } }));
    stage.until("it is back", SOON, || label(&stage, "a") == "a").await;
}

#[tokio::test(start_paused = true)]
async fn a_running_machine_with_settings_that_nobody_understands_says_so_and_goes_by_the_flags() {
    let (stage, _host) = Stage::running_for(SOON).await;
    edit(&stage, "a", &json!({ "spec": { "maxEvictRetries": -5, "drainTimeout": "soon" } }));
    stage.until("it says so", SOON, || stage.reported("a", "Valid").0 == "False").await;
    let (_, reason, message) = stage.reported("a", "Valid");
    assert!(
        reason == "NotUnderstood" && message.contains("maxEvictRetries must not be negative"),
        "{message}"
    );
    assert!(message.contains("drainTimeout is no duration"), "{message}");
    assert!(stage.events("a").contains(&"NotUnderstood".to_owned()));
    assert_eq!(stage.phase("a"), "Running");
    edit(&stage, "a", &json!({ "spec": { "maxEvictRetries": 5, "drainTimeout": null } }));
    stage.until("taken back", SOON, || stage.reported("a", "Valid").0 == "True").await;
    edit(&stage, "a", &json!({ "spec": { "maxEvictRetries": -1 } }));
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
}
