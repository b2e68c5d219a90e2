//! Hosts that die between any two requests of a rollout, and the next one that goes on.

use super::*;

/// Lets the host die at the `number`th call of a rollout of two Machines. False when it was over before.
async fn survives(strategy: &Value, number: usize, is_carried_out: bool) -> bool {
    let stage = stage();
    let mut deployment = pool(2);
    deployment["spec"]["strategy"] = strategy.clone();
    let host = running(&stage, &deployment).await;
    let watcher = Watcher::of(&stage);
    stage.crash_at(number, is_carried_out);
    roll_to(&stage, "large");
    tokio::select! {
        biased;
        () = stage.wire.crashed() => {}
        () = until_complete(&stage) => return false,
    }
    drop(host);
    stage.wire.heal();
    let _next = stage.host("next");
    until_complete(&stage).await;
    watcher.assert_within(3, 1);
    assert_eq!(wanted(&stage), [("large".into(), 2), ("small".into(), 0)].into(), "call {number}");
    assert_tidy(&stage, 2);
    stage.assert_one_vm_each(4);
    true
}

async fn check(strategy: Value, is_carried_out: bool) {
    let mut number = 1;
    while survives(&strategy, number, is_carried_out).await {
        number += 1;
    }
    assert!(number > 40, "only {} moments", number - 1);
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_any_request_of_a_rollout_breaks_no_promise() {
    check(rolling(1, 1), false).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_after_any_request_of_a_rollout_breaks_no_promise() {
    check(rolling(1, 1), true).await;
}
