//! Events: in time, in order, and by the group that takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::fixture::stage::Stage;
use memory_api::wire::{Call, Handling};

fn is_event(call: &Call) -> bool {
    matches!(call.what.as_str(), "events" | "v1/events")
}

/// The Events, and their delay: by object, in the order of writing.
fn ages(stage: &Stage, answers_after: Duration) -> BTreeMap<String, Vec<(Timestamp, SignedDuration)>> {
    let begin = stage.clock.now() - stage.wire.elapsed();
    let mut ages: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for record in stage.wire.records(|call| is_event(call) && call.verb == "POST") {
        let event = stage.api.find("events", &format!("shoot/{}", record.call.name)).unwrap();
        let happened: Timestamp = event["eventTime"].as_str().unwrap().parse().unwrap();
        let written = begin + record.at + answers_after;
        let about = event["regarding"]["name"].as_str().unwrap().to_owned();
        ages.entry(about).or_default().push((happened, written.duration_since(happened)));
    }
    ages
}

#[tokio::test(start_paused = true)]
async fn events_of_two_hundred_machines_made_at_once_are_written_within_two_seconds_and_in_order() {
    let stage = Stage::set();
    let answers_after = Duration::from_millis(50);
    stage.wire.plan(move |call| if is_event(call) { Handling::Delay(answers_after) } else { Handling::Pass });
    let _host = stage.host("host");
    tokio::time::sleep(Duration::from_secs(1)).await;
    for number in 0..200 {
        stage.add_machine(&format!("m{number:03}"));
    }
    let is_done = || (0..200).all(|number| stage.phase(&format!("m{number:03}")) == "Running");
    stage.until("all are Running", Duration::from_secs(60), is_done).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let by_object = ages(&stage, answers_after);
    for (object, events) in &by_object {
        assert!(events.is_sorted_by_key(|(happened, _)| *happened), "{object}: {events:?}");
    }
    let mut all: Vec<SignedDuration> = by_object.values().flatten().map(|(_, age)| *age).collect();
    all.sort_unstable();
    assert!(all.len() >= 400, "{} Events", all.len());
    let p99 = all[all.len() * 99 / 100];
    assert!(p99 < SignedDuration::from_secs(2), "p99 of {} Events is {p99:?}", all.len());
}

#[tokio::test(start_paused = true)]
async fn where_the_group_of_events_is_forbidden_they_are_written_as_events_of_the_core_group() {
    falls_back_to_the_core_group(403).await;
}

#[tokio::test(start_paused = true)]
async fn where_the_group_of_events_is_not_served_they_are_written_as_events_of_the_core_group() {
    falls_back_to_the_core_group(404).await;
}

async fn falls_back_to_the_core_group(code: u16) {
    let stage = Stage::set();
    stage.wire.plan(move |call| if call.what == "events" { Handling::Refuse(code) } else { Handling::Pass });
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = || stage.wire.records(|call| call.what == "events").len();
    assert_eq!(refused(), 1, "asked once:\n{}", stage.wire.trace());
    assert!(stage.events("a").contains(&"NodeHealthy".to_owned()), "{:?}", stage.events("a"));
    for event in stage.api.all("events") {
        for field in ["message", "reason", "reportingComponent", "reportingInstance", "action", "type"] {
            assert!(
                event[field].as_str().is_some_and(|text| !text.is_empty()),
                "{field} is missing in {event}"
            );
        }
        assert_eq!(event["involvedObject"]["kind"], "Machine");
        assert!(event["eventTime"] != Value::Null && event["lastTimestamp"] != Value::Null);
    }
    // Somebody grants it.
    stage.wire.heal();
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    stage.report_ready("a", "False");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(refused(), 2, "it was tried again");
}

#[tokio::test(start_paused = true)]
async fn where_neither_group_is_served_each_event_is_tried_once_and_machines_run() {
    let stage = Stage::set();
    stage.wire.plan(|call| if is_event(call) { Handling::Refuse(404) } else { Handling::Pass });
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let named = |group: &str| {
        let records = stage.wire.records(|call| call.what == group && call.verb == "POST");
        records.into_iter().map(|record| record.call.name).collect::<Vec<_>>()
    };
    let core = named("v1/events");
    let once: BTreeSet<&String> = core.iter().collect();
    assert!(!core.is_empty() && once.len() == core.len(), "{core:?}");
    assert_eq!(named("events").len(), 1, "{}", stage.wire.trace());
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_server_refuses_for_now_is_written_a_moment_later_and_once() {
    let stage = Stage::set();
    let mut seen = 0;
    stage.wire.plan(move |call| {
        seen += usize::from(is_event(call));
        match seen {
            1 if is_event(call) => Handling::Refuse(429),
            2 if is_event(call) => Handling::LoseAnswer,
            _ => Handling::Pass,
        }
    });
    let _host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let reported = stage.events("a");
    let posts = stage.wire.records(|call| is_event(call) && call.verb == "POST").len();
    assert_eq!(posts, reported.len() + 2, "two were tried twice: {reported:?}\n{}", stage.wire.trace());
}
