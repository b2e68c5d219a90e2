//! Invalid sets, and sets that cannot reach their number.

use std::time::Duration;

use memory_api::wire::Fate;
use serde_json::json;

use super::{conditions, edit, look, names, reported, set, until_stable};
use crate::fixture::stage::Stage;

/// A set that is not as it should be.
async fn refused(change: serde_json::Value, reason: &str, words: &str) -> Stage {
    let stage = Stage::set();
    let mut object = set("pool", 3);
    merge(&mut object, &change);
    stage.api.create("machinesets", &object).unwrap();
    {
        let _host = stage.host("host");
        stage.until(reason, Duration::from_secs(60), || reported(&stage, "Ready").1 == reason).await;
        tokio::time::sleep(Duration::from_secs(600)).await;
    }
    let (status, _, message) = reported(&stage, "Ready");
    assert!(status == "False" && message.contains(words), "{message}");
    assert!(names(&stage).is_empty(), "nothing is made");
    assert!(stage.events("pool").contains(&reason.to_owned()), "{:?}", stage.events("pool"));
    stage
}

fn merge(object: &mut serde_json::Value, change: &serde_json::Value) {
    match (object, change) {
        (serde_json::Value::Object(object), serde_json::Value::Object(change)) => {
            for (field, change) in change {
                merge(object.entry(field.clone()).or_insert(json!(null)), change);
            }
        }
        (object, change) => *object = change.clone(),
    }
}

#[tokio::test(start_paused = true)]
async fn bad_input_makes_nothing_and_says_what_to_fix() {
    let everything = json!({ "spec": { "selector": { "matchLabels": null } } });
    drop(refused(everything, "SelectsEverything", "selector").await);
    let mismatch = json!({ "spec": { "selector": { "matchLabels": { "set": "other" } } } });
    drop(refused(mismatch, "SelectorMismatch", "template").await);
    let classless = json!({ "spec": { "template": { "spec": { "class": null } } } });
    drop(refused(classless, "ClassNotNamed", "spec.template.spec.class.name").await);
    let expression = json!({ "key": "set", "operator": "Like", "values": ["pool"] });
    let garbled = json!({ "spec": { "selector": { "matchExpressions": [expression] } } });
    drop(refused(garbled, "InvalidMachineSet", "Like").await);
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_fixed_goes_on_at_once() {
    let classless = json!({ "spec": { "template": { "spec": { "class": null } } } });
    let stage = refused(classless, "ClassNotNamed", "class").await;
    let _host = stage.host("next");
    let class = json!({ "kind": "MachineClass", "name": "small" });
    edit(&stage, &json!({ "spec": { "template": { "spec": { "class": class } } } }));
    until_stable(&stage, 3).await;
}

#[tokio::test(start_paused = true)]
async fn machines_of_a_class_that_is_missing_wait_for_it_and_can_be_deleted_until_then() {
    let stage = Stage::empty();
    stage.api.create("machinesets", &set("pool", 2)).unwrap();
    let _host = stage.host("host");
    stage.until("they are made", Duration::from_secs(60), || names(&stage).len() == 2).await;
    super::scale(&stage, 1);
    stage.until("one goes", Duration::from_secs(60), || names(&stage).len() == 1).await;
    stage.add_class();
    until_stable(&stage, 1).await;
    assert_eq!(stage.cloud.vms(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_machines_is_reported_and_not_flooded() {
    let stage = super::stage(50);
    stage.wire.plan(|call| {
        if call.verb == "POST" && call.what == "machines" { Fate::Refuse(403) } else { Fate::Pass }
    });
    let host = stage.host("host");
    let is_reported = || conditions(&stage).get("ReplicaFailure").is_some_and(|why| why == "FailedCreate");
    stage.until("it is told", Duration::from_secs(60), is_reported).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let asked = stage.wire.records(|call| call.verb == "POST" && call.what == "machines").len();
    assert!(asked < 120, "{asked} requests in an hour");
    assert!(stage.events("pool").contains(&"FailedCreate".to_owned()), "{:?}", stage.events("pool"));
    assert_eq!(look(&stage, "pool").unwrap()["status"]["lastOperation"]["state"], "Failed");
    stage.wire.heal();
    super::scale(&stage, 5);
    until_stable(&stage, 5).await;
    assert!(conditions(&stage).is_empty());
    drop(host);
}
