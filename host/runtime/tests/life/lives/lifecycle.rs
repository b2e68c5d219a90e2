//! From creation to deletion, without any failure.

use std::time::Duration;

use machinist_api::names;
use serde_json::{Value, json};

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, class, in_namespace};
use memory_api::wire::{Call, Handling, table};

/// Requests that are made for the Machine `a`, not for its class and Secret.
fn for_machine(call: &Call) -> bool {
    call.is_request() && !matches!(call.name.as_str(), "small" | "account")
}

#[tokio::test(start_paused = true)]
async fn a_machine_lives_from_creation_to_running_to_deletion_with_one_vm_and_leaves_nothing() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let requests = stage.wire.records(for_machine);
    let writes = requests.iter().filter(|record| record.call.is_write()).count();
    assert!(writes <= 7 && requests.len() <= 10, "{writes} writes:\n{}", table(&requests));
    let calls = stage.wire.records(|call| call.verb == "CALL");
    assert_eq!(calls.len(), 1, "one create and no look before it:\n{}", table(&calls));
    assert_running(&stage);

    stage.api.delete("machines", &in_namespace("a")).unwrap();
    let begun = stage.wire.len();
    stage.until_gone("a").await;
    let writes = stage.wire.records_since(begun, |call| call.is_write() && for_machine(call));
    assert!(writes.len() <= 8, "{}", table(&writes));
    stage.assert_nothing_left();
    stage.assert_one_vm_each(1);
    let failed = stage.wire.records(|_| true);
    let is_refused = |code: u16| code >= 400 && code != 404;
    let failed: Vec<_> = failed.into_iter().filter(|record| record.code.is_some_and(is_refused)).collect();
    assert!(failed.is_empty(), "nothing is refused:\n{}", table(&failed));
}

fn assert_running(stage: &Stage) {
    let machine = stage.machine("a").unwrap();
    assert_eq!(machine["metadata"]["labels"]["node"], "a");
    assert_eq!(machine["metadata"]["finalizers"], json!([names::finalizers::MACHINE]));
    assert_eq!(machine["metadata"]["annotations"][names::annotations::PRIORITY], "3");
    assert_eq!(machine["spec"]["providerID"], "sim:///vm-1");
    let status = &machine["status"];
    assert_eq!(status["lastOperation"]["type"], "Create");
    assert_eq!(status["lastOperation"]["state"], "Successful");
    assert_eq!(status["conditions"][1]["type"], "Ready");
    assert_eq!(stage.reason("a"), "NodeHealthy");
    let node = stage.api.find("nodes", "a").unwrap();
    assert_eq!(node["metadata"]["labels"]["pool"], "a");
    assert_eq!(node["metadata"]["labels"][names::labels::MACHINE_NAME], "a");
    assert_eq!(node["spec"]["taints"], json!([{ "key": "pool", "value": "a", "effect": "NoSchedule" }]));
    assert_eq!(stage.tokens(), Vec::<String>::new(), "the token is gone with the join");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_before_it_is_ready_costs_one_more_write() {
    let ready_after = Duration::from_secs(5);
    let stage = Stage::with(Habits::default(), KubeletHabits { ready_after, ..KubeletHabits::default() });
    stage.add_class();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let requests = stage.wire.records(for_machine);
    let writes = requests.iter().filter(|record| record.call.is_write()).count();
    assert!(writes <= 8 && requests.len() <= 10, "{writes} writes:\n{}", table(&requests));
    assert_running(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_cloud_with_a_second_step_and_without_keys_gives_one_vm_as_well() {
    let habits = Habits { keeps_keys: false, reads_lag: Duration::from_secs(8), initializes: true };
    let stage = Stage::with(habits, KubeletHabits::default());
    stage.add_class();
    let _host = stage.host("host");
    stage.add_running("a").await;
    assert_eq!(stage.wire.records(|call| call.calls("initialize")).len(), 1);
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    // Looks of this cloud do not show the VM, so nobody waits until it has stopped.
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.assert_one_vm_each(1);
    stage.assert_nothing_left();
}

/// Each of these Machines has come to rest: how long its Node took to join is noted on it ten minutes after, with its
/// last write.
async fn at_rest(stage: &Stage, machines: &[&str]) {
    let begun = stage.wire.len();
    for name in machines {
        let is_noted = || {
            let machine = stage.machine(name).unwrap_or_default();
            machine["metadata"]["annotations"][names::annotations::JOIN_DURATION].is_string()
        };
        stage.until("the join is noted", Duration::from_secs(605), is_noted).await;
    }
    // Echoes of what was done last.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let writes = stage.wire.records_since(begun, |call| call.is_write() && call.what != "events");
    assert!(writes.len() <= machines.len(), "one each:\n{}", table(&writes));
}

/// Every write of a host in an hour from now.
/// Apart from the look at each VM, once an hour.
async fn writes_within_an_hour(stage: &Stage) -> String {
    let begun = stage.wire.len();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let looks = stage.wire.records_since(begun, |call| call.what == "get-status");
    assert!(looks.len() <= stage.api.all("machines").len(), "{}", table(&looks));
    let is_work = |call: &Call| call.is_write() || call.verb == "CALL" || call.what == "events";
    table(&stage.wire.records_since(begun, |call| is_work(call) && call.what != "get-status"))
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_runs_is_left_alone_for_an_hour() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    at_rest(&stage, &["a"]).await;
    assert_eq!(writes_within_an_hour(&stage).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_drops_our_own_status_is_not_written_to_again_and_again() {
    let stage = Stage::set();
    stage.api.prune_own_status();
    let _host = stage.host("host");
    stage.add_running("a").await;
    assert_eq!(stage.machine("a").unwrap()["status"]["machinist"], Value::Null);
    let requests = stage.wire.records(for_machine);
    let writes = requests.iter().filter(|record| record.call.is_write()).count();
    assert!(writes <= 7, "{}", table(&requests));
    at_rest(&stage, &["a"]).await;
    assert_eq!(writes_within_an_hour(&stage).await, "");
    // Another Machine, and a new host that has not learnt it yet.
    stage.add_running("b").await;
    at_rest(&stage, &["b"]).await;
    drop(_host);
    let begun = stage.wire.len();
    let _host = stage.host("next");
    // It tries once, and has learnt it.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let tries = stage.wire.records_since(begun, Call::is_write);
    assert!(tries.len() <= 1, "{}", table(&tries));
    assert_eq!(writes_within_an_hour(&stage).await, "");
}

#[tokio::test(start_paused = true)]
async fn heartbeats_of_nodes_cause_no_writes() {
    let heartbeat = Some(Duration::from_secs(10));
    let stage = Stage::with(Habits::default(), KubeletHabits { heartbeat, ..KubeletHabits::default() });
    stage.add_class();
    let _host = stage.host("host");
    stage.add_running("a").await;
    at_rest(&stage, &["a"]).await;
    let before = stage.api.find("nodes", "a").unwrap();
    assert_eq!(writes_within_an_hour(&stage).await, "");
    let after = stage.api.find("nodes", "a").unwrap();
    assert_ne!(before["status"], after["status"], "there were heartbeats");
}

#[tokio::test(start_paused = true)]
async fn class_and_secret_are_held_while_they_are_used_and_let_go_afterwards() {
    let finalizers = |stage: &Stage, plural: &str, name: &str| {
        let object = stage.api.find(plural, &in_namespace(name)).unwrap_or_default();
        object["metadata"]["finalizers"].clone()
    };
    let stage = Stage::set();
    let _host = stage.host("host");
    let limit = Duration::from_secs(2);
    let held = json!([names::finalizers::SECRET]);
    stage.until("a class holds its Secret", limit, || finalizers(&stage, "secrets", "account") == held).await;
    assert_eq!(finalizers(&stage, "machineclasses", "small"), Value::Null, "nobody uses the class");
    stage.add_machine("a");
    let held = json!([names::finalizers::MACHINE]);
    stage
        .until("a Machine holds its class", limit, || finalizers(&stage, "machineclasses", "small") == held)
        .await;
    stage.until_running("a").await;
    // Deletion of all three at once: each goes after its user.
    for (plural, name) in [("secrets", "account"), ("machineclasses", "small"), ("machines", "a")] {
        stage.api.delete(plural, &in_namespace(name)).unwrap();
    }
    let path = in_namespace("account");
    stage.until("all are gone", Duration::from_secs(10), || stage.api.find("secrets", &path).is_none()).await;
    assert!(stage.api.find("machineclasses", &in_namespace("small")).is_none());
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_host_that_starts_where_all_is_well_writes_nothing() {
    let stage = Stage::set();
    let mut other = class();
    other["metadata"]["name"] = json!("other");
    stage.api.create("machineclasses", &other).unwrap();
    let host = stage.host("host");
    let names = ["a", "b", "z"];
    for name in names {
        stage.add_machine(name);
    }
    let patch = json!({ "spec": { "class": { "name": "other" } } });
    stage.api.edit("machines", &in_namespace("z"), &patch).unwrap();
    for name in names {
        stage.until_running(name).await;
    }
    at_rest(&stage, &names).await;
    host.end().await;
    // Every kind is the last to be listed once, so that a user is the last that is known.
    for late in ["machines", "machineclasses", "secrets", "nodes"] {
        let begun = stage.wire.len();
        let mut has_failed = false;
        stage.wire.plan(move |call| {
            let fails = call.verb == "LIST" && call.what == late && !has_failed;
            has_failed |= fails;
            if fails { Handling::Refuse(500) } else { Handling::Pass }
        });
        let host = stage.host(&format!("late-{late}"));
        stage.until("the caches are complete", Duration::from_secs(5), || host.is_synced()).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let writes = stage.wire.records_since(begun, Call::is_write);
        assert!(writes.is_empty(), "{late}:\n{}", table(&writes));
        host.end().await;
    }
}
