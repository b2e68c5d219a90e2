//! Few calls of the cloud and few Events in a Machine's life: rate limits are the scarcest resource of a cloud.

use std::time::Duration;

use jiff::SignedDuration;
use machinist_core::driver::error::{Code, DriverError};
use memory_api::wire::{Call, Handling, table};

use crate::deletions::{add_pods_to, kubelet};
use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, in_namespace};
use crate::owners::sets::{set, until_stable};

const MINUTE: Duration = Duration::from_secs(60);

fn is_call(call: &Call) -> bool {
    call.verb == "CALL"
}

/// The driver's functions that were called since the wire was so long.
fn called_since(stage: &Stage, begun: usize) -> Vec<String> {
    stage.wire.records_since(begun, is_call).into_iter().map(|record| record.call.what).collect()
}

fn delete(stage: &Stage, name: &str) -> usize {
    let begun = stage.wire.len();
    stage.api.delete("machines", &in_namespace(name)).unwrap();
    begun
}

#[tokio::test(start_paused = true)]
async fn a_deletion_at_rest_is_one_order_and_one_look() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(11 * MINUTE).await;
    let begun = delete(&stage, "a");
    stage.until_gone("a").await;
    assert_eq!(called_since(&stage, begun), ["delete", "get-status"]);
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_deleted_while_reads_may_lag_is_looked_for_at_the_end_of_the_window() {
    let habits = Habits { keeps_keys: false, reads_lag: Duration::from_secs(10), initializes: false };
    let stage = Stage::with(habits, KubeletHabits::default());
    stage.add_class();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let (begun, at) = (delete(&stage, "a"), stage.wire.elapsed());
    stage.until_gone("a").await;
    let took = stage.wire.elapsed() - at;
    assert!(took < Duration::from_secs(13), "{took:?}");
    let calls = called_since(&stage, begun);
    assert!(calls.len() <= 3, "{calls:?}");
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn the_host_that_takes_over_a_removal_looks_first_and_gives_the_order_once_more() {
    let stage = Stage::set();
    let host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(11 * MINUTE).await;
    let begun = delete(&stage, "a");
    stage.until("ordered", MINUTE, || called_since(&stage, begun) == ["delete"]).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(host);
    let begun = stage.wire.len();
    let _next = stage.host("next");
    stage.until_gone("a").await;
    let calls = called_since(&stage, begun);
    assert_eq!(calls.first().map(String::as_str), Some("get-status"), "{calls:?}");
    assert!(calls.len() <= 3, "{calls:?}");
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_life_with_pods_is_reported_by_four_events() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(11 * MINUTE).await;
    add_pods_to(&stage, "a", &["web-0", "web-1", "web-2"]);
    let _kubelet = kubelet(&stage);
    tokio::time::sleep(Duration::from_secs(1)).await;
    delete(&stage, "a");
    stage.until_gone("a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.events("a"), ["VmRecorded", "NodeHealthy", "Draining", "VmTerminating"]);
}

/// A set makes 20 Machines, and the API server answers each request that makes one so long after a watch shows the
/// Machine. Returns the driver functions that were called until all Machines run.
async fn called_for_a_set_whose_answers_come(after: Duration) -> Vec<String> {
    let stage = Stage::set();
    stage.wire.plan(move |call| {
        if call.verb == "POST" && call.what == "machines" {
            Handling::DelayAnswer(after)
        } else {
            Handling::Pass
        }
    });
    stage.api.create("machinesets", &set("pool", 20)).unwrap();
    let _host = stage.host("host");
    until_stable(&stage, 20).await;
    stage.assert_one_vm_each(20);
    called_since(&stage, 0)
}

#[tokio::test(start_paused = true)]
async fn a_machine_of_a_set_costs_one_call_though_the_watch_shows_it_before_the_answer_does() {
    for after in [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(900)] {
        assert_eq!(called_for_a_set_whose_answers_come(after).await, vec!["create"; 20], "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_for_long_costs_a_look_and_no_second_vm() {
    let calls = called_for_a_set_whose_answers_come(Duration::from_secs(5)).await;
    let count = |what: &str| calls.iter().filter(|call| *call == what).count();
    assert_eq!((count("create"), count("get-status")), (20, 20), "{calls:?}");
}

/// Every fifth call of the driver is answered with this error, in no order that anybody knows.
fn every_fifth_fails(stage: &Stage) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    stage.wire.plan(move |call| {
        if !is_call(call) {
            return Handling::Pass;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match state % 10 {
            0 => Handling::Answer(DriverError::new(Code::Unavailable, "internal error").into()),
            1 => {
                let mut error = DriverError::new(Code::Unavailable, "too many requests");
                error.retry_after = Some(SignedDuration::from_secs(1));
                Handling::Answer(error.into())
            }
            _ => Handling::Pass,
        }
    });
}

#[tokio::test(start_paused = true)]
async fn two_hundred_machines_come_and_go_within_a_minute_though_every_fifth_call_fails() {
    let stage = Stage::set();
    let _host = stage.host("host");
    every_fifth_fails(&stage);
    let names: Vec<String> = (0..200).map(|number| format!("m{number:03}")).collect();
    for name in &names {
        stage.add_machine(name);
    }
    stage.until("all are Running", MINUTE, || names.iter().all(|name| stage.phase(name) == "Running")).await;
    let begun = stage.wire.len();
    for name in &names {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
    }
    stage.until("all are gone", MINUTE, || stage.api.all("machines").is_empty()).await;
    let calls = called_since(&stage, begun).len();
    assert!(calls <= 200 * 4, "{calls} calls for 200 deletions");
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn an_account_that_answers_again_is_not_waited_for_by_the_clock_of_its_outage_and_not_stormed() {
    let stage = Stage::set();
    let _host = stage.host("host");
    let names: Vec<String> = (0..40).map(|number| format!("m{number:02}")).collect();
    for name in &names {
        stage.add_machine(name);
    }
    stage.until("all are Running", MINUTE, || names.iter().all(|name| stage.phase(name) == "Running")).await;
    stage.wire.plan(|call| {
        let error = DriverError::new(Code::Unavailable, "down");
        if is_call(call) { Handling::Answer(error.into()) } else { Handling::Pass }
    });
    for name in &names {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
    }
    tokio::time::sleep(10 * MINUTE).await;
    stage.wire.heal();
    let first = stage.wire.len();
    stage.until("one was answered", 2 * MINUTE, || !called_since(&stage, first).is_empty()).await;
    stage.until("all are gone", Duration::from_secs(20), || stage.api.all("machines").is_empty()).await;
    let calls = stage.wire.records_since(first, is_call);
    assert!(calls.len() <= 40 * 2 + 5, "{}", table(&calls));
    stage.assert_nothing_left();
}
