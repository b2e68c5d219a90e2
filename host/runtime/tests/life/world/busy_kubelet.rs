//! Kubelets and other controllers that write a Node at the very moment at which the host does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use machinist_api::names::finalizers;
use memory_api::wire::{Call, Fate, Record, table};
use serde_json::{Value, json};

use crate::world::cloud::Habits;
use crate::world::kubelet::KubeletHabits;
use crate::world::stage::{Stage, in_namespace};

const SECOND: Duration = Duration::from_secs(1);

/// What others have written so far, each write with something of its own.
#[derive(Default)]
struct Others {
    writes: usize,
    conditions: Vec<Value>,
    taints: Vec<Value>,
}

/// What the others write beside heartbeats, images, labels and annotations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Theirs {
    NoTaints,
    /// And conditions of their own.
    Taints,
}

/// Before the next so many writes of the host to Node `a`, somebody else writes it: each is faster than the host.
fn others_are_faster(stage: &Stage, others: &Arc<Mutex<Others>>, times: usize, theirs: Theirs) {
    let (api, clock, noted) = (stage.api.clone(), stage.clock.clone(), others.clone());
    let mut left = times;
    stage.wire.plan(move |call: &Call| {
        let is_of_node = call.is_write() && call.what.starts_with("nodes") && call.name == "a";
        if is_of_node && left > 0 {
            left -= 1;
            write_node(&api, &mut noted.lock().unwrap(), &clock.now().to_string(), theirs);
        }
        Fate::Pass
    });
}

fn write_node(api: &memory_api::ApiServer, others: &mut Others, now: &str, theirs: Theirs) {
    let Some(node) = api.find("nodes", "a") else { return };
    others.writes += 1;
    let number = others.writes;
    let mut conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for condition in &mut conditions {
        condition["lastHeartbeatTime"] = json!(now);
    }
    if theirs == Theirs::Taints {
        let own = json!({ "type": format!("Theirs{number}"), "status": "False", "lastTransitionTime": now });
        conditions.push(own.clone());
        others.conditions.push(own);
    }
    let status = json!({ "conditions": conditions, "images": [{ "names": [format!("image-{number}")] }] });
    api.edit_status("nodes", "a", &json!({ "status": status })).unwrap();
    let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    if theirs == Theirs::Taints {
        let taint = json!({ "key": format!("taint-{number}"), "effect": "NoSchedule" });
        others.taints.push(taint.clone());
        taints.push(taint);
    }
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
    }
    let taints = node["spec"]["taints"].as_array().unwrap();
    assert!(others.taints.iter().all(|taint| taints.contains(taint)), "{taints:?}");
    let conditions = node["status"]["conditions"].as_array().unwrap();
    for own in &others.conditions {
        assert!(conditions.iter().any(|condition| condition["type"] == own["type"]), "{own}");
    }
    assert_eq!(node["status"]["images"][0]["names"][0], format!("image-{}", others.writes));
}

/// What the host has changed, and what it tried in vain.
fn writes(stage: &Stage, begun: usize) -> (Vec<Record>, Vec<Record>) {
    let of_machine = |call: &Call| call.is_write() && !matches!(call.name.as_str(), "small" | "account");
    let all = stage.wire.records_since(begun, of_machine).into_iter();
    all.partition(|record| record.code.is_some_and(|code| code < 400))
}

#[tokio::test(start_paused = true)]
async fn a_machine_runs_and_goes_within_its_writes_although_others_are_faster_and_nothing_of_theirs_is_lost()
{
    for (times, theirs) in
        [(1, Theirs::NoTaints), (2, Theirs::NoTaints), (1, Theirs::Taints), (2, Theirs::Taints)]
    {
        let heartbeat = Some(10 * SECOND);
        let stage = Stage::with(Habits::default(), KubeletHabits { heartbeat, ..KubeletHabits::default() });
        stage.add_class();
        let others: Arc<Mutex<Others>> = Arc::default();
        others_are_faster(&stage, &others, times, theirs);
        let _host = stage.host("host");
        stage.add_machine("a");
        stage.until_running("a").await;
        tokio::time::sleep(5 * SECOND).await;
        let (done, refused) = writes(&stage, 0);
        // Each new type of condition is copied to the Machine.
        let limit = if theirs == Theirs::Taints { 7 + times } else { 7 };
        assert!(done.len() <= limit, "{} writes:\n{}", done.len(), table(&done));
        assert!(refused.len() <= times, "{}", table(&refused));
        let node = stage.api.find("nodes", "a").unwrap();
        assert_all_kept(&node, &others.lock().unwrap());
        assert_eq!(node["metadata"]["labels"]["pool"], "a");
        let taints = node["spec"]["taints"].as_array().unwrap();
        assert!(taints.iter().any(|taint| taint["key"] == "pool"), "{taints:?}");
        tokio::time::sleep(120 * SECOND).await;
        // Somebody else's finalizer keeps the Node, with all that others wrote.
        let both = json!({ "metadata": { "finalizers": [finalizers::NODE, "example.com/theirs"] } });
        stage.api.edit("nodes", "a", &both).unwrap();
        tokio::time::sleep(SECOND).await;
        others_are_faster(&stage, &others, 2 + times, theirs);
        let begun = stage.wire.len();
        stage.api.delete("machines", &in_namespace("a")).unwrap();
        stage.until_gone("a").await;
        let (done, refused) = writes(&stage, begun);
        assert!(done.len() <= 8, "{} writes:\n{}", done.len(), table(&done));
        assert!(refused.len() <= times, "{}", table(&refused));
        let node = stage.api.find("nodes", "a").unwrap();
        assert_eq!(node["metadata"]["finalizers"], json!(["example.com/theirs"]));
        assert_all_kept(&node, &others.lock().unwrap());
    }
}
