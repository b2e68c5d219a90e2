//! The state of a plugin is reported on its ConfigMap.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::stage::Stage;
use memory_api::wire::{Call, Handling};

const STATUS: &str = "machinist.dev/status";

fn declare(stage: &Stage) {
    declare_in(stage, "driver");
}

fn declare_in(stage: &Stage, name: &str) {
    let labels = json!({ "machinist.dev/plugin": "driver" });
    let map = json!({ "metadata": { "name": name, "namespace": "plugins", "labels": labels } });
    stage.api.create("configmaps", &map).unwrap();
}

fn status(stage: &Stage) -> Value {
    status_in(stage, "driver")
}

fn status_in(stage: &Stage, name: &str) -> Value {
    let map = stage.api.find("configmaps", &format!("plugins/{name}")).unwrap();
    map["metadata"]["annotations"][STATUS].clone()
}

fn is_status_write(call: &Call) -> bool {
    call.is_write() && call.what == "configmaps"
}

#[tokio::test(start_paused = true)]
async fn the_state_of_a_plugin_is_written_once_and_again_only_when_it_changes() {
    let stage = Stage::empty();
    declare(&stage);
    let host = stage.host("host");
    stage.until("the caches are complete", Duration::from_secs(1), || host.is_synced()).await;
    for (state, writes) in [("one", 1), ("one", 1), ("two", 2), ("one", 3)] {
        stage.report_plugin(state);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(status(&stage), state);
        assert_eq!(stage.wire.records(is_status_write).len(), writes, "{}", stage.wire.trace());
    }
    assert_eq!(stage.events("driver"), ["PluginReady"; 3]);
}

#[tokio::test(start_paused = true)]
async fn the_last_state_counts_also_when_changes_come_faster_than_the_watch_shows_them() {
    let stage = Stage::empty();
    declare(&stage);
    stage.api.delay_watches(Duration::from_secs(1));
    let host = stage.host("host");
    stage.until("the caches are complete", Duration::from_secs(5), || host.is_synced()).await;
    for (state, pause) in [("one", 5_000), ("two", 50), ("one", 50)] {
        stage.report_plugin(state);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(status(&stage), "one");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_written_is_written_later() {
    let stage = Stage::empty();
    declare(&stage);
    let host = stage.host("host");
    stage.until("the caches are complete", Duration::from_secs(1), || host.is_synced()).await;
    stage.wire.plan(|call| if is_status_write(call) { Handling::Refuse(500) } else { Handling::Pass });
    stage.report_plugin("one");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(status(&stage), Value::Null);
    stage.wire.heal();
    stage.until("it is written", Duration::from_secs(6), || status(&stage) == "one").await;
    assert_eq!(stage.events("driver"), ["PluginReady"]);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_writes_no_state_and_writes_it_once_it_leads() {
    let stage = Stage::empty();
    declare(&stage);
    let one = stage.candidate("one");
    stage.until("it leads", Duration::from_secs(5), || one.leads()).await;
    let two = stage.candidate("two");
    stage.until("the caches are complete", Duration::from_secs(5), || two.is_synced()).await;
    stage.report_plugin("one");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(stage.wire.records(|call| call.actor == "two" && is_status_write(call)).is_empty());
    let forget = json!({ "metadata": { "annotations": null } });
    stage.api.edit("configmaps", "plugins/driver", &forget).unwrap();
    one.end().await;
    stage.until("the next leader writes it", Duration::from_secs(20), || status(&stage) == "one").await;
}

/// The server never answers the write of this ConfigMap's status.
fn hang(stage: &Stage, name: &'static str) {
    stage.wire.plan(
        move |call| {
            if is_status_write(call) && call.name == name { Handling::Hang } else { Handling::Pass }
        },
    );
}

#[tokio::test(start_paused = true)]
async fn a_status_write_that_hangs_delays_no_change_of_another_plugin_and_then_only_the_newest_is_written() {
    let (stage, moment) = (Stage::empty(), Duration::from_secs(1));
    declare(&stage);
    let host = stage.host("host");
    stage.until("the caches are complete", moment, || host.is_synced()).await;
    hang(&stage, "driver");
    stage.report_plugin("one");
    tokio::time::sleep(moment).await;
    declare_in(&stage, "other");
    let is_declared = || stage.declared.lock().unwrap().contains(&"other".to_owned());
    stage.until("the other one is declared", moment, is_declared).await;
    stage.report_plugin_in("other", "ready");
    stage.until("its status is written", moment, || status_in(&stage, "other") == "ready").await;
    assert_eq!(status(&stage), Value::Null);

    stage.report_plugin("two");
    stage.report_plugin("three");
    tokio::time::sleep(moment).await;
    let writes = || stage.wire.records(|call| is_status_write(call) && call.name == "driver").len();
    assert_eq!(writes(), 1, "one at a time");
    stage.wire.heal();
    stage.until("it is written", Duration::from_secs(40), || status(&stage) == "three").await;
    tokio::time::sleep(moment).await;
    assert_eq!(writes(), 2, "{}", stage.wire.trace());
    assert_eq!(stage.event_notes("driver"), ["serves three"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_ends_waits_for_no_status_write() {
    let stage = Stage::empty();
    declare(&stage);
    let host = stage.host("host");
    stage.until("the caches are complete", Duration::from_secs(1), || host.is_synced()).await;
    hang(&stage, "driver");
    stage.report_plugin("one");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = stage.wire.elapsed();
    host.end().await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(2), "{:?}", stage.wire.elapsed() - begun);
}
