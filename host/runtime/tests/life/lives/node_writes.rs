//! Capacity, finalizers and tokens on Machines and Nodes, and Nodes that two Machines name. Updates in place.

use std::time::Duration;

use machinist_core::driver::bootstrap_token::{id, secret_name};
use machinist_core::value::id::Uid;
use serde_json::{Value, json};

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, in_namespace};

const MINUTE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(2);
const LABEL: &str = "node.machine.sapcloud.io";

fn node(stage: &Stage) -> Value {
    stage.api.find("nodes", "a").unwrap()
}

fn label(stage: &Stage, name: &str, value: Option<&str>) {
    let labels = json!({ format!("{LABEL}/{name}"): value });
    stage.api.edit("nodes", "a", &json!({ "metadata": { "labels": labels } })).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_finalizer_goes_onto_the_node_with_the_first_write_and_returns_when_it_is_taken_off() {
    let (stage, _host) = Stage::running_for(SOON).await;
    let writes = stage.wire.records(|call| call.is_write() && call.what == "nodes");
    assert_eq!(writes.len(), 1, "{}", memory_api::wire::table(&writes));
    let ours = json!(["node.machine.sapcloud.io/machine-controller"]);
    assert_eq!(node(&stage)["metadata"]["finalizers"], ours);
    let others = json!({ "metadata": { "finalizers": ["example.com/theirs"] } });
    stage.api.edit("nodes", "a", &others).unwrap();
    tokio::time::sleep(SOON).await;
    let all = json!(["example.com/theirs", "node.machine.sapcloud.io/machine-controller"]);
    assert_eq!(node(&stage)["metadata"]["finalizers"], all);
}

#[tokio::test(start_paused = true)]
async fn virtual_capacity_of_a_class_reaches_its_nodes_follows_changes_and_goes() {
    let (stage, _host) = Stage::running_for(SOON).await;
    let give = |resources: Value| {
        let template = json!({ "nodeTemplate": { "virtualCapacity": resources } });
        stage.api.edit("machineclasses", &in_namespace("small"), &template).unwrap();
    };
    let noted =
        || node(&stage)["metadata"]["annotations"][format!("{LABEL}/last-applied-virtual-capacity")].clone();
    give(json!({ "example.com/slots": "4", "example.com/disks": "1000m" }));
    tokio::time::sleep(SOON).await;
    assert_eq!(node(&stage)["status"]["capacity"]["example.com/slots"], "4");
    assert!(noted().as_str().unwrap().contains("example.com/slots"));
    give(json!({ "example.com/slots": "5", "example.com/disks": null }));
    tokio::time::sleep(SOON).await;
    let capacity = node(&stage)["status"]["capacity"].clone();
    assert_eq!((&capacity["example.com/slots"], &capacity["example.com/disks"]), (&json!("5"), &Value::Null));
    give(json!({ "example.com/slots": null }));
    tokio::time::sleep(SOON).await;
    assert_eq!(node(&stage)["status"]["capacity"]["example.com/slots"], Value::Null);
    assert_eq!(noted(), Value::Null, "nothing is noted when nothing is applied");
    let begun = stage.wire.len();
    tokio::time::sleep(60 * MINUTE).await;
    assert!(stage.wire.records_since(begun, |call| call.is_write() && call.what == "nodes").is_empty());
}

#[tokio::test(start_paused = true)]
async fn how_long_a_node_took_to_join_is_stored_within_a_minute_and_not_before_the_machine_runs() {
    let (stage, _host) = Stage::running_for(SOON).await;
    let name = format!("{LABEL}/machine-join-duration");
    let stored = || stage.machine("a").unwrap()["metadata"]["annotations"][&name].clone();
    assert_eq!(stored(), Value::Null);
    tokio::time::sleep(MINUTE).await;
    assert_eq!(stored(), "0s");
}

#[tokio::test(start_paused = true)]
async fn a_token_stays_valid_with_the_same_value_when_the_time_to_join_is_raised() {
    let habits = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("Pending", SOON, || stage.phase("a") == "Pending").await;
    let token = || {
        let secrets = stage.api.all("secrets").into_iter();
        secrets.into_iter().find(|secret| secret["type"] == "bootstrap.kubernetes.io/token").unwrap()["data"]
            .clone()
    };
    let ends = |data: &Value| memory_api::decode(&data["expiration"]).parse::<jiff::Timestamp>().unwrap();
    let before = token();
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(ends(&token()), ends(&before), "it is valid for long enough");
    let raised = json!({ "spec": { "creationTimeout": "90m" } });
    stage.api.edit("machines", &in_namespace("a"), &raised).unwrap();
    tokio::time::sleep(SOON).await;
    let after = token();
    assert_eq!(after["token-secret"], before["token-secret"]);
    assert!(ends(&after).duration_since(ends(&before)) >= jiff::SignedDuration::from_mins(69));
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    assert!(stage.tokens().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_two_machines_claim_is_left_alone_until_one_of_them_is_gone() {
    let (stage, _host) = Stage::running_for(SOON).await;
    // Another Machine says that the Node is its own, and the Node cannot tell.
    let nameless = json!({ "spec": { "providerID": null }, "metadata": { "labels": { "node.gardener.cloud/machine-name": "x" } } });
    stage.add_machine_with("b", |machine| {
        machine["metadata"]["labels"] = json!({ "node": "a" });
        machine["spec"]["class"]["name"] = json!("none");
    });
    stage.api.edit("nodes", "a", &nameless).unwrap();
    let label = json!({ "metadata": { "labels": { "node.gardener.cloud/machine-name": "x" } } });
    stage.api.edit("nodes", "a", &label).unwrap();
    tokio::time::sleep(SOON).await;
    stage.report_ready("a", "False");
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!((stage.phase("a"), stage.reason("a")), ("Running".into(), "NodeContested".into()));
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(message.contains("claimed by b, x as well"), "{message}");
    stage.api.delete("machines", &in_namespace("b")).unwrap();
    stage.until("a is judged again", SOON, || stage.phase("a") == "Unknown").await;
}

#[tokio::test(start_paused = true)]
async fn a_node_is_emptied_handed_over_and_taken_back_when_its_update_succeeds() {
    let (stage, _host) = Stage::running_for(SOON).await;
    label(&stage, "candidate-for-update", Some("true"));
    let says = || stage.node_says("a", "InPlaceUpdate");
    stage.until("candidate", SOON, || says().1 == "CandidateForUpdate").await;
    label(&stage, "selected-for-update", Some("true"));
    stage.until("ready for the update", 10 * SOON, || says().1 == "ReadyForUpdate").await;
    assert_eq!(says().0, "True");
    assert_eq!(node(&stage)["spec"]["unschedulable"], true);
    assert_eq!(stage.phase("a"), "InPlaceUpdating");
    let operation = stage.machine("a").unwrap()["status"]["lastOperation"].clone();
    assert_eq!(operation["description"], "Machine a is undergoing an in-place update");
    assert_eq!((&operation["type"], &operation["state"]), (&json!("InPlaceUpdate"), &json!("Processing")));
    // Its health does not count.
    stage.report_ready("a", "False");
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(stage.phase("a"), "InPlaceUpdating");
    assert_eq!(stage.reported("a", "InPlaceUpdated").1, "Updating");
    stage.report_ready("a", "True");
    label(&stage, "update-result", Some("successful"));
    stage.until("running again", SOON, || stage.phase("a") == "Running").await;
    stage.until("told on the Node", SOON, || says().1 == "UpdateSuccessful").await;
    tokio::time::sleep(SOON).await;
    assert_eq!(
        (stage.reported("a", "InPlaceUpdated").0, stage.reported("a", "InPlaceUpdated").1),
        ("True".into(), "Updated".into())
    );
    let copied = stage.machine("a").unwrap()["status"]["conditions"].clone();
    let copied =
        copied.as_array().unwrap().iter().find(|one| one["type"] == "InPlaceUpdate").cloned().unwrap();
    assert_eq!(copied["reason"], "UpdateSuccessful");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_fails_says_why_and_after_the_health_time_out_the_machine_fails() {
    let (stage, _host) = Stage::running_for(SOON).await;
    label(&stage, "candidate-for-update", Some("true"));
    label(&stage, "selected-for-update", Some("true"));
    stage.until("updating", 10 * SOON, || stage.phase("a") == "InPlaceUpdating").await;
    stage
        .api
        .edit(
            "machines",
            &in_namespace("a"),
            &json!({ "metadata": { "annotations": { format!("{LABEL}/preserve"): "now" } } }),
        )
        .unwrap();
    let kept = || stage.machine("a").unwrap()["status"]["currentStatus"]["preserveExpiryTime"].clone();
    stage.until("preserved", SOON, || kept() != Value::Null).await;
    let why =
        json!({ "metadata": { "annotations": { format!("{LABEL}/update-failed-reason"): "no space" } } });
    stage.api.edit("nodes", "a", &why).unwrap();
    label(&stage, "update-result", Some("failed"));
    stage.until("failed", SOON, || stage.phase("a") == "InPlaceUpdateFailed").await;
    let description = stage.machine("a").unwrap()["status"]["lastOperation"]["description"].clone();
    assert!(description.as_str().unwrap().contains("no space"), "{description}");
    assert!(kept() != Value::Null, "an update does not end a preservation");
    assert_eq!(stage.reported("a", "InPlaceUpdated").1, "Failed");
    stage.until("to be replaced", 11 * MINUTE, || stage.phase("a") == "Failed").await;
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.phase("a"), "Failed", "although its Node is healthy");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_takes_too_long_has_failed() {
    let (stage, _host) = Stage::running_for(SOON).await;
    // What counts is that the labels are there.
    label(&stage, "candidate-for-update", Some("next-week"));
    label(&stage, "selected-for-update", Some("true"));
    stage.until("updating", 10 * SOON, || stage.phase("a") == "InPlaceUpdating").await;
    tokio::time::sleep(19 * MINUTE).await;
    assert_eq!(stage.phase("a"), "InPlaceUpdating");
    stage.until("failed", 2 * MINUTE, || stage.phase("a") == "InPlaceUpdateFailed").await;
    label(&stage, "update-result", Some("successful"));
    stage.until("late is better than never", SOON, || stage.phase("a") == "Running").await;
}

#[tokio::test(start_paused = true)]
async fn an_update_whose_labels_are_taken_off_does_not_begin() {
    let (stage, _host) = Stage::running_for(SOON).await;
    label(&stage, "selected-for-update", Some("true"));
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(
        (stage.phase("a"), stage.node_says("a", "InPlaceUpdate").1),
        ("Running".into(), String::new())
    );
    assert_eq!(node(&stage)["spec"]["unschedulable"], Value::Null);
}

/// The Secret of a token with this id, which belongs to a Machine of this uid.
fn token_of(id: &str, owner: &str) -> Value {
    json!({
        "metadata": {
            "name": secret_name(id).as_str(),
            "namespace": "kube-system",
            "annotations": { "machinist.dev/machine-uid": owner },
        },
        "type": "bootstrap.kubernetes.io/token",
    })
}

#[tokio::test(start_paused = true)]
async fn a_token_under_a_later_id_is_extended_and_deleted_also_when_the_first_id_is_free_again() {
    for is_free_again in [true, false] {
        let habits = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
        let stage = Stage::with(Habits::default(), habits);
        stage.add_class();
        stage.add_machine("a");
        let uid = Uid::new(stage.machine("a").unwrap()["metadata"]["uid"].as_str().unwrap());
        let [first, second] = [0, 1].map(|attempt| id(&uid, attempt));
        stage.api.create("secrets", &token_of(&first, "another")).unwrap();
        let _host = stage.host("host");
        stage.until("Pending", SOON, || stage.phase("a") == "Pending").await;
        let path = |id: &str| format!("kube-system/{}", secret_name(id));
        let ends = || {
            let secret = stage.api.find("secrets", &path(&second)).unwrap();
            memory_api::decode(&secret["data"]["expiration"]).parse::<jiff::Timestamp>().unwrap()
        };
        let before = ends();
        if is_free_again {
            stage.api.delete("secrets", &path(&first)).unwrap();
        }
        let raised = json!({ "spec": { "creationTimeout": "90m" } });
        stage.api.edit("machines", &in_namespace("a"), &raised).unwrap();
        tokio::time::sleep(SOON).await;
        assert!(ends().duration_since(before) >= jiff::SignedDuration::from_mins(69), "it is extended");
        stage.api.delete("machines", &in_namespace("a")).unwrap();
        stage.until_gone("a").await;
        assert!(stage.api.find("secrets", &path(&second)).is_none(), "it is deleted");
        let is_left = stage.api.find("secrets", &path(&first)).is_some();
        assert_eq!(is_left, !is_free_again, "that of another Machine is left alone");
    }
}
