//! Deletions with pods, hooks, force, and with what they need missing.

use std::time::Duration;

use machinist_api::names::{annotations, labels};
use serde_json::{Value, json};

use crate::stage::{Stage, class, in_namespace, secret};
use memory_api::wire::{Call, Fate, table};

/// Longer than a pod of these tests takes to end.
const MOMENT: Duration = Duration::from_secs(60);

/// How long a pod takes to end when it is asked to.
const ENDS_AFTER: Duration = Duration::from_secs(3);

/// A Machine that runs.
async fn running() -> Stage {
    let stage = Stage::set();
    stage.add_machine("a");
    stage
}

fn add_pods(stage: &Stage, names: &[&str]) {
    for name in names {
        let pod = json!({
            "metadata": {
                "name": name, "namespace": "default", "labels": { "app": "web" },
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-1", "controller": true,
                }],
            },
            "spec": { "nodeName": "a", "terminationGracePeriodSeconds": 30, "containers": [] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        stage.api.create("pods", &pod).unwrap();
    }
}

/// Ends pods that were asked to go, as a kubelet does.
fn kubelet(stage: &Stage) -> tokio::task::JoinHandle<()> {
    let api = stage.api.clone();
    tokio::spawn(async move {
        loop {
            let ending = api.collect("pods", |pod| {
                let is_ending = pod["metadata"]["deletionTimestamp"].is_string();
                is_ending.then(|| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            });
            tokio::time::sleep(ENDS_AFTER).await;
            for name in ending {
                // It may have been deleted at once meanwhile.
                let _ = api.delete_within("pods", &format!("default/{name}"), Some(0));
            }
        }
    })
}

/// A budget that lets no pod go.
fn add_budget(stage: &Stage) {
    let budget = json!({
        "metadata": { "name": "web", "namespace": "default", "generation": 1 },
        "spec": { "minAvailable": 2, "selector": { "matchLabels": { "app": "web" } } },
        "status": {
            "observedGeneration": 1, "expectedPods": 2, "currentHealthy": 1, "desiredHealthy": 2,
            "disruptionsAllowed": 0,
        },
    });
    stage.api.create("poddisruptionbudgets", &budget).unwrap();
}

fn delete(stage: &Stage) {
    stage.api.delete("machines", &in_namespace("a")).unwrap();
}

fn annotate(stage: &Stage, key: &str, value: Option<&str>) {
    let patch = json!({ "metadata": { "annotations": { key: value } } });
    stage.api.edit("machines", &in_namespace("a"), &patch).unwrap();
}

fn label(stage: &Stage, key: &str, value: &str) {
    let patch = json!({ "metadata": { "labels": { key: value } } });
    stage.api.edit("machines", &in_namespace("a"), &patch).unwrap();
}

/// A condition of ours.
fn condition(stage: &Stage, kind: &str) -> Value {
    let machine = stage.machine("a").unwrap_or_default();
    let conditions = machine["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

fn description(stage: &Stage) -> String {
    let machine = stage.machine("a").unwrap_or_default();
    machine["status"]["lastOperation"]["description"].as_str().unwrap_or_default().to_owned()
}

fn for_machine(call: &Call) -> bool {
    call.is_request()
        && !matches!(call.name.as_str(), "small" | "account")
        && !matches!(call.what.as_str(), "events" | "pods/eviction")
}

fn vm_orders(stage: &Stage) -> usize {
    stage.wire.records(|call| call.calls("delete")).len()
}

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
async fn hooks_hold_the_drain_and_the_vm_until_they_are_taken_off() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    let _kubelet = kubelet(&stage);
    add_pods(&stage, &["web-0"]);
    let drain = format!("{}backup", annotations::PRE_DRAIN_HOOK);
    let terminate = format!("{}etcd", annotations::PRE_TERMINATE_HOOK);
    annotate(&stage, &drain, Some("someone"));
    annotate(&stage, &terminate, Some("someone"));
    delete(&stage);
    stage.until("the first hook is awaited", MOMENT, || stage.reason("a") == "PreDrainHooks").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let ready = condition(&stage, "Ready");
    assert!(ready["message"].as_str().unwrap().contains(&drain), "{ready}");
    let is_cordoned = || stage.api.find("nodes", "a").unwrap()["spec"]["unschedulable"] == true;
    assert!(!is_cordoned() && stage.api.count("pods") == 1, "{}", stage.wire.trace());
    annotate(&stage, &drain, None);
    stage.until("the second hook is awaited", MOMENT, || stage.reason("a") == "PreTerminateHooks").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((vm_orders(&stage), stage.api.count("pods")), (0, 0));
    assert_eq!(description(&stage), "Drain successful. Initiate VM deletion");
    annotate(&stage, &terminate, None);
    let begun = stage.wire.elapsed();
    stage.until_gone("a").await;
    let took = stage.wire.elapsed() - begun;
    assert!(took < Duration::from_secs(3), "{took:?}\n{}", stage.wire.trace());
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn no_hook_holds_for_ever_and_force_waits_for_none() {
    for is_forced in [false, true] {
        let stage = running().await;
        let host = stage.host("host");
        stage.until_running("a").await;
        annotate(&stage, &format!("{}x", annotations::PRE_DRAIN_HOOK), Some(""));
        annotate(&stage, &format!("{}y", annotations::PRE_TERMINATE_HOOK), Some(""));
        annotate(&stage, annotations::DELETION_HOOK_TIMEOUT, Some("5m"));
        if is_forced {
            label(&stage, labels::FORCE_DELETION, "true");
        }
        let begun = stage.wire.elapsed();
        delete(&stage);
        tokio::time::sleep(Duration::from_secs(450)).await;
        // The clock of the second hook is not in this process.
        drop(host);
        let _next = stage.host("next");
        stage.until_gone("a").await;
        let took = stage.wire.elapsed() - begun;
        let limit = Duration::from_secs(if is_forced { 0 } else { 600 });
        assert!(is_forced || (took >= limit && took < limit + Duration::from_secs(5)), "{took:?}");
        stage.assert_nothing_left();
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_class_is_awaited_after_the_drain_and_its_return_ends_the_wait() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    drop_class(&stage);
    delete(&stage);
    stage.until("it is said", MOMENT, || stage.reason("a") == "ClassMissing").await;
    let ready = condition(&stage, "Ready");
    let message = ready["message"].as_str().unwrap();
    assert!(message.contains("MachineClass small") && message.contains(annotations::VM_IS_GONE), "{message}");
    assert_eq!(condition(&stage, "Drained")["status"], "True");
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    assert_eq!(stage.cloud.vms(), 1);
    let begun = stage.wire.elapsed();
    stage.api.create("machineclasses", &class()).unwrap();
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(3), "{}", stage.wire.trace());
    stage.assert_nothing_left();
}

/// Against our finalizer, as only somebody with rights to it can.
fn drop_class(stage: &Stage) {
    let free = json!({ "metadata": { "finalizers": null } });
    stage.api.delete("machineclasses", &in_namespace("small")).unwrap();
    if stage.api.find("machineclasses", &in_namespace("small")).is_some() {
        stage.api.edit("machineclasses", &in_namespace("small"), &free).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn somebodys_word_that_the_vm_is_gone_lets_a_machine_go_that_nobody_else_can_end() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    drop_class(&stage);
    delete(&stage);
    stage.until("it is said", MOMENT, || stage.reason("a") == "ClassMissing").await;
    annotate(&stage, annotations::VM_IS_GONE, Some("true"));
    stage.until_gone("a").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(stage.events("a").contains(&"VmDeclaredGone".to_owned()), "{:?}", stage.events("a"));
    let note = stage.event_notes("a").into_iter().find(|note| note.contains("sim:///vm-1"));
    assert!(note.is_some(), "{:?}", stage.event_notes("a"));
    assert_eq!(stage.api.count("nodes"), 0);
}

#[tokio::test(start_paused = true)]
async fn somebodys_word_does_not_count_while_the_cloud_shows_the_vm() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    annotate(&stage, annotations::VM_IS_GONE, Some("true"));
    delete(&stage);
    stage.until_gone("a").await;
    assert_eq!(stage.cloud.vms(), 0, "the VM went first");
    assert!(vm_orders(&stage) > 0);
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_nobody_has_begun_to_make_goes_without_its_class() {
    let stage = Stage::empty();
    let _host = stage.host("host");
    let mut machine = crate::stage::machine("a");
    machine["metadata"]["finalizers"] = json!([machinist_api::names::finalizers::MACHINE]);
    stage.api.create("machines", &machine).unwrap();
    stage.until("its class is awaited", MOMENT, || stage.reason("a") == "ClassMissing").await;
    delete(&stage);
    let begun = stage.wire.elapsed();
    stage.until_gone("a").await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn without_its_secret_the_driver_is_asked_all_the_same() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    stage
        .api
        .edit("secrets", &in_namespace("account"), &json!({ "metadata": { "finalizers": null } }))
        .unwrap();
    stage.api.delete("secrets", &in_namespace("account")).unwrap();
    delete(&stage);
    tokio::time::sleep(Duration::from_secs(2)).await;
    if stage.machine("a").is_some() {
        stage.api.create("secrets", &secret()).unwrap();
    }
    stage.until_gone("a").await;
    assert!(vm_orders(&stage) > 0);
    assert_eq!(stage.cloud.vms(), 0);
}

/// What machine-controller-manager leaves at each of its steps, and whether pods are still asked to go from there on.
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
            if call.number == last { Fate::Crash(is_carried_out) } else { Fate::Pass }
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
