//! Names that are taken, Nodes under other names, VMs that vanish, and tokens that cannot be written.

use std::time::Duration;

use machinist_core::driver::CloudCondition;
use memory_api::wire::{Call, Handling};
use serde_json::{Value, json};

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Stage, in_namespace};
use crate::owners::sets;

const SOON: Duration = Duration::from_secs(10);
const MINUTE: Duration = Duration::from_secs(60);
const MARK: &str = "node.gardener.cloud/machine-name";

/// A Node that was there before: of this VM, if any, marked by this Machine, if any. Its kubelet lives.
fn add_stale(stage: &Stage, name: &str, provider_id: Option<&str>, mark: Option<&str>) -> Value {
    let now = stage.clock.now().to_string();
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Kubelet", "lastTransitionTime": now });
    let mut node = json!({ "metadata": { "name": name }, "status": { "conditions": [ready] } });
    if let Some(id) = provider_id {
        node["spec"] = json!({ "providerID": id });
    }
    if let Some(mark) = mark {
        node["metadata"]["labels"] = json!({ MARK: mark });
    }
    stage.api.create("nodes", &node).unwrap();
    stage.api.find("nodes", name).unwrap()
}

fn last_operation(stage: &Stage, name: &str) -> String {
    let machine = stage.machine(name).unwrap();
    machine["status"]["lastOperation"]["description"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_nodes_name_is_taken_fails_within_seconds_and_the_node_is_left_alone() {
    for (provider_id, mark) in
        [(Some("sim:///vm-99"), None), (None, Some("gone")), (Some("other://7"), Some("gone"))]
    {
        let stage = Stage::set();
        let before = add_stale(&stage, "a", provider_id, mark);
        let _host = stage.host("host");
        stage.add_machine("a");
        stage.until("it fails", SOON, || stage.phase("a") == "Failed").await;
        assert_eq!(last_operation(&stage, "a"), "VM using old node obj");
        tokio::time::sleep(30 * MINUTE).await;
        assert_eq!(stage.phase("a"), "Failed", "{provider_id:?} {mark:?}");
        stage.api.delete("machines", &in_namespace("a")).unwrap();
        stage.until_gone("a").await;
        assert_eq!(stage.cloud.vms(), 0);
        let after = stage.api.find("nodes", "a").unwrap();
        for part in ["labels", "finalizers", "deletionTimestamp"] {
            assert_eq!(after["metadata"][part], before["metadata"][part], "{part}");
        }
        assert_eq!(after["spec"], before["spec"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_set_replaces_it_at_once_and_where_each_name_is_taken_with_growing_pauses() {
    let stage = sets::stage(1);
    let _host = stage.host("host");
    // Each name is taken as soon as it is known.
    let begun = stage.wire.elapsed();
    let mut taken: Vec<String> = Vec::new();
    while stage.wire.elapsed() - begun < 60 * MINUTE {
        for name in sets::names(&stage).into_iter().filter(|name| !taken.contains(name)).collect::<Vec<_>>() {
            add_stale(&stage, &name, Some(&format!("sim:///vm-of-another-{}", taken.len())), None);
            taken.push(name);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        if stage.wire.elapsed() - begun < MINUTE {
            assert!(taken.len() <= 3, "{taken:?}");
        }
    }
    assert!((5..=9).contains(&taken.len()), "in an hour: {taken:?}");
    assert!(stage.cloud.vms() <= 2, "{}", stage.cloud.vms());
    // From here on names are free.
    let running = || sets::running(&stage) == 1;
    stage.until("it runs", 25 * MINUTE, running).await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_becomes_free_is_waited_for() {
    let stage = Stage::set();
    add_stale(&stage, "a", Some("sim:///vm-99"), None);
    let held = json!({ "metadata": { "finalizers": ["example.org/cloud"] } });
    stage.api.edit("nodes", "a", &held).unwrap();
    stage.api.delete("nodes", "a").unwrap();
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("it waits", SOON, || stage.reason("a") == "NodeNameTaken").await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(stage.phase("a"), "Pending");
}

#[tokio::test(start_paused = true)]
async fn a_node_under_another_name_than_the_driver_said_is_found_by_its_provider_id() {
    let habits = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("it waits", SOON, || stage.phase("a") == "Pending").await;
    let vm = stage.machine("a").unwrap()["spec"]["providerID"].as_str().unwrap().to_owned();
    add_stale(&stage, "ip-10-0-0-7", Some(&vm), None);
    stage.until("it runs", SOON, || stage.phase("a") == "Running").await;
    assert_eq!(stage.machine("a").unwrap()["metadata"]["labels"]["node"], "ip-10-0-0-7");
    let node = stage.api.find("nodes", "ip-10-0-0-7").unwrap();
    assert_eq!(node["metadata"]["labels"][MARK], "a");
    // From here on it is as any other.
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    assert!(stage.api.find("nodes", "ip-10-0-0-7").is_none() && stage.cloud.vms() == 0);
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_vanishes_is_reported_within_two_hours_and_its_healthy_node_keeps_its_machine() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let addresses = stage.machine("a").unwrap()["status"]["addresses"].clone();
    assert_eq!(addresses, json!([{ "type": "Hostname", "address": "a" }]));
    tokio::time::sleep(2 * MINUTE).await;
    let begun = stage.wire.len();
    tokio::time::sleep(600 * MINUTE).await;
    let looks = stage.wire.records_since(begun, |call: &Call| call.verb == "CALL").len();
    assert!((8..=11).contains(&looks), "about once an hour: {looks}");
    stage.cloud.lose("a");
    stage.until("it is told", 120 * MINUTE, || stage.reported("a", "VmPresent").1 == "VmGone").await;
    tokio::time::sleep(120 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.reason("a").as_str()), ("Running", "NodeHealthy"));
    assert!(stage.events("a").contains(&"VmGone".to_owned()), "{:?}", stage.events("a"));
    stage.report_ready("a", "Unknown");
    stage.until("it fails", 15 * MINUTE, || stage.phase("a") == "Failed").await;
}

#[tokio::test(start_paused = true)]
async fn what_the_cloud_says_of_a_vm_is_in_the_status_and_in_an_event_and_harms_nobody() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let text = str::to_owned;
    let retires = CloudCondition {
        kind: text("Retirement"),
        status: text("True"),
        reason: text("HostDegraded"),
        message: text("stops on the first"),
    };
    stage.cloud.says("a", &[retires]);
    let of_vm = || stage.machine("a").unwrap()["status"]["machinist"]["vm"]["conditions"].clone();
    let is_reported = || of_vm()[0]["type"] == "Retirement" && of_vm()[0]["message"] == "stops on the first";
    stage.until("the status has it", 120 * MINUTE, is_reported).await;
    let events = || stage.events("a").into_iter().filter(|reason| reason == "VmChanged").count();
    assert_eq!(events(), 1, "{:?}", stage.events("a"));
    tokio::time::sleep(240 * MINUTE).await;
    assert_eq!((events(), stage.phase("a").as_str()), (1, "Running"), "what stays is told once");
    stage.cloud.says("a", &[]);
    stage.until("it is told no more", 120 * MINUTE, || of_vm().as_array().is_none_or(Vec::is_empty)).await;
    let is_reported =
        || stage.event_notes("a").iter().any(|note| note.contains("Retirement is told no more"));
    stage.until("an Event tells it", MINUTE, is_reported).await;
}

#[tokio::test(start_paused = true)]
async fn the_time_to_join_is_noted_within_a_minute() {
    let stage = Stage::set();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let noted = || {
        let machine = stage.machine("a").unwrap();
        let annotations = machine["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.keys().any(|key| key.contains("join"))
    };
    stage.until("it is noted", MINUTE, noted).await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_may_not_be_deleted_keeps_no_machine_from_running_and_is_reported() {
    let stage = Stage::set();
    stage.wire.plan(|call: &Call| {
        if call.verb == "DELETE" && call.what == "secrets" { Handling::Refuse(403) } else { Handling::Pass }
    });
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("it runs", MINUTE, || stage.phase("a") == "Running").await;
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.reason("a"), "NodeHealthy");
    assert_eq!(stage.events("a").iter().filter(|reason| *reason == "TokenKept").count(), 1);
    let deletes = stage.wire.records(|call: &Call| call.verb == "DELETE" && call.what == "secrets").len();
    assert_eq!(deletes, 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_whose_deletion_fails_is_deleted_later() {
    let stage = Stage::set();
    let mut left = 3;
    stage.wire.plan(move |call: &Call| {
        let is_it = call.verb == "DELETE" && call.what == "secrets" && left > 0;
        left -= i32::from(is_it);
        if is_it { Handling::Refuse(500) } else { Handling::Pass }
    });
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until("it runs", MINUTE, || stage.phase("a") == "Running").await;
    stage.until("the token is gone", 10 * MINUTE, || stage.tokens().is_empty()).await;
    assert_eq!(stage.phase("a"), "Running");
}

#[tokio::test(start_paused = true)]
async fn under_the_rights_of_machine_controller_manager_a_token_is_extended_by_being_replaced() {
    for may_delete in [true, false] {
        let habits = KubeletHabits { never_joins: true, ..KubeletHabits::default() };
        let stage = Stage::with(Habits::default(), habits);
        stage.add_class();
        let host = stage.host("host");
        stage.add_machine("a");
        stage.until("it waits", SOON, || stage.phase("a") == "Pending").await;
        let token = || {
            let all = stage.api.all("secrets").into_iter();
            all.into_iter().find(|secret| secret["type"] == "bootstrap.kubernetes.io/token").unwrap()
        };
        let before = token();
        stage.wire.plan(move |call: &Call| {
            let is_secret = call.what == "secrets";
            let is_refused = call.verb == "PATCH" || (call.verb == "DELETE" && !may_delete);
            if is_secret && is_refused { Handling::Refuse(403) } else { Handling::Pass }
        });
        // The Machine has more time than before.
        let longer = json!({ "spec": { "creationTimeout": "2h" } });
        stage.api.edit("machines", &in_namespace("a"), &longer).unwrap();
        tokio::time::sleep(MINUTE).await;
        let after = token();
        assert_eq!(after["data"]["token-secret"], before["data"]["token-secret"]);
        assert_eq!(after["metadata"]["name"], before["metadata"]["name"]);
        let has_changed = after["data"]["expiration"] != before["data"]["expiration"];
        assert_eq!(has_changed, may_delete);
        assert_eq!(stage.phase("a"), "Pending");
        assert_eq!(stage.reason("a"), "WaitingForNode");
        assert_eq!(stage.events("a").contains(&"TokenNotExtended".to_owned()), !may_delete);
        drop(host);
    }
}
