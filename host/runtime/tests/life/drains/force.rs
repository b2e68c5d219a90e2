//! Drains that delete pods and attachments without waiting.

use super::workload::{ending_after, pod, with_volume};
use super::*;
use memory_api::wire::Handling;

const NEVER: Pace = Pace { detach: SignedDuration::from_hours(100), arrive: None };

fn inline_attachment() -> Value {
    json!({
        "metadata": { "name": "inline" },
        "spec": {
            "attacher": "disk.sim", "nodeName": "a",
            "source": { "inlineVolumeSpec": { "csi": { "driver": "disk.sim", "volumeHandle": "x" } } },
        },
        "status": { "attached": true },
    })
}

async fn hanging() -> (Stage, Host, Workload) {
    let (stage, host) = running().await;
    let workload = Workload::start(&stage, NEVER);
    let first = ending_after(with_volume(&stage, pod("db-0", "a"), "v1"), "never");
    let next = with_volume(&stage, pod("db-1", "a"), "v2");
    add(&stage, [first, next, ending_after(pod("plain", "a"), "never")]);
    put(&stage, "volumeattachments", &inline_attachment());
    tokio::time::sleep(SECOND).await;
    (stage, host, workload)
}

fn assert_forced(stage: &Stage) {
    for name in ["db-0", "db-1", "plain"] {
        assert_eq!(deleted_at(stage, "pods", name).len(), 1, "{name}");
        assert!(is_gone(stage, name));
    }
    let vm = vm_ordered_away_at(stage);
    for name in ["a-v1", "a-v2", "inline"] {
        let deleted = deleted_at(stage, "volumeattachments", name);
        assert_eq!(deleted.len(), 1, "{name}");
        assert!(deleted[0] < vm, "{name} was let go of after the VM");
    }
}

#[tokio::test(start_paused = true)]
async fn a_forced_deletion_deletes_pods_and_attachments_at_once_and_waits_for_nothing() {
    let (stage, _host, _workload) = hanging().await;
    let label = json!({ "metadata": { "labels": { "force-deletion": "True" } } });
    edit_machine(&stage, &label);
    let begun = stage.wire.elapsed();
    delete(&stage);
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < 5 * SECOND);
    assert!(stage.wire.records(|call| call.what == "pods/eviction").is_empty());
    assert_forced(&stage);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_drain_time_forces_with_the_attachments() {
    let (stage, _host, _workload) = hanging().await;
    drain_timeout(&stage, "90s");
    tokio::time::sleep(SECOND).await;
    let begun = stage.wire.elapsed();
    delete(&stage);
    stage.until_gone("a").await;
    let after = vm_ordered_away_at(&stage) - begun;
    assert!(after >= 89 * SECOND && after < 95 * SECOND, "{after:?}");
    assert!(evicted_at(&stage, "db-1").is_empty(), "evicted before its turn");
    assert_forced(&stage);
}

#[tokio::test(start_paused = true)]
async fn pods_that_cannot_be_deleted_do_not_hold_a_forced_deletion() {
    let (stage, _host, _workload) = hanging().await;
    edit_machine(&stage, &json!({ "metadata": { "labels": { "force-deletion": "True" } } }));
    stage.wire.plan(|call: &Call| {
        if call.verb == "DELETE" && call.what == "pods" { Handling::Refuse(403) } else { Handling::Pass }
    });
    delete(&stage);
    stage.until_gone("a").await;
    assert!(!is_gone(&stage, "plain"));
    assert!(stage.api.all("volumeattachments").is_empty());
}

const A_MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_host_that_comes_after_an_outage_fails_nobody_and_forces_no_drain_for_it() {
    let stage = Stage::set();
    let host = stage.candidate("one");
    let names = ["a", "b", "c"];
    for name in names {
        stage.add_machine(name);
    }
    for name in names {
        stage.until_running(name).await;
    }
    add(&stage, [ending_after(pod("db", "a"), "never")]);
    // The API server goes, and the host with it. When the server is back, it finds that no Node has reported.
    drop(host);
    tokio::time::sleep(10 * A_MINUTE).await;
    let forgotten = json!({ "metadata": { "annotations": { "machinist.dev/led-until": null } } });
    let lease = "shoot/machine-controller";
    let _ = stage.api.edit("leases", lease, &forgotten);
    for name in names {
        stage.report_ready_since(name, "Unknown", 10 * A_MINUTE);
    }
    let begun = stage.wire.len();
    let _next = stage.candidate("two");
    stage.until("Unknown", A_MINUTE, || stage.phase("a") == "Unknown").await;
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    tokio::time::sleep(4 * A_MINUTE).await;
    let by_force = |call: &memory_api::wire::Call| call.verb == "DELETE" && call.what == "pods";
    assert!(stage.wire.records_since(begun, by_force).is_empty(), "nothing is drained by force");
    assert!(stage.cloud.vms() == 3 && stage.phase("b") == "Unknown" && stage.phase("c") == "Unknown");
    stage.report_ready("b", "True");
    stage.report_ready("c", "True");
    stage.until_running("b").await;
    stage.until_running("c").await;
}

/// A host that comes when a forced deletion was asked for, and whose list of VolumeAttachments fares so.
async fn forced_under(
    handling: impl Fn() -> Handling + Send + Sync + 'static,
) -> (Stage, std::time::Duration, [Box<dyn std::any::Any>; 2]) {
    let (stage, host, workload) = hanging().await;
    drop(host);
    edit_machine(&stage, &json!({ "metadata": { "labels": { "force-deletion": "True" } } }));
    delete(&stage);
    stage.wire.plan(move |call: &Call| {
        if call.what == "volumeattachments" && call.verb == "LIST" { handling() } else { Handling::Pass }
    });
    let begun = stage.wire.elapsed();
    let next = stage.host("next");
    stage.until_gone("a").await;
    (stage, begun, [Box::new(next), Box::new(workload)])
}

#[tokio::test(start_paused = true)]
async fn a_forced_deletion_waits_for_the_list_of_attachments_of_a_host_that_has_just_come() {
    let (stage, begun, _running) = forced_under(|| Handling::Delay(5 * SECOND)).await;
    assert_forced(&stage);
    let (pods, vm) = (deleted_at(&stage, "pods", "db-0")[0], vm_ordered_away_at(&stage));
    assert!(pods - begun < 3 * SECOND, "pods do not wait for it: {:?}", pods - begun);
    assert!(vm - begun >= 5 * SECOND && vm - begun < 8 * SECOND, "{:?}", vm - begun);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_attachments_that_never_comes_holds_a_forced_deletion_for_a_minute() {
    let (stage, begun, _running) = forced_under(|| Handling::Refuse(403)).await;
    let waited = vm_ordered_away_at(&stage) - begun;
    assert!(waited >= MINUTE && waited < MINUTE + 5 * SECOND, "{waited:?}");
    assert!(deleted_at(&stage, "volumeattachments", "inline").is_empty());
}
