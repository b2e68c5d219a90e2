//! Hosts that crash between any two requests of a creation, a rollout or a deletion, and the next one, which continues.

use super::*;
use crate::fixture::stage::count_moments;

/// Lets the host die at the `number`th call of a rollout of two Machines. False when it was over before.
async fn survives(strategy: &Value, number: usize, is_carried_out: bool) -> bool {
    let stage = stage();
    let mut deployment = pool(2);
    deployment["spec"]["strategy"] = strategy.clone();
    let host = running(&stage, &deployment).await;
    let watcher = Watcher::of(&stage);
    stage.crash_at(number, is_carried_out);
    roll_to(&stage, "large");
    let Some(_next) = stage.next_after_crash(host, until_complete(&stage)).await else { return false };
    until_complete(&stage).await;
    watcher.assert_within(3, 1);
    assert_eq!(wanted(&stage), [("large".into(), 2), ("small".into(), 0)].into(), "call {number}");
    assert_tidy(&stage, 2);
    stage.assert_one_vm_each(4);
    true
}

async fn check(strategy: Value, is_carried_out: bool) {
    let moments = count_moments(async |number| survives(&strategy, number, is_carried_out).await).await;
    assert!(moments >= 40, "only {moments} moments");
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_any_request_of_a_rollout_breaks_no_promise() {
    check(rolling(1, 1), false).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_after_any_request_of_a_rollout_breaks_no_promise() {
    check(rolling(1, 1), true).await;
}

/// The same of a deployment of two Machines that is made.
async fn survives_creation(number: usize, is_carried_out: bool) -> bool {
    let stage = stage();
    let watcher = Watcher::of(&stage);
    let host = stage.host("host");
    stage.crash_at(number, is_carried_out);
    stage.api.create("machinedeployments", &pool(2)).unwrap();
    let Some(_next) = stage.next_after_crash(host, until_complete(&stage)).await else { return false };
    until_complete(&stage).await;
    watcher.assert_within(2, 0);
    assert_eq!(wanted(&stage), [("small".into(), 2)].into(), "call {number}");
    assert_tidy(&stage, 2);
    stage.assert_one_vm_each(2);
    true
}

/// The same of a deployment that is deleted in the middle of a rollout.
async fn survives_deletion(number: usize, is_carried_out: bool) -> bool {
    let stage = stage();
    let mut deployment = pool(2);
    deployment["spec"]["strategy"] = rolling(1, 0);
    let host = running(&stage, &deployment).await;
    roll_to(&stage, "large");
    tokio::time::sleep(SECOND).await;
    stage.crash_at(number, is_carried_out);
    stage.api.delete("machinedeployments", &in_namespace("pool")).unwrap();
    let is_gone = || stage.api.find("machinedeployments", &in_namespace("pool")).is_none();
    let Some(_next) = stage.next_after_crash(host, stage.until("it is gone", LONG, is_gone)).await else {
        return false;
    };
    stage.until("it is gone", LONG, is_gone).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(stage.api.count("machinesets"), 0, "call {number}");
    stage.assert_nothing_left();
    true
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_request_of_a_creation_makes_neither_more_nor_less() {
    for is_carried_out in [false, true] {
        let moments = count_moments(async |number| survives_creation(number, is_carried_out).await).await;
        assert!(moments >= 20, "only {moments} moments");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_request_of_a_deletion_leaves_nothing_behind() {
    for is_carried_out in [false, true] {
        let moments = count_moments(async |number| survives_deletion(number, is_carried_out).await).await;
        assert!(moments >= 20, "only {moments} moments");
    }
}
