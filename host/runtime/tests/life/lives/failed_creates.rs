//! Creates that fail in a cloud without idempotency keys: what failed for certain is tried again by its code, what may
//! have made a VM is looked for, and no Machine ever gets two.

use std::time::Duration;

use machinist_core::driver::error::{CallError, Code, DriverError, Refusal};

use crate::fixture::cloud::{Habits, guest_error};
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Host, Stage, in_namespace};
use memory_api::wire::{Call, Handling, table};

/// A cloud that makes another VM for each create and shows it only after ten seconds.
const KEYLESS: Habits = Habits { keeps_keys: false, reads_lag: Duration::from_secs(10), initializes: false };

fn stage() -> Stage {
    let stage = Stage::with(KEYLESS, KubeletHabits::default());
    stage.add_class();
    stage
}

fn add_machines(stage: &Stage, count: usize) {
    for number in 0..count {
        stage.add_machine(&format!("m{number}"));
    }
}

async fn until_all_run(stage: &Stage, count: usize, limit: Duration) {
    let runs = |number: usize| stage.phase(&format!("m{number}")) == "Running";
    stage.until("all are Running", limit, || (0..count).all(runs)).await;
}

/// Nobody knows what came of it.
fn unclear() -> CallError {
    DriverError { may_have_happened: true, ..DriverError::new(Code::Unavailable, "internal error") }.into()
}

/// Numbers that look random, the same in each run (SplitMix64).
fn dice(number: usize) -> usize {
    let mut bits = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((bits ^ (bits >> 31)) >> 8).unwrap_or_default()
}

/// Of the calls of drivers one in five fails: throttled, or in a 500 before or after the effect.
fn faulty(call: &Call) -> Handling {
    if call.verb != "CALL" || !dice(call.number).is_multiple_of(5) {
        return Handling::Pass;
    }
    match dice(call.number) / 5 % 4 {
        0 | 1 => Handling::Answer(guest_error(Code::Unavailable)),
        2 => Handling::Answer(if call.calls("create") { unclear() } else { guest_error(Code::Unavailable) }),
        _ => Handling::AnswerAfter(if call.calls("create") {
            unclear()
        } else {
            guest_error(Code::Unavailable)
        }),
    }
}

/// So many Machines come and go, each within a minute.
async fn come_and_go(count: usize) {
    let stage = stage();
    stage.wire.plan(faulty);
    add_machines(&stage, count);
    let _host = stage.host("host");
    until_all_run(&stage, count, Duration::from_secs(60)).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    stage.assert_one_vm_each(count);
    assert_eq!(stage.tokens(), Vec::<String>::new());
    let creates = stage.wire.records(|call| call.calls("create"));
    assert!(creates.iter().filter(|record| record.code != Some(200)).count() > 5, "{}", table(&creates));
    for number in 0..count {
        stage.api.delete("machines", &in_namespace(&format!("m{number}"))).unwrap();
    }
    let is_over = || stage.api.count("machines") == 0;
    stage.until("all are gone", Duration::from_secs(60), is_over).await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_crowd_in_a_cloud_where_a_fifth_of_the_calls_fails_comes_and_goes_within_a_minute() {
    come_and_go(60).await;
}

#[tokio::test(start_paused = true)]
async fn a_crowd_of_two_hundred_in_a_cloud_where_a_fifth_of_the_calls_fails_comes_and_goes_within_a_minute() {
    come_and_go(200).await;
}

#[tokio::test(start_paused = true)]
async fn three_seconds_of_failing_look_ups_cost_seconds() {
    let stage = stage();
    // The driver looks for a VM of that name before it creates one: both calls fail, and no create is sent.
    stage.wire.plan(|call| {
        if call.verb == "CALL" { Handling::Answer(guest_error(Code::Unavailable)) } else { Handling::Pass }
    });
    add_machines(&stage, 5);
    let _host = stage.host("host");
    tokio::time::sleep(Duration::from_secs(3)).await;
    stage.wire.heal();
    until_all_run(&stage, 5, Duration::from_secs(12)).await;
    stage.assert_one_vm_each(5);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_failed_for_certain_is_never_held_and_its_note_is_taken_off() {
    let refusal = Refusal::Busy { plugin: "sim".into() };
    for error in [guest_error(Code::Unavailable), guest_error(Code::ResourceExhausted), refusal.into()] {
        let stage = stage();
        let failure = error.clone();
        stage.wire.plan(move |call| {
            if call.calls("create") { Handling::Answer(failure.clone()) } else { Handling::Pass }
        });
        stage.add_machine("a");
        let _host = stage.host("host");
        stage.until("a create", Duration::from_secs(5), || !stage.reason("a").is_empty()).await;
        for _ in 0..70 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_ne!(stage.reason("a"), "CreationUnresolved", "{error}");
        }
        let annotations = stage.machine("a").unwrap()["metadata"]["annotations"].to_string();
        assert!(!annotations.contains("create-intent"), "{annotations}");
        let creates = stage.wire.times(|call| call.calls("create")).len();
        let expected = if error.code() == Code::Unavailable { 4..=5 } else { 1..=1 };
        assert!(expected.contains(&creates), "{error}: {creates}\n{}", stage.wire.trace());
        // One more write for each failure, and none for those that come again.
        let writes =
            stage.wire.records(|call| call.is_write() && call.what == "machines" && call.name == "a");
        assert_eq!(writes.len(), 1 + 2 * creates, "{}", table(&writes));
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_in_doubt_says_so_once_is_looked_for_and_made_again_after_the_window() {
    let stage = stage();
    let mut is_first = true;
    stage.wire.plan(move |call| {
        let fails = call.calls("create") && std::mem::take(&mut is_first);
        if fails { Handling::Answer(unclear()) } else { Handling::Pass }
    });
    stage.add_machine("a");
    let _host = stage.host("host");
    stage.until("it is in doubt", Duration::from_secs(5), || stage.reason("a") == "CreationUnresolved").await;
    let (_, _, message) = stage.reported("a", "Ready");
    assert!(message.contains("CreateMachine failed and may have made a VM all the same: "), "{message}");
    assert!(message.ends_with("no VM is created for 10s after that answer"), "{message}");
    stage.until_running("a").await;
    stage.assert_one_vm_each(1);
    let creates = stage.wire.times(|call| call.calls("create"));
    let pause = (creates[1] - creates[0]).as_secs_f64();
    assert!((10.0..11.0).contains(&pause), "{pause}");
    let looks = stage.wire.times(|call| call.calls("get-status")).len();
    assert!((4..=6).contains(&looks), "{looks} looks");
    let unresolved = stage.events("a").iter().filter(|reason| *reason == "CreationUnresolved").count();
    assert_eq!(unresolved, 1);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_stays_in_doubt_writes_its_status_once_for_each_growth_of_the_pause() {
    let stage = stage();
    let mut number = 0;
    stage.wire.plan(move |call| {
        if !call.calls("create") {
            return Handling::Pass;
        }
        number += 1;
        let text = format!("internal error, request 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8{number:02}");
        let error = DriverError { may_have_happened: true, ..DriverError::new(Code::Unavailable, text) };
        Handling::Answer(error.into())
    });
    stage.add_machine("a");
    let _host = stage.host("host");
    tokio::time::sleep(Duration::from_secs(15 * 60)).await;
    let creates = stage.wire.times(|call| call.calls("create")).len();
    // Twelve times after the window, since looks are answered, and then each two minutes.
    assert!((17..=22).contains(&creates), "{creates} creates");
    let is_status = |call: &Call| call.is_write() && call.what == "machines/status" && call.name == "a";
    let writes = stage.wire.records(is_status);
    assert!(writes.len() <= 7, "{}", table(&writes));
    let reported = stage.events("a").iter().filter(|reason| *reason == "CreationUnresolved").count();
    assert_eq!(reported, 1, "{:?}", stage.events("a"));
    assert_eq!(stage.reason("a"), "CreationUnresolved");
}

#[tokio::test(start_paused = true)]
async fn a_create_in_doubt_comes_again_after_its_window_where_the_account_answers_until_it_fails_by_itself() {
    let stage = stage();
    let fails = |call: &Call| call.calls("create");
    stage.wire.plan(move |call| if fails(call) { Handling::Answer(unclear()) } else { Handling::Pass });
    stage.add_machine("a");
    let _host = stage.host("host");
    tokio::time::sleep(Duration::from_secs(12 * 60)).await;
    let creates = stage.wire.times(fails);
    let pauses: Vec<u64> = creates.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert!(pauses[..6].iter().all(|pause| (10..=12).contains(pause)), "{pauses:?}");
    assert!(pauses.last().is_some_and(|pause| (90..=130).contains(pause)), "{pauses:?}");
}

#[tokio::test(start_paused = true)]
async fn a_vm_of_a_create_in_doubt_is_taken_as_soon_as_reads_show_it() {
    let habits = Habits { reads_lag: Duration::from_secs(60), ..KEYLESS };
    let stage = Stage::with(habits, KubeletHabits::default());
    stage.add_class();
    // Declared is a minute, and this VM shows after four seconds: it was made long before the answer.
    stage.wire.plan(|call| if call.calls("create") { Handling::HangAfter } else { Handling::Pass });
    stage.add_machine("a");
    let one = stage.host("one");
    stage.until("the VM is made", Duration::from_secs(5), || stage.cloud.vms() == 1).await;
    tokio::time::sleep(Duration::from_secs(56)).await;
    drop(one);
    let _two = stage.host("two");
    let begin = stage.wire.elapsed();
    stage.until_running("a").await;
    assert!(stage.wire.elapsed() - begin < Duration::from_secs(12), "{}", stage.wire.trace());
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn eight_crashes_while_forty_machines_are_made_cost_no_second_vm_and_no_minute() {
    let stage = stage();
    // Of the creates that hosts die in, some are not carried out, some are and nobody hears of it, and some are
    // answered.
    stage.wire.plan(|call| match call.number % 3 {
        _ if !call.calls("create") => Handling::Pass,
        0 => Handling::HangAfter,
        1 => Handling::Delay(Duration::from_secs(2)),
        _ => Handling::Pass,
    });
    add_machines(&stage, 40);
    for number in 0..8 {
        let host: Host = stage.host(&format!("host-{number}"));
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop(host);
    }
    stage.wire.heal();
    let _last = stage.host("last");
    until_all_run(&stage, 40, Duration::from_secs(60)).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    stage.assert_one_vm_each(40);
    assert_eq!(stage.tokens(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_when_its_host_loses_the_lease() {
    let stage = stage();
    let one = stage.candidate("one");
    stage.until("it leads", Duration::from_secs(5), || one.leads()).await;
    let two = stage.candidate("two");
    tokio::time::sleep(Duration::from_secs(5)).await;
    // It reaches no API server any more, and the cloud is slow to do what it was asked last.
    stage.wire.plan(|call| match call.actor.as_str() {
        "one" if call.calls("create") => Handling::Delay(Duration::from_secs(40)),
        "one" if call.what == "leases" => Handling::Lose,
        _ => Handling::Pass,
    });
    stage.add_machine("a");
    stage
        .until("the create is sent", Duration::from_secs(5), || {
            !stage.wire.records(|call| call.calls("create")).is_empty()
        })
        .await;
    stage.until("the other one leads", Duration::from_secs(40), || two.leads() && !one.leads()).await;
    stage.until_running("a").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    stage.assert_one_vm_each(1);
    let dropped = stage.wire.records(|call| call.actor == "one" && call.calls("create"));
    assert_eq!(dropped.iter().map(|record| record.code).collect::<Vec<_>>(), [None], "{}", table(&dropped));
    drop((one, two));
}

#[tokio::test(start_paused = true)]
async fn a_create_that_the_grants_refuse_is_taken_up_when_they_change() {
    let stage = stage();
    // The host lets no request out, and the driver says so.
    stage.wire.plan(|call| {
        if call.calls("create") {
            Handling::Answer(guest_error(Code::PermissionDenied))
        } else {
            Handling::Pass
        }
    });
    stage.add_machine("a");
    let _host = stage.host("host");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(stage.reason("a"), "CreationFailed");
    stage.wire.heal();
    stage.report_plugins(&["sim"]);
    stage.until("Running", Duration::from_secs(2), || stage.phase("a") == "Running").await;
    stage.assert_one_vm_each(1);
}
