//! Clouds that have no capacity for a class, and classes that are tried instead.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::{NAMESPACE, Stage, class, in_namespace};

const MINUTE: Duration = Duration::from_secs(60);

/// Classes `small` and `large`, and a deployment of `small` with these alternatives.
fn stage(alternatives: &str) -> Stage {
    let stage = Stage::set();
    let mut large = class();
    large["metadata"]["name"] = json!("large");
    stage.api.create("machineclasses", &large).unwrap();
    let deployment = json!({
        "metadata": {
            "name": "pool", "namespace": NAMESPACE,
            "annotations": { "machinist.dev/class-alternatives": alternatives },
        },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "name": "pool" } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": {
                "metadata": { "labels": { "name": "pool" } },
                "spec": { "class": { "kind": "MachineClass", "name": "small" } },
            },
        },
    });
    stage.api.create("machinedeployments", &deployment).unwrap();
    stage
}

/// How many Machines run, by their class.
fn running(stage: &Stage) -> BTreeMap<String, usize> {
    let mut running = BTreeMap::new();
    for machine in stage.api.all("machines") {
        if machine["status"]["currentStatus"]["phase"] == "Running" {
            let class = machine["spec"]["class"]["name"].as_str().unwrap_or_default().to_owned();
            *running.entry(class).or_default() += 1;
        }
    }
    running
}

fn codes(stage: &Stage) -> Vec<Value> {
    stage
        .api
        .all("machines")
        .iter()
        .map(|machine| machine["status"]["lastOperation"]["errorCode"].clone())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn where_a_class_is_sold_out_the_next_one_is_taken_and_nothing_is_rolled() {
    let stage = stage("large");
    stage.cloud.sell_out(&["small"]);
    let _host = stage.host("host");
    stage.until("two run", 5 * MINUTE, || running(&stage) == [("large".to_owned(), 2)].into()).await;
    assert_eq!((stage.api.count("machines"), stage.cloud.vms()), (2, 2));
    // There is room again: those that run stay, and those to come are of the first class once its rest is over.
    stage.cloud.sell_out(&[]);
    tokio::time::sleep(15 * MINUTE).await;
    assert_eq!(running(&stage), [("large".to_owned(), 2)].into());
    assert_eq!(stage.api.count("machinesets"), 1);
    let more = json!({ "spec": { "replicas": 3 } });
    stage.api.edit("machinedeployments", &in_namespace("pool"), &more).unwrap();
    let both = [("large".to_owned(), 2), ("small".to_owned(), 1)].into();
    stage.until("one of the first class", 5 * MINUTE, || running(&stage) == both).await;
}

#[tokio::test(start_paused = true)]
async fn a_class_that_comes_later_is_tried_at_once() {
    let stage = stage("later");
    stage.cloud.sell_out(&["small"]);
    let _host = stage.host("host");
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(running(&stage), BTreeMap::new());
    let mut later = class();
    later["metadata"]["name"] = json!("later");
    stage.api.create("machineclasses", &later).unwrap();
    stage.until("two run", MINUTE, || running(&stage) == [("later".to_owned(), 2)].into()).await;
}

#[tokio::test(start_paused = true)]
async fn where_all_are_sold_out_machines_stay_and_say_so_for_the_autoscaler() {
    let stage = stage("large, gone");
    stage.cloud.sell_out(&["small", "large"]);
    let _host = stage.host("host");
    tokio::time::sleep(8 * MINUTE).await;
    assert_eq!(codes(&stage), [json!("ResourceExhausted"), json!("ResourceExhausted")]);
    let names: Vec<Value> =
        stage.api.all("machines").iter().map(|machine| machine["metadata"]["name"].clone()).collect();
    tokio::time::sleep(MINUTE).await;
    let later: Vec<Value> =
        stage.api.all("machines").iter().map(|machine| machine["metadata"]["name"].clone()).collect();
    assert_eq!(names, later, "nobody is made anew while all rest");
    stage.cloud.sell_out(&[]);
    stage.until("two run", 60 * MINUTE, || running(&stage).values().sum::<usize>() == 2).await;
    assert_eq!((stage.api.count("machines"), stage.cloud.vms()), (2, 2));
    let says = || {
        let set = stage.api.all("machinesets").remove(0).to_string();
        set.contains("InvalidOption") && set.contains("left out: gone")
    };
    stage.until("the set says which alternative is not there", MINUTE, says).await;
}

#[tokio::test(start_paused = true)]
async fn without_alternatives_nobody_is_replaced_for_want_of_capacity() {
    let stage = stage("");
    stage.cloud.sell_out(&["small"]);
    let _host = stage.host("host");
    tokio::time::sleep(MINUTE).await;
    let names: Vec<Value> =
        stage.api.all("machines").iter().map(|machine| machine["metadata"]["name"].clone()).collect();
    tokio::time::sleep(15 * MINUTE).await;
    let later: Vec<Value> =
        stage.api.all("machines").iter().map(|machine| machine["metadata"]["name"].clone()).collect();
    assert_eq!((names.len(), names), (2, later));
}
