//! Servers and connections that fail.

use std::time::Duration;

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, count_moments, in_namespace};
use memory_api::wire::{Call, Handling};

/// The whole life of a Machine, whose `number`th call fares so. False when there were not so many calls.
async fn survives(habits: Habits, number: usize, handling: &Handling, concerns: fn(&Call) -> bool) -> bool {
    let stage = Stage::with(habits, KubeletHabits::default());
    stage.add_class();
    stage.plan_nth(number, concerns, handling);
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.assert_one_vm_each(1);
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.assert_nothing_left();
    assert!(stage.cloud.made().values().all(|made| *made == 1), "{}", stage.wire.trace());
    stage.wire.records(concerns).len() >= number
}

async fn check(habits: Habits, fates: &[Handling], concerns: fn(&Call) -> bool) {
    for handling in fates {
        let moments = count_moments(async |number| survives(habits, number, handling, concerns).await).await;
        assert!(moments >= 2, "{handling:?} concerned nothing");
    }
}

/// A cloud that shows VMs late.
const LATE: Habits = Habits { keeps_keys: true, reads_lag: Duration::from_secs(8), initializes: false };
/// A cloud without keys that shows VMs late.
const FORGETFUL: Habits = Habits { keeps_keys: false, reads_lag: Duration::from_secs(8), initializes: false };

#[tokio::test(start_paused = true)]
async fn a_conflict_on_any_write_is_overcome() {
    check(Habits::default(), &[Handling::Refuse(409)], Call::is_write).await;
}

#[tokio::test(start_paused = true)]
async fn an_api_server_in_trouble_at_any_request_is_overcome() {
    let fates = [Handling::Refuse(500), Handling::Refuse(429), Handling::Lose, Handling::LoseAnswer];
    check(Habits::default(), &fates, |call| call.verb != "CALL").await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_answers_holds_up_only_its_own_object_and_only_until_its_deadline() {
    check(Habits::default(), &[Handling::Hang, Handling::HangAfter], |call| {
        call.is_request() || call.what == "events"
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_driver_that_fails_or_times_out_after_it_was_done_is_overcome() {
    // Unavailable, Internal, and a timeout before and after the effect.
    let fates = [Handling::Refuse(14), Handling::Refuse(13), Handling::Lose, Handling::LoseAnswer];
    for habits in [Habits::default(), LATE, FORGETFUL] {
        check(habits, &fates, |call| call.verb == "CALL").await;
    }
}

#[tokio::test(start_paused = true)]
async fn watches_that_break_and_expire_again_and_again_lose_nothing() {
    let stage = Stage::set();
    stage.api.delay_watches(Duration::from_millis(40));
    let _host = stage.host("host");
    let names: Vec<String> = (0..20).map(|number| format!("m{number}")).collect();
    for (round, name) in names.iter().enumerate() {
        stage.add_machine(name);
        tokio::time::sleep(Duration::from_millis(130)).await;
        stage.api.drop_watches("host", [Some("machines"), Some("nodes"), None][round % 3]);
        if round % 2 == 0 {
            stage.api.compact();
        }
    }
    for name in &names {
        stage.until_running(name).await;
    }
    stage.assert_one_vm_each(20);
    for (round, name) in names.iter().enumerate() {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
        tokio::time::sleep(Duration::from_millis(130)).await;
        stage.api.drop_watches("host", None);
        if round % 2 == 0 {
            stage.api.compact();
        }
    }
    for name in &names {
        stage.until_gone(name).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.assert_nothing_left();
    assert!(stage.cloud.made().values().all(|made| *made == 1));
}

#[tokio::test(start_paused = true)]
async fn a_pass_waits_until_the_caches_show_what_the_last_one_wrote() {
    let stage = Stage::set();
    // So late that a pass on a stale cache would repeat what the last one did.
    stage.api.delay_watches(Duration::from_secs(2));
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let writes =
        stage.wire.records(|call| call.is_write() && !matches!(call.name.as_str(), "small" | "account"));
    assert!(writes.len() <= 7, "{}", memory_api::wire::table(&writes));
    let calls = stage.wire.records(|call| call.verb == "CALL");
    assert_eq!(calls.len(), 1, "{}", memory_api::wire::table(&calls));
    assert!(
        writes.iter().all(|record| matches!(record.code, Some(200 | 201))),
        "{}",
        memory_api::wire::table(&writes)
    );
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_gone_for_minutes_costs_no_machine() {
    let stage = Stage::set();
    let _host = stage.host("host");
    for name in ["a", "b", "c"] {
        stage.add_machine(name);
    }
    stage.until_running("c").await;
    stage.wire.plan(|call| if call.verb == "CALL" { Handling::Pass } else { Handling::Lose });
    stage.api.drop_watches("host", None);
    stage.add_machine("d");
    tokio::time::sleep(Duration::from_secs(300)).await;
    stage.wire.heal();
    stage.until_running("d").await;
    for name in ["a", "b", "c"] {
        assert_eq!(stage.phase(name), "Running");
    }
    stage.assert_one_vm_each(4);
}
