//! A create that fails: when it is tried again, and when not.

use std::time::Duration;

use machinist_core::driver::error::{CallError, Code, DriverError};
use serde_json::{Value, json};

use crate::fixture::cloud::guest_error;
use crate::fixture::stage::{Stage, in_namespace};
use memory_api::wire::{Call, Handling};

fn is_create(call: &Call) -> bool {
    call.calls("create")
}

/// Every create fails with this error.
fn refuse_creates(stage: &Stage, error: CallError) {
    stage
        .wire
        .plan(move |call| if is_create(call) { Handling::Answer(error.clone()) } else { Handling::Pass });
}

async fn until_creates(stage: &Stage, count: usize) {
    let what = format!("{count} creates");
    let limit = Duration::from_secs(3_600);
    stage.until(&what, limit, || stage.wire.times(is_create).len() >= count).await;
}

fn pauses(stage: &Stage) -> Vec<f64> {
    let times = stage.wire.times(is_create);
    times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_failing_create_is_tried_again_with_growing_pauses_and_not_earlier() {
    let stage = Stage::set();
    refuse_creates(&stage, guest_error(Code::Unavailable));
    let _host = stage.host("host");
    stage.add_machine("a");
    until_creates(&stage, 9).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let pauses = pauses(&stage);
    for (pause, nominal) in pauses.iter().zip([5.0, 10.0, 20.0, 40.0, 80.0, 120.0, 120.0, 120.0_f64]) {
        // A fifth around, never above two minutes; a look and the status write come on top.
        let (low, high) = (nominal * 0.8, (nominal * 1.2).min(120.0) + 0.1);
        assert!(*pause >= low && *pause <= high, "{pause} s instead of about {nominal} s: {pauses:?}");
    }
    assert_eq!(stage.phase("a"), "CrashLoopBackOff");
    let status = stage.machine("a").unwrap()["status"].clone();
    assert_eq!(status["lastOperation"]["errorCode"], "Unavailable");
    assert_eq!(status["machinist"]["attempts"], 6, "from there on pauses are equal, and no try is written");
    let reported = stage.events("a");
    assert_eq!(
        reported.iter().filter(|reason| *reason == "CreationFailed").count(),
        1,
        "told once: {reported:?}"
    );

    stage.wire.heal();
    let limit = Duration::from_secs(125);
    stage.until("Running after the next try", limit, || stage.phase("a") == "Running").await;
    assert_eq!(stage.machine("a").unwrap()["status"]["machinist"]["attempts"], Value::Null);
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn the_status_says_when_the_next_try_is() {
    let stage = Stage::set();
    refuse_creates(&stage, guest_error(Code::Unavailable));
    let _host = stage.host("host");
    stage.add_machine("a");
    for count in 1..6 {
        until_creates(&stage, count).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let machine = stage.machine("a").unwrap();
        let announced = machine["status"]["machinist"]["nextAttempt"].as_str().unwrap().to_owned();
        until_creates(&stage, count + 1).await;
        let announced: jiff::Timestamp = announced.parse().unwrap();
        // Times in a status are whole seconds, and a look goes before the create.
        let late = stage.clock.now().duration_since(announced).as_secs_f64();
        assert!((0.0..1.2).contains(&late), "try {} came {late} s after the announced time", count + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_class_or_its_secret_or_the_machine_is_tried_at_once_and_pauses_begin_again() {
    for (plural, name, patch) in [
        ("machineclasses", "small", json!({ "providerSpec": { "size": 2 } })),
        ("secrets", "account", json!({ "data": { "key": "NDU2" } })),
        ("machines", "a", json!({ "spec": { "creationTimeout": "2h" } })),
    ] {
        let stage = Stage::set();
        refuse_creates(&stage, guest_error(Code::InvalidArgument));
        let _host = stage.host("host");
        stage.add_machine("a");
        until_creates(&stage, 5).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let changed = stage.wire.elapsed();
        stage.api.edit(plural, &in_namespace(name), &patch).unwrap();
        until_creates(&stage, 7).await;
        let times = stage.wire.times(is_create);
        let waited = times[5].checked_sub(changed).unwrap();
        assert!(waited < Duration::from_millis(100), "{plural}: {waited:?}");
        let pause = (times[6] - times[5]).as_secs_f64();
        assert!((4.0..6.2).contains(&pause), "{plural}: the first pause again, not {pause} s");
    }
}

#[tokio::test(start_paused = true)]
async fn labels_and_foreign_annotations_do_not_shorten_a_pause() {
    let stage = Stage::set();
    refuse_creates(&stage, guest_error(Code::ResourceExhausted));
    let _host = stage.host("host");
    stage.add_machine("a");
    until_creates(&stage, 1).await;
    for round in 0..5 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let patch = json!({ "metadata": { "labels": { "round": round.to_string() } } });
        stage.api.edit("machineclasses", &in_namespace("small"), &patch).unwrap();
        stage.api.edit("secrets", &in_namespace("account"), &patch).unwrap();
    }
    assert_eq!(stage.wire.times(is_create).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_capacity_a_create_waits_ten_minutes() {
    let stage = Stage::set();
    refuse_creates(&stage, guest_error(Code::ResourceExhausted));
    let _host = stage.host("host");
    stage.add_machine("a");
    // Two tries, as the creation time-out of twenty minutes ends the third.
    until_creates(&stage, 2).await;
    let pauses = pauses(&stage);
    assert!((600.0..600.2).contains(&pauses[0]), "{pauses:?}");
    let status = stage.machine("a").unwrap()["status"].clone();
    assert_eq!(status["lastOperation"]["errorCode"], "ResourceExhausted");
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_says_when_to_come_back_is_not_asked_earlier() {
    let stage = Stage::set();
    let mut error = DriverError::new(Code::Unavailable, "throttled");
    error.retry_after = Some(jiff::SignedDuration::from_secs(90));
    refuse_creates(&stage, error.into());
    let _host = stage.host("host");
    stage.add_machine("a");
    until_creates(&stage, 4).await;
    let pauses = pauses(&stage);
    assert!(pauses.iter().all(|pause| (90.0..108.2).contains(pause)), "{pauses:?}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_the_cloud_never_makes_fails_after_its_time_and_is_not_tried_again() {
    let stage = Stage::set();
    refuse_creates(&stage, guest_error(Code::Unavailable));
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("Failed", Duration::from_secs(23 * 60), || stage.phase("a") == "Failed").await;
    let creates = stage.wire.times(is_create).len();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(stage.wire.times(is_create).len(), creates);
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_status_that_cannot_be_written_does_not_make_the_cloud_be_asked_more_often() {
    let stage = Stage::set();
    stage.wire.plan(|call| match call {
        call if is_create(call) => Handling::Answer(guest_error(Code::ResourceExhausted)),
        call if call.what == "machines/status" => Handling::Refuse(500),
        _ => Handling::Pass,
    });
    let _host = stage.host("host");
    stage.add_machine("a");
    tokio::time::sleep(Duration::from_secs(300)).await;
    // Tried again sooner than the cloud asks for, so that the status gets there, but no more often than after other
    // errors.
    let creates = stage.wire.times(is_create).len();
    assert!(creates <= 7, "{creates} creates in five minutes: {:?}", pauses(&stage));
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_being_loaded_wakes_its_machines_once() {
    let stage = Stage::set();
    refuse_creates(&stage, guest_error(Code::InvalidArgument));
    let _host = stage.host("host");
    stage.add_machine("a");
    until_creates(&stage, 1).await;
    for _ in 0..2 {
        stage.report_step(&["sim"]);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(stage.wire.times(is_create).len(), 1, "a step on the way asks the cloud nothing");
    stage.report_plugins(&["sim"]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.wire.times(is_create).len(), 2, "a version that serves is tried at once");
}

#[tokio::test(start_paused = true)]
async fn the_next_try_comes_when_the_status_says_also_where_the_cloud_has_named_the_time() {
    let stage = Stage::set();
    let mut error = DriverError::new(Code::Unavailable, "throttled");
    error.retry_after = Some(jiff::SignedDuration::from_secs(90));
    refuse_creates(&stage, error.into());
    let _host = stage.host("host");
    stage.add_machine("a");
    for count in 1..5 {
        until_creates(&stage, count).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let machine = stage.machine("a").unwrap();
        let announced = machine["status"]["machinist"]["nextAttempt"].as_str().unwrap().to_owned();
        until_creates(&stage, count + 1).await;
        let announced: jiff::Timestamp = announced.parse().unwrap();
        let late = stage.clock.now().duration_since(announced).as_secs_f64();
        assert!((0.0..1.2).contains(&late), "try {} came {late} s after the announced time", count + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_error_with_another_request_id_is_written_at_most_once_for_each_growth_of_the_pauses() {
    let stage = Stage::set();
    let mut number = 0_u64;
    stage.wire.plan(move |call| {
        if !is_create(call) {
            return Handling::Pass;
        }
        number += 1;
        let id = format!("7f1a3b1c-0d2e-4f5a-9b8c-{:012x}", number * 7_919);
        let message = format!("the zone is being repaired (request id: {id})");
        Handling::Answer(DriverError::new(Code::Unavailable, message).into())
    });
    let _host = stage.host("host");
    stage.add_machine("a");
    until_creates(&stage, 1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let from = stage.wire.len();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let creates = stage.wire.times(is_create).len();
    assert!(creates >= 9, "{creates}");
    let writes = stage.wire.records_since(from, |call| call.what == "machines/status" && call.is_write());
    assert!(writes.len() <= 5, "5 → 10 → 20 → 40 → 80 → 120 s:\n{}", memory_api::wire::table(&writes));
    let reported = stage.events("a");
    assert_eq!(reported.iter().filter(|reason| *reason == "CreationFailed").count(), 1, "{reported:?}");
    let machine = stage.machine("a").unwrap();
    let description = machine["status"]["lastOperation"]["description"].as_str().unwrap();
    assert!(
        description.contains("7f1a3b1c"),
        "the id is shown to whoever asks the cloud's support: {description}"
    );
}
