//! Owners of Machines: adoption and release.

use std::time::Duration;

use serde_json::{Value, json};

use super::{edit, look, names, reported, set, stage, until_stable};
use crate::fixture::stage::{Stage, in_namespace, machine};

fn owner(stage: &Stage, name: &str) -> Value {
    let machine = stage.api.find("machines", &in_namespace(name)).unwrap_or_default();
    machine["metadata"]["ownerReferences"][0]["name"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_nobody_controls_is_adopted_and_let_go_when_its_label_changes() {
    let stage = stage(2);
    let mut orphan = machine("orphan");
    orphan["metadata"]["labels"] = json!({ "set": "pool" });
    stage.api.create("machines", &orphan).unwrap();
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    assert!(names(&stage).contains(&"orphan".to_owned()), "it counts");
    assert_eq!(owner(&stage, "orphan"), "pool");
    let reference =
        stage.api.find("machines", &in_namespace("orphan")).unwrap()["metadata"]["ownerReferences"][0]
            .clone();
    assert_eq!(
        (reference["controller"].clone(), reference["blockOwnerDeletion"].clone()),
        (json!(true), json!(true))
    );
    let patch = json!({ "metadata": { "labels": { "set": "other" } } });
    stage.api.edit("machines", &in_namespace("orphan"), &patch).unwrap();
    let is_free = || owner(&stage, "orphan").is_null() && super::running(&stage) == 3;
    stage.until("it is let go and another takes its place", Duration::from_secs(300), is_free).await;
}

#[tokio::test(start_paused = true)]
async fn machines_of_another_set_are_left_alone_and_the_overlap_is_reported() {
    let stage = stage(1);
    let mut other = set("other", 1);
    other["spec"]["selector"] = json!({ "matchLabels": { "set": "pool" } });
    other["spec"]["template"]["metadata"]["labels"] = json!({ "set": "pool" });
    let _host = stage.host("host");
    until_stable(&stage, 1).await;
    stage.api.create("machinesets", &other).unwrap();
    stage.until("both have one", Duration::from_secs(300), || super::running(&stage) == 2).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(super::running(&stage), 2);
    edit(&stage, &json!({ "spec": { "minReadySeconds": 1 } }));
    let is_reported = || {
        let (status, _, message) = reported(&stage, "Overlapping");
        status == "True" && message.contains("controlled by other")
    };
    stage.until("it is told", Duration::from_secs(60), is_reported).await;
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_being_deleted_adopts_nobody() {
    let stage = stage(1);
    let _host = stage.host("host");
    until_stable(&stage, 1).await;
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    let mut orphan = machine("orphan");
    orphan["metadata"]["labels"] = json!({ "set": "pool" });
    stage.api.create("machines", &orphan).unwrap();
    stage.until("the set is gone", Duration::from_secs(600), || look(&stage, "pool").is_none()).await;
    stage.until("the other runs", Duration::from_secs(60), || stage.phase("orphan") == "Running").await;
    assert!(owner(&stage, "orphan").is_null());
}
