//! Two hosts, of which one leads.

use std::time::Duration;

use crate::fixture::stage::{Host, Stage};
use memory_api::wire::{Call, Handling, table};

/// A write or a call of a driver: what only a leader may do. Leases are what the election is about.
fn is_effect(call: &Call) -> bool {
    call.is_write() || call.verb == "CALL" || call.what == "events"
}

fn effects(stage: &Stage, actor: &'static str) -> Vec<memory_api::wire::Record> {
    stage.wire.records(move |call| call.actor == actor && is_effect(call))
}

async fn until_leading(stage: &Stage, host: &Host, limit: Duration) {
    stage.until("it leads", limit, || host.leads()).await;
}

#[tokio::test(start_paused = true)]
async fn the_second_host_does_nothing_until_the_first_has_ended() {
    let stage = Stage::set();
    let one = stage.candidate("one");
    until_leading(&stage, &one, Duration::from_secs(5)).await;
    let two = stage.candidate("two");
    stage.add_running("a").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(one.leads() && !two.leads() && two.is_synced());
    assert!(effects(&stage, "two").is_empty(), "{}", table(&effects(&stage, "two")));

    one.end().await;
    let ended = stage.wire.elapsed();
    until_leading(&stage, &two, Duration::from_secs(20)).await;
    let waited = stage.wire.elapsed() - ended;
    assert!(
        waited < Duration::from_secs(5),
        "a Lease that was given back is taken soon, not after {waited:?}"
    );
    stage.add_running("b").await;
    assert!(effects(&stage, "one").last().unwrap().at <= ended);
    stage.assert_one_vm_each(2);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_dies_is_followed_once_its_leases_have_run_out() {
    let stage = Stage::set();
    let one = stage.candidate("one");
    until_leading(&stage, &one, Duration::from_secs(5)).await;
    let two = stage.candidate("two");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let died = stage.wire.elapsed();
    drop(one);
    stage.add_machine("a");
    until_leading(&stage, &two, Duration::from_secs(40)).await;
    let waited = stage.wire.elapsed() - died;
    assert!(waited > Duration::from_secs(12) && waited < Duration::from_secs(22), "{waited:?}");
    stage.until_running("a").await;
    stage.assert_one_vm_each(1);
}

/// The first host's requests for Leases fare so while it works. It stops before the second one begins, and each Machine
/// still gets one VM.
async fn check_loss(handling: &'static Handling, is_all: bool) {
    let stage = Stage::set();
    let one = stage.candidate("one");
    until_leading(&stage, &one, Duration::from_secs(5)).await;
    let two = stage.candidate("two");
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.wire.plan(move |call| {
        if call.actor == "one" && (is_all || call.what == "leases") {
            handling.clone()
        } else {
            Handling::Pass
        }
    });
    let mut lost = None;
    for number in 0..250 {
        stage.add_machine(&format!("m{number}"));
        tokio::time::sleep(Duration::from_millis(100)).await;
        if lost.is_none() && !one.leads() {
            lost = Some(stage.wire.elapsed());
        }
    }
    stage
        .until("all are Running", Duration::from_secs(60), || {
            (0..250).all(|number| stage.phase(&format!("m{number}")) == "Running")
        })
        .await;
    stage.assert_one_vm_each(250);
    let lost = lost.expect("leadership was lost");
    let last = effects(&stage, "one").last().map(|record| record.at).unwrap_or_default();
    let first = effects(&stage, "two").first().unwrap().at;
    assert!(two.leads() && !one.leads());
    assert!(
        last <= lost && last < first,
        "{handling:?}: one until {last:?} (lost {lost:?}), two from {first:?}"
    );
    assert!(lost < first, "{handling:?}: one led until {lost:?}, two from {first:?}");
    // Whatever its requests do, it gives up after the renewal deadline, so that what is in flight has the rest of the
    // time.
    let renewals = stage.wire.records(|call| call.actor == "one" && call.what == "leases");
    let renewed = renewals.iter().rfind(|record| record.code == Some(200)).unwrap().at;
    assert!(
        lost - renewed <= Duration::from_millis(10_150),
        "{handling:?}: renewed {renewed:?}, lost {lost:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_leases_are_refused_stops_before_another_begins() {
    check_loss(&Handling::Refuse(500), false).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_lease_requests_hang_stops_before_another_begins() {
    check_loss(&Handling::Hang, false).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_cut_off_stops_before_another_begins() {
    check_loss(&Handling::Lose, true).await;
    check_loss(&Handling::Hang, true).await;
}

#[tokio::test(start_paused = true)]
async fn lost_leadership_stops_everything_at_once_also_in_the_middle_of_passes() {
    let stage = Stage::set();
    let host = stage.host("host");
    for number in 0..20 {
        stage.add_machine(&format!("m{number}"));
    }
    // In the middle of the creates.
    tokio::time::sleep(Duration::from_millis(15)).await;
    assert!(stage.wire.records(|call| call.calls("create")).len() >= 20);
    host.depose();
    let deposed = stage.wire.len();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let after = stage.wire.records_since(deposed, is_effect);
    assert!(after.is_empty(), "{}", table(&after));
    let _next = stage.host("next");
    stage
        .until("all are Running", Duration::from_secs(60), || {
            (0..20).all(|number| stage.phase(&format!("m{number}")) == "Running")
        })
        .await;
    stage.assert_one_vm_each(20);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_deletes_is_made_again_by_its_holder() {
    let stage = Stage::set();
    let one = stage.candidate("one");
    until_leading(&stage, &one, Duration::from_secs(5)).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    stage.api.delete("leases", &crate::fixture::stage::in_namespace("machine-controller")).unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(one.leads(), "nobody else took it:\n{}", stage.wire.trace());
    let lease = stage.api.find("leases", &crate::fixture::stage::in_namespace("machine-controller")).unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "one");
}
