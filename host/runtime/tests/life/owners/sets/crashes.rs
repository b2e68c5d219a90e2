//! Hosts that crash between any two requests, and servers that fail: never one Machine too many.

use std::time::Duration;

use memory_api::wire::{Call, Handling};

use super::{Census, scale, stage, until_stable};
use crate::fixture::stage::count_moments;

/// The change of the set.
#[derive(Clone, Copy, Debug)]
enum SetStory {
    Fill,
    /// It has six, and loses four.
    Shrink,
}

/// Lets the host die at the `number`th call of the story. False when the story was over before.
async fn survives(story: SetStory, number: usize, is_carried_out: bool) -> bool {
    let stage = stage(6);
    let census = Census::of(&stage);
    let mut wanted = 6;
    let host = stage.host("host");
    if matches!(story, SetStory::Shrink) {
        until_stable(&stage, 6).await;
        census.begin();
        scale(&stage, 2);
        wanted = 2;
    }
    stage.crash_at(number, is_carried_out);
    let ends = async { until_stable(&stage, wanted).await };
    let Some(_next) = stage.next_after_crash(host, ends).await else { return false };
    until_stable(&stage, wanted).await;
    assert_eq!(census.most(), 6, "one too many\n{}", stage.wire.trace());
    if matches!(story, SetStory::Shrink) {
        assert_eq!(census.fewest(), 2, "one too few\n{}", stage.wire.trace());
    }
    census.assert_no_name_twice();
    assert!(stage.cloud.made().values().all(|made| *made == 1), "{}", stage.wire.trace());
    assert_eq!(stage.cloud.vms(), wanted);
    true
}

async fn check(story: SetStory, at_least: usize) {
    for is_carried_out in [false, true] {
        let moments = count_moments(async |number| survives(story, number, is_carried_out).await).await;
        assert!(moments >= at_least, "only {moments} moments");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_of_a_set_that_is_filled_makes_none_too_many() {
    check(SetStory::Fill, 60).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_of_a_set_that_shrinks_takes_none_too_many() {
    check(SetStory::Shrink, 20).await;
}

/// A set that is filled and emptied, where the `number`th call of its passes fares so. False when there were not so
/// many.
async fn weathers(number: usize, handling: &Handling) -> bool {
    let concerns =
        |call: &Call| call.verb != "CALL" && (call.what == "machines" || call.what == "machinesets");
    let stage = stage(4);
    let census = Census::of(&stage);
    stage.plan_nth(number, concerns, handling);
    let _host = stage.host("host");
    until_stable(&stage, 4).await;
    census.begin();
    scale(&stage, 1);
    until_stable(&stage, 1).await;
    assert_eq!((census.most(), census.fewest()), (4, 1), "{handling:?} at {number}\n{}", stage.wire.trace());
    census.assert_no_name_twice();
    assert_eq!(stage.cloud.vms(), 1);
    stage.wire.records(concerns).len() >= number
}

#[tokio::test(start_paused = true)]
async fn an_api_server_in_trouble_at_any_request_makes_none_too_many() {
    for handling in [
        Handling::Refuse(500),
        Handling::Refuse(409),
        Handling::Refuse(429),
        Handling::Lose,
        Handling::LoseAnswer,
    ] {
        let moments = count_moments(async |number| weathers(number, &handling).await).await;
        assert!(moments >= 10, "{handling:?} concerned nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn caches_that_lag_make_none_too_many() {
    for lag in [20, 400, 5_000] {
        let stage = stage(30);
        let census = Census::of(&stage);
        stage.api.delay_watches(Duration::from_millis(lag));
        let _host = stage.host("host");
        until_stable(&stage, 30).await;
        census.begin();
        scale(&stage, 7);
        until_stable(&stage, 7).await;
        scale(&stage, 12);
        until_stable(&stage, 12).await;
        assert_eq!((census.most(), census.fewest()), (30, 7), "{lag} ms");
        census.assert_no_name_twice();
    }
}
