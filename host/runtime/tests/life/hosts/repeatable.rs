//! The same beginning leads to the same requests at the same times.

use std::time::Duration;

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, in_namespace};
use memory_api::wire::Handling;

/// A life with everything that could bring chance into it: many Machines, failures, broken watches, a crash, an
/// election.
async fn eventful() -> String {
    let habits = Habits { reads_lag: Duration::from_secs(3), ..Habits::default() };
    let kubelet_habits =
        KubeletHabits { heartbeat: Some(Duration::from_secs(10)), ..KubeletHabits::default() };
    let stage = Stage::with(habits, kubelet_habits);
    stage.add_class();
    let one = stage.candidate("one");
    let two = stage.candidate("two");
    stage.until("one of both leads", Duration::from_secs(5), || one.leads() || two.leads()).await;
    stage.wire.plan(|call| match call.number % 17 {
        3 if call.verb == "CALL" => Handling::Refuse(14),
        5 if call.is_write() => Handling::Refuse(429),
        7 if call.is_write() => Handling::LoseAnswer,
        11 if call.verb == "LIST" => Handling::Refuse(500),
        _ => Handling::Pass,
    });
    for number in 0..30 {
        stage.add_machine(&format!("m{number:02}"));
        tokio::time::sleep(Duration::from_millis(37)).await;
        if number % 10 == 0 {
            stage.api.drop_watches("one", None);
            stage.api.drop_watches("two", Some("nodes"));
            stage.api.compact();
        }
    }
    drop(one);
    tokio::time::sleep(Duration::from_secs(200)).await;
    for number in 0..30 {
        stage.api.delete("machines", &in_namespace(&format!("m{number:02}"))).unwrap();
    }
    stage.until("all are gone", Duration::from_secs(300), || stage.api.all("machines").is_empty()).await;
    let versions: Vec<String> = stage
        .api
        .all("events")
        .iter()
        .map(|event| event["metadata"]["resourceVersion"].to_string())
        .collect();
    format!("{}{}", stage.wire.trace(), versions.join(" "))
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let one = paused().block_on(eventful());
    assert!(one.lines().count() > 500, "it was eventful");
    for _ in 0..2 {
        let other = paused().block_on(eventful());
        let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        let at = one.lines().zip(other.lines()).position(|(one, other)| one != other).unwrap_or_default();
        let around = |trace: &str| {
            trace
                .lines()
                .skip(at.saturating_sub(12))
                .take(16)
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        assert_eq!(differs, None, "\n{}\nother:\n{}", around(&one), around(&other));
        assert_eq!(one.lines().count(), other.lines().count());
    }
}
