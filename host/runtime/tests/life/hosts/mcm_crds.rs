//! Machines under machine-controller-manager's own CRDs, which drop `status.machinist`.

use std::time::Duration;

use machinist_api::names::annotations;
use memory_api::wire::{Call, Record, table};
use serde_json::{Value, json};

use crate::fixture::stage::{Host, Stage, in_namespace};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn name(number: usize) -> String {
    format!("m-{number:02}")
}

/// A stage with these CRDs, and Machines of one deployment that have come to rest on it.
async fn at_rest(machines: usize) -> (Stage, Host) {
    let stage = Stage::set();
    stage.api.prune_own_status();
    let host = stage.host("host");
    for number in 0..machines {
        stage.add_machine_with(&name(number), |machine| {
            machine["metadata"]["labels"] = json!({ "name": "pool" });
        });
    }
    for number in 0..machines {
        stage.until_running(&name(number)).await;
    }
    tokio::time::sleep(11 * MINUTE).await;
    (stage, host)
}

fn is_event(call: &Call) -> bool {
    call.what == "events"
}

fn is_reported(call: &Call) -> bool {
    call.is_write() || is_event(call)
}

fn since(stage: &Stage, begun: usize, choose: impl Fn(&Call) -> bool) -> Vec<Record> {
    stage.wire.records_since(begun, choose)
}

#[tokio::test(start_paused = true)]
async fn a_host_that_starts_among_many_quiet_machines_writes_once_to_learn_what_the_crds_drop() {
    let (stage, host) = at_rest(40).await;
    host.end().await;
    let begun = stage.wire.len();
    let _next = stage.host("next");
    tokio::time::sleep(HOUR).await;
    let reported = since(&stage, begun, is_reported);
    assert!(reported.len() <= 1, "{} writes:\n{}", reported.len(), table(&reported));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_starts_among_machines_that_are_in_trouble_tells_what_it_finds_once() {
    let (stage, host) = at_rest(4).await;
    stage.report_ready(&name(0), "False");
    stage.until("failed", 12 * MINUTE, || stage.phase(&name(0)) == "Failed").await;
    stage.report_ready(&name(1), "False");
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(stage.phase(&name(1)), "Unknown", "it waits for its turn");
    host.end().await;
    let begun = stage.wire.len();
    let _next = stage.host("next");
    tokio::time::sleep(HOUR).await;
    let writes = since(&stage, begun, Call::is_write);
    assert!(writes.len() <= 1, "{}", table(&writes));
    let events = since(&stage, begun, is_event);
    assert!(events.len() <= 2, "{}\n{:?}", table(&events), stage.events(&name(1)));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_waits_for_its_turn_to_fail_is_reported_once_and_writes_nothing() {
    let (stage, _host) = at_rest(6).await;
    let begun = stage.wire.len();
    (0..6).for_each(|number| stage.report_ready(&name(number), "False"));
    tokio::time::sleep(12 * MINUTE).await;
    let in_phase = |phase: &str| (0..6).filter(|number| stage.phase(&name(*number)) == phase).count();
    assert_eq!((in_phase("Failed"), in_phase("Unknown")), (1, 5));
    let writes = since(&stage, begun, Call::is_write);
    assert!(writes.len() <= 7, "one for Unknown each, and one for Failed:\n{}", table(&writes));
    let events = since(&stage, begun, is_event);
    assert!(events.len() <= 12, "two each: {}", events.len());
    let quiet = stage.wire.len();
    tokio::time::sleep(2 * HOUR).await;
    let reported = since(&stage, quiet, is_reported);
    assert!(reported.is_empty(), "{}", table(&reported));
    // The next one's turn comes all the same.
    let failed = (0..6).map(name).find(|name| stage.phase(name) == "Failed").unwrap();
    stage.api.delete("machines", &in_namespace(&failed)).unwrap();
    stage.until_gone(&failed).await;
    stage.until("another one fails", MINUTE, || in_phase("Failed") == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_pods_a_budget_and_hooks_waits_for_each_without_endless_writes() {
    let (stage, host) = at_rest(1).await;
    let machine = in_namespace(&name(0));
    let annotate = |key: &str, value: Value| {
        stage
            .api
            .edit("machines", &machine, &json!({ "metadata": { "annotations": { key: value } } }))
            .unwrap();
    };
    let (drain, terminate) = (
        format!("{}backup", annotations::PRE_DRAIN_HOOK),
        format!("{}etcd", annotations::PRE_TERMINATE_HOOK),
    );
    annotate(&drain, json!("x"));
    annotate(&terminate, json!("x"));
    crate::deletions::add_pods_to(&stage, &name(0), &["web-0"]);
    crate::deletions::add_budget(&stage);
    tokio::time::sleep(SECOND).await;
    let begun = stage.wire.len();
    stage.api.delete("machines", &machine).unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(stage.api.count("pods"), 1);
    annotate(&drain, Value::Null);
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(stage.api.count("pods"), 1, "the budget holds it");
    host.end().await;
    let _next = stage.host("next");
    tokio::time::sleep(10 * MINUTE).await;
    let _kubelet = crate::deletions::kubelet(&stage);
    stage.api.delete("poddisruptionbudgets", "default/web").unwrap();
    stage.until("the pod goes", MINUTE, || stage.api.count("pods") == 0).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(stage.cloud.vms(), 1, "the second hook holds the VM");
    annotate(&terminate, Value::Null);
    stage.until_gone(&name(0)).await;
    stage.assert_nothing_left();
    let writes = since(&stage, begun, |call| {
        call.is_write() && !matches!(call.what.as_str(), "pods/eviction" | "machineclasses" | "secrets")
    });
    let events = since(&stage, begun, is_event);
    assert!(writes.len() <= 11, "{} writes:\n{}", writes.len(), table(&writes));
    assert!(events.len() <= 11, "{} Events: {:?}", events.len(), stage.events(&name(0)));
}
