//! Pauses, and `clusterctl move`: objects that are made elsewhere with new uids and without a status.

use std::time::Duration;

use machinist_api::infrastructure::names::annotations;
use memory_api::wire::{Handling, table};
use serde_json::{Value, json};

use super::objects::{MACHINES, OWNER_CLUSTERS, add_machine, find, is_provisioned, of_team, provided, says};
use crate::fixture::stage::Stage;

const LIMIT: Duration = Duration::from_secs(120);

fn pause(stage: &Stage, paused: bool) {
    stage.api.edit(OWNER_CLUSTERS, &of_team("c"), &json!({ "spec": { "paused": paused } })).unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_reaches_the_cloud_while_the_cluster_is_paused_and_a_deletion_continues_after_it() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    pause(&stage, true);
    let is_paused = || says(&stage, "vm", "Paused") == ("True".to_owned(), "Paused".to_owned());
    stage.until("it says so", LIMIT, is_paused).await;
    assert_eq!(says(&stage, "vm", "Ready").0, "True", "a pause changes nothing of the VM");
    let begun = stage.wire.len();
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    add_machine(&stage, "other");
    tokio::time::sleep(Duration::from_secs(6 * 3_600)).await;
    let calls = stage.wire.records_since(begun, |call| call.verb == "CALL");
    assert!(calls.is_empty(), "{}", table(&calls));
    pause(&stage, false);
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    stage.until("the other is made", LIMIT, || is_provisioned(&stage, "other")).await;
    assert_eq!(stage.cloud.vms(), 1);
}

/// The reconcile of a deletion reads a Secret for seconds, and the pause comes meanwhile.
#[tokio::test(start_paused = true)]
async fn a_pause_in_the_middle_of_a_reconcile_stops_its_next_call() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    stage.wire.plan(|call| {
        let is_slow = call.verb == "GET" && call.what == "secrets";
        if is_slow { Handling::Delay(Duration::from_secs(10)) } else { Handling::Pass }
    });
    let begun = stage.wire.len();
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let reads = stage.wire.records_since(begun, |call| call.verb == "GET" && call.what == "secrets");
    assert_eq!(reads.len(), 1, "the reconcile has begun");
    pause(&stage, true);
    tokio::time::sleep(LIMIT).await;
    let calls = stage.wire.records_since(begun, |call| call.verb == "CALL");
    assert!(calls.is_empty(), "{}", table(&calls));
    assert_eq!(says(&stage, "vm", "Paused").0, "True");
    pause(&stage, false);
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_annotation_pauses_one_object() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    let paused = |value: Value| json!({ "metadata": { "annotations": { annotations::PAUSED: value } } });
    stage.api.edit(MACHINES, &of_team("vm"), &paused(json!(""))).unwrap();
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    tokio::time::sleep(LIMIT).await;
    assert_eq!((stage.cloud.vms(), says(&stage, "vm", "Paused").0.as_str()), (1, "True"));
    stage.api.edit(MACHINES, &of_team("vm"), &paused(Value::Null)).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}

/// As `clusterctl move` does it: pause, make the copy, mark the original, delete it, take its finalizers off.
#[tokio::test(start_paused = true)]
async fn a_moved_machine_keeps_its_vm_and_gets_its_status_back() {
    let (stage, host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    pause(&stage, true);
    tokio::time::sleep(LIMIT).await;
    let old = find(&stage, "vm").unwrap();
    let marked = json!({ "metadata": { "annotations": { annotations::DELETE_FOR_MOVE: "" } } });
    stage.api.edit(MACHINES, &of_team("vm"), &marked).unwrap();
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    // The cluster of the original may go on by mistake.
    pause(&stage, false);
    tokio::time::sleep(LIMIT).await;
    assert_eq!(stage.cloud.vms(), 1, "an original that has moved takes no VM along");
    stage.api.edit(MACHINES, &of_team("vm"), &json!({ "metadata": { "finalizers": null } })).unwrap();
    stage.until("the original is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    drop(host);

    let _host = stage.host_without_target("elsewhere");
    let mut copy = old.clone();
    let metadata = copy["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp"] {
        metadata.remove(field);
    }
    copy.as_object_mut().unwrap().remove("status");
    stage.api.create(MACHINES, &copy).unwrap();
    stage.until("the copy is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    let new = find(&stage, "vm").unwrap();
    assert_ne!(new["metadata"]["uid"], old["metadata"]["uid"]);
    assert_eq!(new["metadata"]["annotations"], old["metadata"]["annotations"], "the key moves");
    assert_eq!(new["status"]["failureDomain"], "zone-a");
    stage.assert_one_vm_each(1);
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}
