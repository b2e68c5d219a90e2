//! The Node is drained first, forced or not.

use machinist_api::names::labels;

use super::*;
use memory_api::wire::{Fate, table};

#[tokio::test(start_paused = true)]
async fn pods_leave_before_the_vm_and_the_whole_deletion_costs_at_most_eight_writes() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    let _kubelet = kubelet(&stage);
    let names: Vec<String> = (0..10).map(|number| format!("web-{number}")).collect();
    add_pods(&stage, &names.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = stage.wire.len();
    delete(&stage);
    stage.until("the drain is told", MOMENT, || stage.reason("a") == "Draining").await;
    assert_eq!(stage.phase("a"), "Terminating");
    assert_eq!(description(&stage), "Initiate node drain");
    assert_eq!(condition(&stage, "Drained")["status"], "False");
    let node = stage.api.find("nodes", "a").unwrap();
    assert_eq!(node["spec"]["unschedulable"], true);
    let conditions = node["status"]["conditions"].as_array().unwrap();
    let terminating = conditions.iter().find(|condition| condition["type"] == "Terminating").unwrap();
    assert_eq!(terminating["reason"], "ScaleDown");
    assert_eq!(vm_orders(&stage), 0, "the VM stays while pods are on it");
    stage.until("the VM is ordered away", MOMENT, || vm_orders(&stage) > 0).await;
    assert_eq!(stage.api.count("pods"), 0);
    stage
        .until("the wait for it is told", MOMENT, || {
            stage.machine("a").is_none() || description(&stage) == "Drain successful. Initiate VM deletion"
        })
        .await;
    stage.until_gone("a").await;
    let writes = stage.wire.records_since(begun, |call| call.is_write() && for_machine(call));
    assert!(writes.len() <= 8, "{} writes:\n{}", writes.len(), table(&writes));
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_machine_without_pods_is_gone_within_two_seconds_beyond_the_clouds_own_time() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    let begun = stage.wire.elapsed();
    delete(&stage);
    stage.until_gone("a").await;
    let took = stage.wire.elapsed() - begun;
    assert!(took < Duration::from_secs(2), "{took:?}\n{}", stage.wire.trace());
}

#[tokio::test(start_paused = true)]
async fn a_budget_holds_the_vm_and_the_label_lets_it_go_at_once() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    let _kubelet = kubelet(&stage);
    add_budget(&stage);
    add_pods(&stage, &["web-0"]);
    delete(&stage);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((vm_orders(&stage), stage.api.count("pods")), (0, 1), "{}", stage.wire.trace());
    let drained = condition(&stage, "Drained");
    assert_eq!(drained["reason"], "Budget");
    assert!(drained["message"].as_str().unwrap().contains("default/web"), "{drained}");
    label(&stage, labels::FORCE_DELETION, "T");
    let begun = stage.wire.elapsed();
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(3), "{}", stage.wire.trace());
    assert_eq!(stage.api.count("pods"), 0);
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn the_drains_one_clock_ends_it_although_a_budget_holds() {
    let stage = running().await;
    let patch = json!({ "spec": { "drainTimeout": "20m" } });
    stage.api.edit("machines", &in_namespace("a"), &patch).unwrap();
    let host = stage.host("host");
    stage.until_running("a").await;
    add_budget(&stage);
    add_pods(&stage, &["web-0"]);
    let begun = stage.wire.elapsed();
    delete(&stage);
    tokio::time::sleep(Duration::from_secs(900)).await;
    // Another host goes on with the same clock.
    drop(host);
    let _next = stage.host("next");
    stage.until_gone("a").await;
    let took = stage.wire.elapsed() - begun;
    let limit = Duration::from_secs(1_200);
    assert!(took >= limit && took < limit + Duration::from_secs(5), "{took:?}");
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_node_that_is_not_ready_are_not_waited_for() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    add_budget(&stage);
    add_pods(&stage, &["web-0"]);
    let since = stage.clock.now().to_string();
    let conditions =
        json!([{ "type": "Ready", "status": "Unknown", "reason": "Away", "lastTransitionTime": since }]);
    stage.api.edit_status("nodes", "a", &json!({ "status": { "conditions": conditions } })).unwrap();
    delete(&stage);
    tokio::time::sleep(Duration::from_secs(280)).await;
    assert_eq!(vm_orders(&stage), 0);
    let begun = stage.wire.elapsed();
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(60), "{}", stage.wire.trace());
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_forced_deletion_goes_on_while_the_drains_requests_fail() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    add_pods(&stage, &["web-0"]);
    label(&stage, labels::FORCE_DELETION, "true");
    stage.wire.plan(|call: &Call| {
        let is_of_drain = matches!(call.what.as_str(), "pods" | "nodes/status") && call.verb != "WATCH";
        if is_of_drain { Fate::Refuse(500) } else { Fate::Pass }
    });
    delete(&stage);
    stage.until("the VM is gone", MOMENT, || stage.cloud.vms() == 0).await;
    stage.wire.heal();
    stage.until_gone("a").await;
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn without_a_target_cluster_nothing_is_drained_and_the_status_says_so() {
    let stage = Stage::set();
    let _host = stage.host_without_target("host");
    stage.add_machine("a");
    stage.until("it is made", MOMENT, || stage.phase("a") == "Available").await;
    delete(&stage);
    let expected = "Running without target cluster, skipping node drain and volume attachment deletion. Initiate VM deletion";
    stage.until("the sentence is there", MOMENT, || description(&stage) == expected).await;
    stage.until_gone("a").await;
    assert_eq!(stage.cloud.vms(), 0);
    assert_eq!(stage.machine("a"), None);
}
