//! Kubelets and other controllers that write a Node at the very moment at which the host does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use machinist_api::names::finalizers;
use memory_api::wire::{Call, Fate, table};
use serde_json::{Value, json};

use crate::cloud::Habits;
use crate::kubelet::KubeletHabits;
use crate::stage::{Stage, in_namespace};

const SECOND: Duration = Duration::from_secs(1);

/// What others have written so far, each write with something of its own.
#[derive(Default)]
struct Others {
    writes: usize,
    conditions: Vec<Value>,
}

/// Before each write of the host to Node `a`, somebody else writes it: a kubelet its conditions and addresses, others labels,
/// annotations, taints, finalizers. Each is faster than the host.
fn others_are_faster(stage: &Stage, every: usize) -> Arc<Mutex<Others>> {
    let others: Arc<Mutex<Others>> = Arc::default();
    let (api, clock, noted) = (stage.api.clone(), stage.clock.clone(), others.clone());
    let mut seen = 0;
    stage.wire.plan(move |call: &Call| {
        if call.is_write() && call.what.starts_with("nodes") && call.name == "a" {
            seen += 1;
            if seen % every == 0 {
                write_node(&api, &mut noted.lock().unwrap(), &clock.now().to_string());
            }
        }
        Fate::Pass
    });
    others
}

fn write_node(api: &memory_api::ApiServer, others: &mut Others, now: &str) {
    let Some(node) = api.find("nodes", "a") else { return };
    others.writes += 1;
    let number = others.writes;
    let mut conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for condition in &mut conditions {
        condition["lastHeartbeatTime"] = json!(now);
    }
    let own = json!({ "type": format!("Kubelet{number}"), "status": "False", "lastTransitionTime": now });
    conditions.push(own.clone());
    others.conditions.push(own);
    let status = json!({ "conditions": conditions, "images": [{ "names": [format!("image-{number}")] }] });
    api.edit_status("nodes", "a", &json!({ "status": status })).unwrap();
    let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.push(json!({ "key": format!("taint-{number}"), "effect": "NoSchedule" }));
    let key = format!("foreign-{number}");
    let metadata = json!({ "labels": { &key: "x" }, "annotations": { &key: "x" } });
    api.edit("nodes", "a", &json!({ "metadata": metadata, "spec": { "taints": taints } })).unwrap();
}

/// Nothing of what the others wrote is lost.
fn assert_all_kept(node: &Value, others: &Others) {
    for number in 1..=others.writes {
        let key = format!("foreign-{number}");
        assert_eq!(node["metadata"]["labels"][&key], "x", "{key}");
        assert_eq!(node["metadata"]["annotations"][&key], "x", "{key}");
        let taints = node["spec"]["taints"].as_array().unwrap();
        assert!(taints.iter().any(|taint| taint["key"] == format!("taint-{number}")), "taint-{number}: {taints:?}");
    }
    let conditions = node["status"]["conditions"].as_array().unwrap();
    for own in &others.conditions {
        assert!(conditions.iter().any(|condition| condition["type"] == own["type"]), "{own}");
    }
    assert_eq!(node["status"]["images"][0]["names"][0], format!("image-{}", others.writes));
}

fn writes(stage: &Stage, begun: usize) -> Vec<memory_api::wire::Record> {
    stage.wire.records_since(begun, |call| {
        call.is_write() && !matches!(call.name.as_str(), "small" | "account")
    })
}

#[tokio::test(start_paused = true)]
async fn a_machine_runs_within_seven_writes_although_others_write_its_node_first_once() {
    let stage = Stage::with(
        Habits::default(),
        KubeletHabits { heartbeat: Some(10 * SECOND), ..KubeletHabits::default() },
    );
    stage.add_class();
    let others = others_are_faster(&stage, 2);
    let _host = stage.host("host");
    stage.add_machine("a");
    stage.until_running("a").await;
    tokio::time::sleep(5 * SECOND).await;
    let all = writes(&stage, 0);
    println!("{}", table(&all));
    assert!(all.len() <= 7, "{} writes:\n{}", all.len(), table(&all));
    let node = stage.api.find("nodes", "a").unwrap();
    assert_all_kept(&node, &others.lock().unwrap());
}

#[tokio::test(start_paused = true)]
async fn who_always_writes_first_neither_loses_anything_nor_keeps_the_machine_from_running_and_going() {
    let stage = Stage::with(
        Habits::default(),
        KubeletHabits { heartbeat: Some(10 * SECOND), ..KubeletHabits::default() },
    );
    stage.add_class();
    let others = others_are_faster(&stage, 1);
    let host = stage.host("host");
    stage.add_machine("a");
    stage.until_running("a").await;
    tokio::time::sleep(5 * SECOND).await;
    let all = writes(&stage, 0);
    println!("{} writes\n{}", others.lock().unwrap().writes, table(&all));
    let node = stage.api.find("nodes", "a").unwrap();
    assert_all_kept(&node, &others.lock().unwrap());
    assert_eq!(node["metadata"]["labels"]["pool"], "a");
    let taints = node["spec"]["taints"].as_array().unwrap();
    assert!(taints.iter().any(|taint| taint["key"] == "pool"), "{taints:?}");
    assert!(all.len() <= 7, "{} writes:\n{}", all.len(), table(&all));
    tokio::time::sleep(120 * SECOND).await;
    let foreign = json!({ "metadata": { "finalizers": [finalizers::NODE, "example.com/theirs"] } });
    stage.api.edit("nodes", "a", &foreign).unwrap();
    tokio::time::sleep(SECOND).await;
    let begun = stage.wire.len();
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    let all = writes(&stage, begun);
    println!("{}", table(&all));
    assert!(all.len() <= 8, "{} writes:\n{}", all.len(), table(&all));
    // Somebody else's finalizer holds the Node, with all that others wrote.
    let node = stage.api.find("nodes", "a").unwrap();
    assert_eq!(node["metadata"]["finalizers"], json!(["example.com/theirs"]));
    assert_all_kept(&node, &others.lock().unwrap());
    drop(host);
}
