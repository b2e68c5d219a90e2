//! Pods with volumes, one after another.

use super::workload::{pod, with_volume};
use super::*;
use memory_api::wire::Handling;

fn with_priority(mut pod: Value, priority: i64) -> Value {
    pod["spec"]["priority"] = json!(priority);
    pod
}

async fn three() -> (Stage, Host, Workload) {
    let (stage, host) = running().await;
    let workload = Workload::start(&stage, PACE);
    let pods = [("db-0", 0), ("db-1", 5), ("db-2", 0)].map(|(name, priority)| {
        with_priority(with_volume(&stage, pod(name, "a"), &format!("v-{name}")), priority)
    });
    add(&stage, pods);
    add(&stage, [pod("web", "a")]);
    tokio::time::sleep(SECOND).await;
    (stage, host, workload)
}

/// Between two evictions: the pod's end, its volume's detachment, and its arrival elsewhere.
fn assert_in_turn(stage: &Stage) {
    let at = |name: &str| {
        let times = evicted_at(stage, name);
        assert_eq!(times.len(), 1, "{name} was evicted at {times:?}");
        times[0]
    };
    let pauses = [at("db-0") - at("db-1"), at("db-2") - at("db-0")];
    for pause in pauses {
        assert!(pause >= 10 * SECOND && pause < 20 * SECOND, "{pauses:?}");
    }
    let last = vm_ordered_away_at(stage) - at("db-2");
    assert!(last >= 3 * SECOND && last < 8 * SECOND, "the last volume left after {last:?}");
}

#[tokio::test(start_paused = true)]
async fn pods_with_volumes_go_in_turn_as_their_volumes_move() {
    let (stage, _host, _workload) = three().await;
    delete(&stage);
    stage.until_gone("a").await;
    assert_in_turn(&stage);
    assert!(evicted_at(&stage, "web")[0] - evicted_at(&stage, "db-1")[0] < SECOND);
    // What is behind a claim is asked once.
    let lookups =
        |what: &'static str| stage.wire.records(move |call| call.verb == "GET" && call.what == what);
    assert_eq!(lookups("persistentvolumeclaims").len(), 3);
    assert_eq!(lookups("persistentvolumes").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_middle_goes_on_where_it_was() {
    let (stage, host, _workload) = three().await;
    delete(&stage);
    stage.until("the first is gone", MINUTE, || is_gone(&stage, "db-1")).await;
    drop(host);
    tokio::time::sleep(SECOND).await;
    let _next = stage.host("next");
    stage.until_gone("a").await;
    assert_in_turn(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_restart_between_detachment_and_arrival_still_waits_for_the_arrival() {
    let (stage, host, _workload) = three().await;
    delete(&stage);
    let has_left = || stage.api.find("volumeattachments", "a-v-db-1").is_none();
    stage.until("the first volume has left", MINUTE, has_left).await;
    tokio::time::sleep(SECOND).await;
    let memory = stage.machine("a").unwrap()["status"]["machinist"]["drain"]["volumes"].clone();
    assert_eq!(memory[0]["name"], "v-db-1", "{memory}");
    drop(host);
    let _next = stage.host("next");
    stage.until_gone("a").await;
    assert_in_turn(&stage);
}

#[tokio::test(start_paused = true)]
async fn where_the_status_cannot_be_kept_only_the_wait_for_arrivals_is_skipped() {
    let (stage, _host, _workload) = three().await;
    stage.api.prune_own_status();
    delete(&stage);
    stage.until_gone("a").await;
    let at = |name: &str| evicted_at(&stage, name)[0];
    for pause in [at("db-0") - at("db-1"), at("db-2") - at("db-0")] {
        assert!(pause >= 3 * SECOND && pause < 20 * SECOND, "{pause:?}");
    }
    assert!(vm_ordered_away_at(&stage) - at("db-2") >= 3 * SECOND);
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_goes_ends_the_waiting() {
    let (stage, _host, _workload) = three().await;
    delete(&stage);
    stage.until("the first is asked", MINUTE, || !evicted_at(&stage, "db-1").is_empty()).await;
    let begun = stage.wire.elapsed();
    // Against our finalizer, which would keep it until the Machine is gone.
    stage.api.delete("nodes", "a").unwrap();
    stage.api.edit("nodes", "a", &json!({ "metadata": { "finalizers": null } })).unwrap();
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < 5 * SECOND);
    assert!(evicted_at(&stage, "db-0").is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_behind_a_claim_must_be_known_before_anything_with_volumes_is_called_gone() {
    let (stage, _host, _workload) = three().await;
    stage.wire.plan(|call: &Call| {
        if call.what == "persistentvolumeclaims" { Handling::Refuse(500) } else { Handling::Pass }
    });
    delete(&stage);
    tokio::time::sleep(3 * MINUTE).await;
    assert!(stage.wire.records(|call| call.what == "pods/eviction").is_empty());
    assert!(stage.wire.records(|call| call.calls("delete")).is_empty());
    let (status, _, message) = drained(&stage);
    assert!(status == "False" && message.contains("could not be listed"), "{message}");
    stage.wire.heal();
    stage.until_gone("a").await;
    assert_in_turn(&stage);
}

#[tokio::test(start_paused = true)]
async fn where_attachments_may_not_be_listed_volumes_wait_and_the_status_says_why() {
    let stage = Stage::set();
    stage.wire.plan(|call: &Call| {
        if call.what == "volumeattachments" && call.verb == "LIST" {
            Handling::Refuse(403)
        } else {
            Handling::Pass
        }
    });
    let _host = stage.host("host");
    stage.add_running("a").await;
    let _workload = Workload::start(&stage, PACE);
    add(&stage, [with_volume(&stage, pod("db-0", "a"), "v"), pod("web", "a")]);
    delete(&stage);
    stage.until("the other pod is gone", MINUTE, || is_gone(&stage, "web")).await;
    tokio::time::sleep(MINUTE).await;
    assert!(evicted_at(&stage, "db-0").is_empty());
    let (_, _, message) = drained(&stage);
    assert!(message.contains("let this host list and watch them"), "{message}");
    let begun = stage.wire.elapsed();
    stage.wire.heal();
    stage.until_gone("a").await;
    // The watch comes back within its longest pause, and the drain at once with it.
    let waited = evicted_at(&stage, "db-0")[0] - begun;
    assert!(waited < 31 * SECOND, "{waited:?}");
    assert!(vm_ordered_away_at(&stage) > evicted_at(&stage, "db-0")[0] + 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_only_the_driver_can_name_is_followed_by_what_the_node_says() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    let disk = with_volume(&stage, pod("db-0", "a"), "v");
    stage.api.delete("volumeattachments", "a-v").unwrap();
    let spec = json!({ "spec": { "csi": null, "awsElasticBlockStore": { "volumeID": "vol-9" } } });
    stage.api.edit("persistentvolumes", "v", &spec).unwrap();
    let attached = |name: &str| {
        let status = json!({ "status": { "volumesAttached": [{ "name": name, "devicePath": "" }] } });
        stage.api.edit_status("nodes", "a", &status).unwrap();
    };
    attached("kubernetes.io/aws-ebs/aws://zone/vol-9");
    add(&stage, [disk]);
    tokio::time::sleep(SECOND).await;
    delete(&stage);
    stage.until("the pod is gone", MINUTE, || is_gone(&stage, "db-0")).await;
    tokio::time::sleep(MINUTE).await;
    assert!(stage.wire.records(|call| call.calls("delete")).is_empty(), "the volume is still attached");
    assert_eq!(drained(&stage).0, "False");
    // Another volume, whose id only looks alike.
    let begun = stage.wire.elapsed();
    attached("kubernetes.io/aws-ebs/aws://zone/vol-90");
    stage.until_gone("a").await;
    assert!(vm_ordered_away_at(&stage) - begun < SECOND, "the change of the Node wakes the drain");
}

#[tokio::test(start_paused = true)]
async fn an_attachment_that_nobody_uses_is_let_go_of_in_time_also_where_the_status_cannot_be_kept() {
    let (stage, _host) = running().await;
    stage.api.prune_own_status();
    let stale = json!({
        "metadata": { "name": "stale" },
        "spec": { "attacher": "disk.sim", "nodeName": "a", "source": { "persistentVolumeName": "old" } },
        "status": { "attached": true },
    });
    put(&stage, "volumeattachments", &stale);
    tokio::time::sleep(SECOND).await;
    let begun = stage.wire.elapsed();
    delete(&stage);
    stage.until_gone("a").await;
    assert!(stage.api.find("volumeattachments", "stale").is_none());
    let waited = vm_ordered_away_at(&stage) - begun;
    assert!(waited >= 2 * MINUTE && waited < 2 * MINUTE + 15 * SECOND, "{waited:?}");
}
