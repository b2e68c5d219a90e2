//! How soon a process works after its start, also at servers that start at the same moment.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

use crate::fixture::stage::Stage;
use memory_api::wire::{Call, Handling};

/// How long it takes until a Machine runs when each kind of request that `concerns` takes fails so often at first.
async fn until_running(failures: usize, handling: &Handling, concerns: fn(&Call) -> bool) -> Duration {
    let stage = Stage::set();
    stage.add_machine("a");
    let mut seen: BTreeMap<(&'static str, String, String), usize> = BTreeMap::new();
    let handling = handling.clone();
    stage.wire.plan(move |call| {
        let count = seen.entry((call.verb, call.what.clone(), call.name.clone())).or_default();
        *count += 1;
        if concerns(call) && *count <= failures { handling.clone() } else { Handling::Pass }
    });
    let host = stage.candidate("host");
    stage.until_running("a").await;
    drop(host);
    stage.wire.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_start_waits_for_moments_and_not_for_seconds_when_its_first_requests_fail() {
    let usual = until_running(0, &Handling::Pass, |_| true).await;
    type Concerns = fn(&Call) -> bool;
    let concerns: [(&str, Concerns); 5] = [
        ("listings", |call| call.verb == "LIST"),
        ("watches", |call| call.verb == "WATCH"),
        ("whether the server is there", |call| {
            ["machinist-probe", "machinist-freeze"].contains(&call.name.as_str())
        }),
        ("reading Leases", |call| call.what == "leases" && call.verb == "GET"),
        ("writing Leases", |call| call.what == "leases" && call.verb != "GET"),
    ];
    for (what, concerns) in concerns {
        for handling in [Handling::Refuse(500), Handling::Refuse(429), Handling::Refuse(404), Handling::Lose]
        {
            let took = until_running(2, &handling, concerns).await;
            let longer = took.saturating_sub(usual);
            assert!(longer < Duration::from_secs(1), "{what} end in {handling:?} twice: {longer:?} longer");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_written_is_asked_for_at_the_pace_of_the_election() {
    let stage = Stage::set();
    let is_write = |call: &Call| call.what == "leases" && call.verb != "GET";
    stage.wire.plan(move |call| if is_write(call) { Handling::Refuse(403) } else { Handling::Pass });
    let host = stage.candidate("host");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!host.leads());
    let writes = stage.wire.records(is_write).len();
    assert!((20..45).contains(&writes), "{writes} writes in a minute, 2 s apart");
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_panics_is_looked_at_again_when_nothing_of_it_can_arrive_any_more() {
    let stage = Stage::set();
    stage.cloud.plant_bug();
    let _host = stage.host("host");
    stage.add_machine("a");
    let is_create = |call: &Call| call.calls("create");
    stage.until("a create", Duration::from_secs(5), || !stage.wire.times(is_create).is_empty()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let from = stage.wire.len();
    for round in 0..10 {
        let patch = serde_json::json!({ "spec": { "creationTimeout": format!("{}m", 20 + round) } });
        stage.api.edit("machines", "shoot/a", &patch).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let early = stage.wire.records_since(from, |call| call.verb == "CALL" || call.is_write());
    assert!(early.is_empty(), "{}", memory_api::wire::table(&early));
    stage.until_running("a").await;
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_clock_is_off_fails_no_new_machine() {
    for ahead in [SignedDuration::from_hours(1), SignedDuration::from_mins(-10)] {
        let stage = Stage::set();
        stage.shift_hosts(ahead);
        let mut number = 0;
        stage.wire.plan(move |call| {
            number += usize::from(call.calls("create"));
            if call.calls("create") && number <= 2 { Handling::Refuse(14) } else { Handling::Pass }
        });
        let _host = stage.host("host");
        stage.add_running("a").await;
        assert!(stage.wire.elapsed() < Duration::from_secs(60), "{ahead:?}: {:?}", stage.wire.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_keeps_its_turn_while_it_waits_for_what_it_has_written() {
    let stage = Stage::set();
    stage.settings.lock().unwrap().concurrent_reconciles = 1;
    let _host = stage.host("host");
    stage.add_running("a").await;
    stage.api.delay_watches(Duration::from_millis(200));
    stage.wire.plan(|call| {
        if call.verb == "CALL" { Handling::Delay(Duration::from_secs(1)) } else { Handling::Pass }
    });
    for number in 0..30 {
        stage.add_machine(&format!("m{number:02}"));
    }
    stage.api.delete("machines", "shoot/a").unwrap();
    let asked = stage.wire.elapsed();
    let is_ordered = || !stage.wire.times(|call| call.calls("delete")).is_empty();
    stage.until("the VM is ordered away", Duration::from_secs(300), is_ordered).await;
    let took = stage.wire.elapsed() - asked;
    assert!(took < Duration::from_secs(4), "after {took:?}\n{}", stage.wire.trace());
}
