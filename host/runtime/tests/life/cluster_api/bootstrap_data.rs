//! Bootstrap data that changes while a create may still make a VM, or that a cloud refuses.

use std::time::Duration;

use machinist_api::infrastructure::names::annotations;
use machinist_core::driver::error::{Code, DriverError};
use memory_api::encode;
use memory_api::wire::{Handling, table};
use serde_json::json;

use super::objects::{
    MACHINES, add_cluster, add_machine, empty, find, is_provisioned, of_team, provided, says,
};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::Stage;

const LIMIT: Duration = Duration::from_secs(600);
const LAG: Duration = Duration::from_secs(8);
const OTHER: &[u8] = b"#cloud-config with another token";

fn change_data(stage: &Stage) {
    let data = json!({ "data": { "value": encode(OTHER) } });
    stage.api.edit("secrets", &of_team("vm-data"), &data).unwrap();
}

/// The user data of all creates, in their order.
fn sent(stage: &Stage) -> Vec<Vec<u8>> {
    let creates = stage.cloud.secrets().into_iter().filter(|(call, _)| *call == "create");
    creates.map(|(_, brought)| brought.user_data.unwrap_or_default()).collect()
}

/// The first create of the machine `vm` is done, and its answer is lost. Then the data changes.
async fn changed_after_a_lost_answer(habits: Habits) -> (Stage, crate::fixture::stage::Host) {
    let stage = empty(habits);
    let host = stage.host_without_target("host");
    add_cluster(&stage);
    let mut is_first = true;
    stage.wire.plan(move |call| {
        let loses = call.calls("create") && std::mem::take(&mut is_first);
        if loses { Handling::LoseAnswer } else { Handling::Pass }
    });
    add_machine(&stage, "vm");
    stage.until("the VM is made", LIMIT, || stage.cloud.vms() == 1).await;
    change_data(&stage);
    (stage, host)
}

#[tokio::test(start_paused = true)]
async fn the_vm_of_a_create_with_other_data_is_adopted_and_the_key_is_never_sent_with_other_data() {
    for keeps_keys in [true, false] {
        let habits = Habits { keeps_keys, reads_lag: LAG, initializes: false };
        let (stage, _host) = changed_after_a_lost_answer(habits).await;
        stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
        assert_eq!(stage.cloud.changed_parameters(), 0, "{}", table(&stage.wire.records(|_| true)));
        assert_eq!(sent(&stage), [b"#cloud-config"], "with the data that it began with");
        stage.assert_one_vm_each(1);
        let is_reported = || stage.events("vm").contains(&"BootstrapDataChanged".to_owned());
        stage.until("an Event says that its data is not that of today", LIMIT, is_reported).await;
    }
}

/// The next process knows of the first create by the object alone.
#[tokio::test(start_paused = true)]
async fn data_that_changes_while_no_host_runs_is_noticed() {
    let habits = Habits { keeps_keys: true, reads_lag: LAG, initializes: false };
    let stage = empty(habits);
    let host = stage.host_without_target("host");
    add_cluster(&stage);
    stage.wire.plan(|call| if call.calls("create") { Handling::Crash(true) } else { Handling::Pass });
    add_machine(&stage, "vm");
    stage.wire.crashed().await;
    drop(host);
    change_data(&stage);
    stage.wire.heal();
    let _next = stage.host_without_target("next");
    let waits = || says(&stage, "vm", "Ready") == ("False".to_owned(), "BootstrapDataChanged".to_owned());
    stage.until("it says so", LIMIT, waits).await;
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    assert_eq!(stage.cloud.changed_parameters(), 0);
    stage.assert_one_vm_each(1);
}

/// Such as data that is too large for the cloud, which somebody shortens.
#[tokio::test(start_paused = true)]
async fn data_that_the_cloud_has_refused_is_replaced_and_the_vm_gets_the_other() {
    let stage = empty(Habits { keeps_keys: true, reads_lag: LAG, initializes: false });
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    stage.wire.plan(|call| {
        let refused = || DriverError::new(Code::InvalidArgument, "the user data has 300000 bytes");
        if call.calls("create") { Handling::Answer(refused().into()) } else { Handling::Pass }
    });
    add_machine(&stage, "vm");
    let is_refused = || says(&stage, "vm", "Ready") == ("False".to_owned(), "InvalidSpec".to_owned());
    stage.until("it says so", LIMIT, is_refused).await;
    let message = find(&stage, "vm").unwrap()["status"]["conditions"].to_string();
    assert!(message.contains("300000 bytes"), "{message}");
    stage.wire.plan(|_| Handling::Pass);
    let before = find(&stage, "vm").unwrap()["metadata"]["annotations"][annotations::BOOTSTRAP_DATA].clone();
    change_data(&stage);
    stage.until("the VM is provided", 10 * LIMIT, || is_provisioned(&stage, "vm")).await;
    assert_eq!(sent(&stage).last().map(Vec::as_slice), Some(OTHER));
    assert_eq!(stage.cloud.changed_parameters(), 0);
    let after = &find(&stage, "vm").unwrap()["metadata"]["annotations"][annotations::BOOTSTRAP_DATA];
    assert!(before.is_string() && after.is_string() && before != *after, "{before}, {after}");
    stage.assert_one_vm_each(1);
}

/// Data is needed once. Whatever happens to it later changes nothing, and nobody reads it.
#[tokio::test(start_paused = true)]
async fn data_that_changes_after_the_vm_is_stored_changes_nothing() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    let begun = stage.wire.len();
    change_data(&stage);
    stage.api.edit(MACHINES, &of_team("vm"), &json!({ "metadata": { "labels": { "a": "b" } } })).unwrap();
    tokio::time::sleep(LIMIT).await;
    let reads = stage.wire.records_since(begun, |call| call.verb == "GET" && call.name == "vm-data");
    assert!(reads.is_empty(), "{}", table(&reads));
    assert_eq!(says(&stage, "vm", "Ready").1, "InstanceRunning");
}
