//! Deletions that another controller, or a host that crashed, has begun.

use machinist_api::names::annotations;

use super::*;
use memory_api::wire::Handling;

/// The state that machine-controller-manager leaves at each of its steps, and whether pods are still evicted from there
/// on.
const LEFT: [(&str, bool); 13] = [
    ("Deleting machine from cloud provider", true),
    ("Set machine status to termination. Now, getting VM Status", true),
    ("VM was not found at provider. Moving forward to node drain. Initiate node drain", true),
    ("Initiate node drain", true),
    ("Drain failed due to - some error. Will retry in next sync. Initiate node drain", true),
    ("Force Drain successful. Delete Volume Attachments", false),
    (
        "Drain failed due to - some error. However, since it's a force deletion shall continue deletion of VM. \
         Delete Volume Attachments",
        false,
    ),
    ("Drain successful. Initiate VM deletion", false),
    (
        "VM deletion failed due to - some error. However, will re-try in the next resync. Initiate VM deletion",
        false,
    ),
    ("VM deletion was successful. Initiate node object deletion", false),
    ("VM not found. Continuing deletion flow. Initiate node object deletion", false),
    ("No node object found for \"a\". Initiate machine object finalizer removal", false),
    ("a sentence that nobody knows", true),
];

#[tokio::test(start_paused = true)]
async fn a_deletion_that_the_other_controller_left_at_any_step_comes_to_its_end() {
    for (left, is_drained) in LEFT {
        let stage = running().await;
        let host = stage.host("host");
        stage.until_running("a").await;
        host.end().await;
        add_budget(&stage);
        add_pods(&stage, &["web-0"]);
        delete(&stage);
        let now = stage.clock.now().to_string();
        let status = json!({
            "currentStatus": { "phase": "Terminating", "lastUpdateTime": now, "timeoutActive": false },
            "lastOperation": {
                "type": "Delete", "state": "Processing", "description": left, "lastUpdateTime": now,
            },
        });
        stage.api.edit_status("machines", &in_namespace("a"), &json!({ "status": status })).unwrap();
        let _next = stage.host("next");
        tokio::time::sleep(MOMENT).await;
        let has_ended = stage.machine("a").is_none();
        assert_eq!(has_ended, !is_drained, "{left}\n{}", stage.wire.trace());
        stage.api.delete("poddisruptionbudgets", "default/web").unwrap();
        let _kubelet = kubelet(&stage);
        stage.until_gone("a").await;
        stage.assert_nothing_left();
    }
}

/// Lets the host die at the `number`th request of a deletion with a pod and hooks that have run out.
async fn survives(number: usize, is_carried_out: bool) -> bool {
    let stage = running().await;
    let host = stage.host("host");
    stage.until_running("a").await;
    let kubelet = kubelet(&stage);
    add_pods(&stage, &["web-0"]);
    annotate(&stage, &format!("{}x", annotations::PRE_TERMINATE_HOOK), Some(""));
    annotate(&stage, annotations::DELETION_HOOK_TIMEOUT, Some("10s"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let last = stage.wire.len() + number;
    stage.wire.plan(
        move |call: &Call| {
            if call.number == last { Handling::Crash(is_carried_out) } else { Handling::Pass }
        },
    );
    delete(&stage);
    let is_over = tokio::select! {
        biased;
        () = stage.wire.crashed() => false,
        () = stage.until_gone("a") => true,
    };
    drop(host);
    stage.wire.heal();
    if !is_over {
        let _next = stage.host("next");
        stage.until_gone("a").await;
        stage.assert_nothing_left();
        stage.assert_one_vm_each(1);
        assert_eq!(stage.api.count("pods"), 0);
    }
    kubelet.abort();
    !is_over
}

#[tokio::test(start_paused = true)]
async fn a_host_that_dies_at_any_request_of_a_deletion_with_pods_and_hooks_leaves_nothing() {
    for is_carried_out in [false, true] {
        let mut number = 1;
        while survives(number, is_carried_out).await {
            number += 1;
            assert!(number < 80, "a deletion is short");
        }
        assert!(number > 12, "only {number} requests");
    }
}
