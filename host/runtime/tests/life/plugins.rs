//! What becomes of a plugin shows on its ConfigMap.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::Stage;
use memory_api::wire::{Call, Fate};

const STATUS: &str = "machinist.dev/status";

fn declare(stage: &Stage) {
    let map = json!({
        "metadata": {
            "name": "driver", "namespace": "plugins", "labels": { "machinist.dev/plugin": "driver" },
        },
    });
    stage.api.create("configmaps", &map).unwrap();
}

fn status(stage: &Stage) -> Value {
    let map = stage.api.find("configmaps", "plugins/driver").unwrap();
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
        stage.tell_of_plugin(state);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(status(&stage), state);
        assert_eq!(stage.wire.records(is_status_write).len(), writes, "{}", stage.wire.trace());
    }
    assert_eq!(stage.events("driver"), ["PluginReady"; 3]);
}

#[tokio::test(start_paused = true)]
async fn the_last_state_stands_also_when_news_come_faster_than_the_watch_shows_them() {
    let stage = Stage::empty();
    declare(&stage);
    stage.api.delay_watches(Duration::from_secs(1));
    let host = stage.host("host");
    stage.until("the caches are complete", Duration::from_secs(5), || host.is_synced()).await;
    for (state, pause) in [("one", 5_000), ("two", 50), ("one", 50)] {
        stage.tell_of_plugin(state);
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
    stage.wire.plan(|call| if is_status_write(call) { Fate::Refuse(500) } else { Fate::Pass });
    stage.tell_of_plugin("one");
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
    stage.tell_of_plugin("one");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(stage.wire.records(|call| call.actor == "two" && is_status_write(call)).is_empty());
    let forget = json!({ "metadata": { "annotations": null } });
    stage.api.edit("configmaps", "plugins/driver", &forget).unwrap();
    one.end().await;
    stage.until("the next leader writes it", Duration::from_secs(20), || status(&stage) == "one").await;
}
