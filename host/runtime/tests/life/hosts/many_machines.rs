//! Many Machines at a time.

use std::time::Duration;

use serde_json::json;

use crate::fixture::stage::{Stage, class, in_namespace, secret};
use memory_api::wire::{Call, Handling};

#[tokio::test(start_paused = true)]
async fn two_hundred_machines_at_once_get_one_vm_each_and_go_again() {
    let stage = Stage::set();
    let _host = stage.host("host");
    let names: Vec<String> = (0..200).map(|number| format!("m{number:03}")).collect();
    let begun = stage.wire.elapsed();
    for name in &names {
        stage.add_machine(name);
    }
    let are_running = || names.iter().all(|name| stage.phase(name) == "Running");
    stage.until("all are Running", Duration::from_secs(60), are_running).await;
    // The cloud and the boot take 520 ms; nothing waits in line behind others.
    let took = stage.wire.elapsed() - begun;
    assert!(took < Duration::from_millis(800), "{took:?}");
    stage.assert_one_vm_each(200);
    let writes = stage.wire.records(Call::is_write).len();
    assert!(writes <= 200 * 7 + 2, "{writes} writes for 200 Machines, a class and a Secret");
    let creates = stage.wire.records(|call| call.verb == "CALL");
    assert_eq!(creates.len(), 200, "one call of the driver each");

    let begun = stage.wire.elapsed();
    for name in &names {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
    }
    let are_gone = || stage.api.all("machines").is_empty();
    stage.until("all are gone", Duration::from_secs(60), are_gone).await;
    let took = stage.wire.elapsed() - begun;
    assert!(took < Duration::from_secs(3), "{took:?}");
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_host_that_dies_among_two_hundred_creates_leaves_one_vm_each() {
    let stage = Stage::set();
    let host = stage.host("host");
    for number in 0..200 {
        stage.add_machine(&format!("m{number}"));
    }
    tokio::time::sleep(Duration::from_millis(12)).await;
    drop(host);
    assert!(stage.cloud.made().len() > 50, "the crash is in the middle of the creates");
    let _next = stage.host("next");
    let are_running = || (0..200).all(|number| stage.phase(&format!("m{number}")) == "Running");
    stage.until("all are Running", Duration::from_secs(60), are_running).await;
    stage.assert_one_vm_each(200);
    assert!(stage.tokens().is_empty());
}

/// Creates take so long from here on, unless something else is planned.
const SLOW: Duration = Duration::from_secs(240);

/// So many Machines whose creates wait for a slow cloud.
async fn wait_for_a_slow_cloud(stage: &Stage, machines: usize) {
    let is_create = |call: &Call| call.verb == "CALL" && call.what == "create";
    stage.wire.plan(move |call| if is_create(call) { Handling::Delay(SLOW) } else { Handling::Pass });
    for number in 0..machines {
        stage.add_machine(&format!("slow-{number:04}"));
    }
    let calls = || stage.wire.records(is_create).len();
    stage.until("the cloud is asked", Duration::from_secs(20), || calls() > machines.min(1_000) - 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_not_ready_makes_its_machine_unknown_while_1100_creates_wait_for_a_slow_cloud() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    wait_for_a_slow_cloud(&stage, 1_100).await;
    stage.report_ready("a", "False");
    stage.until("it is Unknown", Duration::from_secs(3), || stage.phase("a") == "Unknown").await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_goes_out_while_1000_creates_wait() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    wait_for_a_slow_cloud(&stage, 1_000).await;
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until("it is gone", Duration::from_secs(5), || stage.machine("a").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn creates_beyond_the_room_for_calls_come_when_there_is_room_again_and_make_one_vm_each() {
    let stage = Stage::set();
    let _host = stage.host("host");
    wait_for_a_slow_cloud(&stage, 1_100).await;
    tokio::time::sleep(SLOW / 2).await;
    let creates = stage.wire.records(|call| call.what == "create").len();
    assert_eq!(creates, 1_000, "memory is bounded");
    let begun = |number: usize| stage.phase(&format!("slow-{number:04}")) == "Running";
    // The last come last: a look that begins with them ends at once.
    stage.until("all are Running", 3 * SLOW, || (0..1_100).rev().all(begun)).await;
    stage.assert_one_vm_each(1_100);
}

#[tokio::test(start_paused = true)]
async fn with_one_slot_for_reconciles_a_slow_create_stops_nobody() {
    let stage = Stage::set();
    stage.settings.lock().unwrap().concurrent_reconciles = 1;
    let _host = stage.host("host");
    wait_for_a_slow_cloud(&stage, 1).await;
    stage.wire.heal();
    stage.add_running("a").await;
    assert_ne!(stage.phase("slow-0000"), "Running");
    stage.until("both are", 2 * SLOW, || stage.phase("slow-0000") == "Running").await;
}

#[tokio::test(start_paused = true)]
async fn an_account_with_1100_creates_that_wait_leaves_another_account_of_the_same_driver_alone() {
    let stage = Stage::set();
    let mut other = secret();
    other["metadata"]["name"] = json!("other-account");
    stage.api.create("secrets", &other).unwrap();
    let mut class = class();
    class["metadata"]["name"] = json!("elsewhere");
    class["secretRef"]["name"] = json!("other-account");
    stage.api.create("machineclasses", &class).unwrap();
    let _host = stage.host("host");
    wait_for_a_slow_cloud(&stage, 1_100).await;
    stage.wire.heal();
    stage.add_machine_with("a", |machine| machine["spec"]["class"]["name"] = json!("elsewhere"));
    stage.until("a is Running", Duration::from_secs(5), || stage.phase("a") == "Running").await;
    assert_eq!(stage.phase("slow-1099"), "", "the first account still waits");
}
