//! Hosts that run some of the controllers.

use std::collections::BTreeSet;
use std::time::Duration;

use machinist_runtime::context::settings::Controllers;
use memory_api::wire::Call;
use serde_json::json;

use crate::fixture::stage::{Host, NAMESPACE, Stage, in_namespace};

const MACHINES: Controllers = Controllers { machines: true, sets: false, deployments: false };
const OWNERS: Controllers = Controllers { machines: false, sets: true, deployments: true };
const SOON: Duration = Duration::from_secs(60);

fn host(stage: &Stage, name: &str, controllers: Controllers) -> Host {
    stage.settings.lock().unwrap().controllers = controllers;
    stage.host(name)
}

fn add_set(stage: &Stage, name: &str, replicas: i32) {
    let labels = json!({ "set": name });
    let spec = json!({
        "replicas": replicas,
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": { "labels": labels },
            "spec": { "class": { "kind": "MachineClass", "name": "small" } },
        },
    });
    let metadata = json!({ "name": name, "namespace": NAMESPACE });
    stage.api.create("machinesets", &json!({ "metadata": metadata, "spec": spec })).unwrap();
}

/// The lists and watches of a host, and its other requests.
fn touched(stage: &Stage, actor: &'static str) -> BTreeSet<String> {
    let records = stage.wire.records(move |call: &Call| call.actor == actor);
    records.into_iter().map(|record| format!("{} {}", record.call.verb, record.call.what)).collect()
}

#[tokio::test(start_paused = true)]
async fn who_looks_after_machines_alone_follows_neither_sets_nor_deployments() {
    let stage = Stage::set();
    let host = host(&stage, "host", MACHINES);
    add_set(&stage, "set", 2);
    stage.add_running("alone").await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert!(host.is_synced());
    assert_eq!(stage.api.count("machines"), 1, "nobody makes Machines of the set");
    let touched = touched(&stage, "host");
    let of_owners = |call: &&String| call.contains("machinesets") || call.contains("machinedeployments");
    assert_eq!(touched.iter().find(of_owners), None, "{touched:?}");
}

#[tokio::test(start_paused = true)]
async fn who_looks_after_sets_alone_makes_machines_and_asks_for_no_vm_secret_plugin_or_volume() {
    let stage = Stage::set();
    let host = host(&stage, "host", OWNERS);
    add_set(&stage, "set", 3);
    stage.until("the set has its Machines", SOON, || stage.api.count("machines") == 3).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert!(host.is_synced());
    assert_eq!(stage.api.count("machines"), 3);
    assert_eq!(stage.cloud.vms(), 0);
    let touched = touched(&stage, "host");
    for foreign in ["CALL", "secrets", "volumeattachments", "poddisruptionbudgets"] {
        let found = touched.iter().find(|call| call.contains(foreign));
        assert_eq!(found, None, "{foreign}: {touched:?}");
    }
    let maps = stage.wire.records(|call: &Call| call.actor == "host" && call.what == "configmaps");
    let foreign: Vec<_> = maps.iter().filter(|map| map.call.name != "machinist-freeze").collect();
    assert!(foreign.is_empty(), "an operator's freeze is all: {foreign:?}");
}

#[tokio::test(start_paused = true)]
async fn two_hosts_that_share_the_controllers_do_what_one_does_that_runs_all() {
    let stage = Stage::set();
    let _machines = host(&stage, "machines", MACHINES);
    let _owners = host(&stage, "owners", OWNERS);
    add_set(&stage, "set", 3);
    let running = || {
        let machines = stage.api.all("machines");
        machines.iter().filter(|machine| machine["status"]["currentStatus"]["phase"] == "Running").count()
    };
    stage.until("all run", Duration::from_secs(600), || running() == 3).await;
    stage.assert_one_vm_each(3);
    stage.api.edit("machinesets", &in_namespace("set"), &json!({ "spec": { "replicas": 1 } })).unwrap();
    stage
        .until("two are gone", Duration::from_secs(600), || {
            stage.api.count("machines") == 1 && running() == 1
        })
        .await;
    assert_eq!(stage.cloud.vms(), 1);
}
