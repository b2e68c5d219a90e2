//! Machines that cannot be decoded affect nothing else.

use std::time::Duration;

use serde_json::json;

use super::{Census, edit, look, names, reported, scale, stage, until_stable};
use crate::fixture::stage::{Stage, in_namespace};
use memory_api::Propagation;
use memory_api::wire::Call;

const MINUTE: Duration = Duration::from_secs(60);

/// Taints that are no list: the definitions let it in that an older version left behind.
fn spoil(stage: &Stage, name: &str) {
    let taints = json!({ "spec": { "nodeTemplate": { "spec": { "taints": "odd" } } } });
    stage.api.edit("machines", &in_namespace(name), &taints).unwrap();
}

fn correct(stage: &Stage, name: &str) {
    let template = json!({ "spec": { "nodeTemplate": { "spec": null } } });
    stage.api.edit("machines", &in_namespace(name), &template).unwrap();
}

async fn until_reported(stage: &Stage, name: &str) {
    let says = || {
        let (_, reason, message) = reported(stage, "Ready");
        reason == "UnreadableMachine" && message.contains(name)
    };
    stage.until("the set names it", 5 * MINUTE, says).await;
}

fn is_in_place(stage: &Stage) -> bool {
    let class = stage.api.find("machineclasses", &in_namespace("small")).unwrap();
    class["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_cannot_be_decoded_any_more_counts_and_is_left_alone() {
    let stage = stage(3);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    let spoilt = names(&stage)[0].clone();
    let vm = stage.machine(&spoilt).unwrap()["spec"]["providerID"].as_str().unwrap().to_owned();
    spoil(&stage, &spoilt);
    until_reported(&stage, &spoilt).await;
    // A listing shows it too, and cannot decode it either.
    stage.api.compact();
    stage.api.drop_watches("host", Some("machines"));
    let census = Census::of(&stage);
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!((names(&stage).len(), stage.cloud.vms()), (3, 3));
    scale(&stage, 5);
    stage.until("two more", 5 * MINUTE, || names(&stage).len() == 5).await;
    scale(&stage, 2);
    stage.until("three less", 10 * MINUTE, || names(&stage).len() == 2).await;
    tokio::time::sleep(60 * MINUTE).await;
    assert!(names(&stage).contains(&spoilt) && stage.cloud.has(&vm), "{:?}", names(&stage));
    census.assert_no_name_twice();
    correct(&stage, &spoilt);
    until_stable(&stage, 2).await;
    assert_eq!(reported(&stage, "Ready").1, "AllMachinesAvailable");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_starts_beside_a_machine_that_it_cannot_decode_does_its_work() {
    let stage = stage(3);
    let host = stage.host("host");
    until_stable(&stage, 3).await;
    host.end().await;
    let spoilt = names(&stage)[2].clone();
    spoil(&stage, &spoilt);
    let _next = stage.host("next");
    until_reported(&stage, &spoilt).await;
    // The class of a Machine with a VM stays.
    stage.api.delete("machineclasses", &in_namespace("small")).unwrap();
    let begun = stage.wire.len();
    tokio::time::sleep(60 * MINUTE).await;
    assert!(is_in_place(&stage) && stage.cloud.vms() == 3 && names(&stage).len() == 3);
    let writes = stage.wire.records_since(begun, Call::is_write).len();
    assert!(writes < 20, "nothing is repeated: {writes} writes\n{}", stage.wire.trace());
}

#[tokio::test(start_paused = true)]
async fn a_set_replaces_others_while_one_of_its_machines_cannot_be_decoded() {
    let stage = stage(3);
    let host = stage.host("host");
    until_stable(&stage, 3).await;
    host.end().await;
    let all = names(&stage);
    spoil(&stage, &all[0]);
    let _next = stage.host("next");
    until_reported(&stage, &all[0]).await;
    for name in &all[1..] {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
    }
    let is_replaced =
        || names(&stage).len() == 3 && names(&stage).iter().filter(|name| all.contains(name)).count() == 1;
    stage.until("both are replaced", 10 * MINUTE, is_replaced).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((names(&stage).len(), stage.cloud.vms()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_deleted_waits_for_a_machine_that_cannot_be_decoded_and_names_it() {
    let stage = stage(2);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    let spoilt = names(&stage)[0].clone();
    spoil(&stage, &spoilt);
    until_reported(&stage, &spoilt).await;
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    stage.until("the other is gone", 10 * MINUTE, || names(&stage) == [spoilt.clone()]).await;
    tokio::time::sleep(10 * MINUTE).await;
    let (_, reason, message) = reported(&stage, "Ready");
    assert!(reason == "Deleting" && message.contains(&spoilt), "{reason} {message}");
    correct(&stage, &spoilt);
    stage.until("it is gone", 10 * MINUTE, || look(&stage, "pool").is_none()).await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_set_that_cannot_be_decoded_does_nothing_and_others_go_on() {
    let stage = stage(2);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    let invalid = json!({ "spec": { "replicas": 4, "selector": { "matchLabels": "odd" } } });
    edit(&stage, &invalid);
    let mut other = super::set("other", 1);
    other["spec"]["template"]["metadata"]["labels"] = json!({ "set": "other" });
    stage.api.create("machinesets", &other).unwrap();
    stage.until("the other has its Machine", 5 * MINUTE, || names(&stage).len() == 3).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(
        names(&stage).len(),
        3,
        "the old number does not count any more, and the new one is not known"
    );
    edit(&stage, &json!({ "spec": { "selector": { "matchLabels": { "set": "pool" } } } }));
    stage.until("it goes on", 5 * MINUTE, || names(&stage).len() == 5).await;
}

#[tokio::test(start_paused = true)]
async fn no_vm_is_made_of_a_class_that_cannot_be_decoded_any_more_and_those_of_it_can_go() {
    let stage = stage(2);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    let class = in_namespace("small");
    stage.api.edit("machineclasses", &class, &json!({ "nodeTemplate": { "capacity": "odd" } })).unwrap();
    scale(&stage, 3);
    let says = |machine: &str| {
        let machine = stage.machine(machine).unwrap();
        machine["status"]["lastOperation"]["description"].as_str().unwrap_or_default().to_owned()
    };
    let is_held = || names(&stage).iter().any(|name| says(name).contains("cannot be decoded"));
    stage.until("the third says why", 5 * MINUTE, is_held).await;
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!((names(&stage).len(), stage.cloud.vms()), (3, 2));
    scale(&stage, 1);
    stage.until("two are gone", 10 * MINUTE, || names(&stage).len() == 1).await;
    assert_eq!(stage.cloud.vms(), 1, "an older copy serves deletions");
    scale(&stage, 2);
    stage.api.edit("machineclasses", &class, &json!({ "nodeTemplate": null })).unwrap();
    until_stable(&stage, 2).await;
    assert_eq!(stage.cloud.vms(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_that_leaves_its_machines_leaves_one_that_cannot_be_decoded_too() {
    let stage = stage(3);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    spoil(&stage, &names(&stage)[0]);
    until_reported(&stage, &names(&stage)[0]).await;
    stage.api.delete_with("machinesets", &in_namespace("pool"), Propagation::Orphan).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.api.collect_garbage();
    stage.until("the set is gone", 5 * MINUTE, || look(&stage, "pool").is_none()).await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!((names(&stage).len(), stage.cloud.vms()), (3, 3));
    let deletions = stage.wire.records(|call| call.verb == "DELETE" && call.what == "machines");
    assert_eq!(deletions.len(), 0, "{}", memory_api::wire::table(&deletions));
}
