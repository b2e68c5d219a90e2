//! The requests, Events and statuses of a deletion.

use memory_api::wire::{Record, table};

use super::*;

/// The messages and requests of the deletion of a running Machine whose pods take so long to end.
async fn deletion(pods: usize, takes: Duration) -> (Vec<String>, Vec<Record>) {
    deletion_behind(Duration::ZERO, pods, takes).await
}

/// The same by a host whose watches tell everything so much later.
async fn deletion_behind(lag: Duration, pods: usize, takes: Duration) -> (Vec<String>, Vec<Record>) {
    let stage = running().await;
    stage.api.delay_watches(lag);
    let _host = stage.host("host");
    stage.until_running("a").await;
    tokio::time::sleep(11 * MOMENT).await;
    let names: Vec<String> = (0..pods).map(|number| format!("web-{number}")).collect();
    add_pods(&stage, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let _kubelet = kubelet_that_takes(&stage, takes);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (begun, events) = (stage.wire.len(), stage.events("a").len());
    delete(&stage);
    stage.until_gone("a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.assert_nothing_left();
    let asked = stage.wire.records_since(begun, |call| {
        !matches!(call.what.as_str(), "events" | "pods/eviction" | "machineclasses")
            && !call.name.starts_with("machinist-")
    });
    (stage.events("a").split_off(events), asked)
}

fn count(asked: &[Record], verb: &str) -> usize {
    asked.iter().filter(|record| record.call.verb == verb).count()
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_deletion_tell_each_change_once() {
    let (reported, _) = deletion(0, ENDS_AFTER).await;
    assert_eq!(reported, ["VmTerminating"]);
    let (reported, _) = deletion(3, ENDS_AFTER).await;
    assert_eq!(reported, ["Draining", "VmTerminating"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_asks_for_nothing_that_is_not_there_and_for_nothing_twice() {
    let (_, asked) = deletion(0, ENDS_AFTER).await;
    let writes = count(&asked, "PATCH") + count(&asked, "DELETE");
    assert_eq!(writes, 7, "{}", table(&asked));
    assert_eq!((count(&asked, "GET"), count(&asked, "LIST")), (0, 3), "{}", table(&asked));
    assert!(asked.iter().all(|record| record.code != Some(404)), "{}", table(&asked));
    assert_eq!(asked.iter().filter(|record| record.call.calls("delete")).count(), 1, "{}", table(&asked));
}

#[tokio::test(start_paused = true)]
async fn watches_that_lag_let_a_deletion_ask_for_nothing_that_is_gone() {
    for (pods, most) in [(0, 7), (3, 8)] {
        let (reported, asked) = deletion_behind(Duration::from_millis(100), pods, ENDS_AFTER).await;
        let writes = count(&asked, "PATCH") + count(&asked, "DELETE");
        assert!(writes <= most, "{}", table(&asked));
        assert!(asked.iter().all(|record| record.code != Some(404)), "{}", table(&asked));
        assert_eq!(reported.last().map(String::as_str), Some("VmTerminating"), "{reported:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_pods_that_end_within_their_grace_period_costs_eight_writes_at_most() {
    for takes in [1, 3, 14] {
        let (_, asked) = deletion(10, Duration::from_secs(takes)).await;
        let writes = count(&asked, "PATCH") + count(&asked, "DELETE");
        assert!(writes <= 8 && count(&asked, "GET") == 0, "{takes} s:\n{}", table(&asked));
    }
}

#[tokio::test(start_paused = true)]
async fn pods_that_do_not_leave_within_seconds_are_named() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    add_pods(&stage, &["web-0", "web-1"]);
    delete(&stage);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let message = || condition(&stage, "Drained")["message"].as_str().unwrap_or_default().to_owned();
    assert!(message().contains("asked a moment ago"), "{}", message());
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(
        message().contains("2 pods (default/web-0, default/web-1) end within the grace period"),
        "{}",
        message()
    );
}
