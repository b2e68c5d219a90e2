//! Objects that somebody has stored, in the hands of the whole runtime: caches, deciders, effects and statuses.
//! `ports` is a cloud that answers as the input says.

use std::sync::Arc;
use std::time::Duration;

use machinist_runtime::context::clock::Clock;
use machinist_runtime::context::settings::Settings;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::ports::Ports;
use machinist_runtime::tenant::Tenant;
use memory_api::ApiServer;
use memory_api::wire::Wire;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use world::Nothing;

use super::objects;
use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict, promise};

mod ports;

pub(super) const TARGET: Target = Target {
    name: "lives",
    about: "stored objects under the whole runtime for ten minutes: no panic, one VM for a Machine, nobody else's objects",
    grammar: Grammar::Json,
    samples,
    words: WORDS,
    share: 1,
    check,
};

/// Names and values of fields of the four kinds.
pub(super) const WORDS: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "class",
    "template",
    "replicas",
    "selector",
    "matchLabels",
    "matchExpressions",
    "strategy",
    "rollingUpdate",
    "RollingUpdate",
    "Recreate",
    "InPlaceUpdate",
    "maxSurge",
    "maxUnavailable",
    "nodeTemplate",
    "providerID",
    "provider",
    "providerSpec",
    "secretRef",
    "credentialsSecretRef",
    "finalizers",
    "machine.sapcloud.io/machine-controller",
    "machine.sapcloud.io/machine-controller-manager",
    "ownerReferences",
    "deletionTimestamp",
    "creationTimestamp",
    "annotations",
    "labels",
    "node",
    "currentStatus",
    "phase",
    "Running",
    "Failed",
    "Unknown",
    "Terminating",
    "Pending",
    "CrashLoopBackOff",
    "lastOperation",
    "conditions",
    "paused",
    "minReadySeconds",
    "progressDeadlineSeconds",
    "revisionHistoryLimit",
    "rollbackTo",
    "drainTimeout",
    "machinepriority.machine.sapcloud.io",
    "machinist.dev/maintenance-window",
    "machinist.dev/cluster-id",
    "node.machine.sapcloud.io/trigger-deletion-by-mcm",
    "25%",
    "10m0s",
    "sim:///vm-1",
    "pool",
    "a",
];

const NAMESPACE: &str = "shoot";
/// Objects of other namespaces are others'.
const ELSEWHERE: &str = "elsewhere";
const LIFE: Duration = Duration::from_secs(600);
/// As the keys of an input.
const KINDS: [&str; 4] = ["machineclasses", "machines", "machinesets", "machinedeployments"];

fn samples() -> Vec<Vec<u8>> {
    let meta = |name: &str| json!({ "name": name, "namespace": NAMESPACE });
    let class = json!({ "metadata": meta("small"), "provider": "sim", "providerSpec": { "size": 1 },
        "secretRef": { "name": "account", "namespace": NAMESPACE } });
    let machine = json!({ "metadata": meta("machine-1"), "spec": {
        "class": { "kind": "MachineClass", "name": "small" },
        "nodeTemplate": { "metadata": { "labels": { "pool": "a" } },
            "spec": { "taints": [{ "key": "pool", "value": "a", "effect": "NoSchedule" }] } } } });
    let template = json!({ "metadata": { "labels": { "pool": "a" } },
        "spec": { "class": { "kind": "MachineClass", "name": "small" } } });
    let selector = json!({ "matchLabels": { "pool": "a" } });
    let set = json!({ "metadata": meta("set"), "spec": { "replicas": 2, "selector": selector, "template": template } });
    let deployment = json!({ "metadata": meta("deployment"), "spec": { "replicas": 2, "selector": selector,
        "template": template, "strategy": { "type": "RollingUpdate",
            "rollingUpdate": { "maxSurge": 1, "maxUnavailable": "25%" } } } });
    let world = |machines: &[Value], sets: &[Value], deployments: &[Value], answers: &[&str]| {
        json!({ "machineclasses": [class], "machines": machines, "machinesets": sets,
            "machinedeployments": deployments, "deleted": [], "answers": answers })
    };
    let mut all = vec![
        world(std::slice::from_ref(&machine), &[], &[], &["ok"]),
        world(&[], &[set], &[], &["ok", "internal", "ok"]),
        world(&[], &[], &[deployment], &["ok", "in-progress", "not-found"]),
    ];
    let mut deleted = world(&[machine], &[], &[], &["ok"]);
    deleted["deleted"] = json!(["machines/machine-1"]);
    all.push(deleted);
    // Objects as MCM has left them.
    for object in objects::samples() {
        let mut object: Value = serde_json::from_slice(&object).unwrap_or_default();
        object["metadata"]["namespace"] = NAMESPACE.into();
        let Some(kind) = object["kind"].as_str() else { continue };
        let plural = match kind {
            "MachineClass" => "machineclasses",
            "Machine" => "machines",
            "MachineSet" => "machinesets",
            _ => "machinedeployments",
        };
        let mut here = world(&[], &[], &[], &["ok"]);
        here[plural] = json!([object]);
        all.push(here);
    }
    all.iter().map(|world| world.to_string().into_bytes()).collect()
}

fn check(input: &[u8]) -> Verdict {
    let Ok(world @ Value::Object(_)) = serde_json::from_slice(input) else {
        return Ok(Shape::of("no world"));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(live(&world))
}

async fn live(world: &Value) -> Verdict {
    let clock = Clock::virtual_from("2026-01-01T00:00:00Z".parse().unwrap_or_default());
    let wire = Wire::new();
    wire.keep_last(64);
    let api = ApiServer::new(wire, {
        let clock = clock.clone();
        move || clock.now()
    });
    fill(&api, world);
    let others = api.all("secrets").into_iter().filter(|secret| secret["metadata"]["namespace"] == ELSEWHERE);
    let others: Vec<Value> = others.collect();
    let cloud = ports::Cloud::answering(&world["answers"]);
    let (leads, is_leading) = watch::channel(true);
    let (synced, _is_synced) = watch::channel(false);
    let tenant = Tenant {
        control: api.client("host"),
        namespace: NAMESPACE.to_owned(),
        plugin_namespace: "plugins".to_owned(),
        target: Some(api.client("host")),
        settings: Settings::for_cluster("test"),
        ports: Ports { drivers: cloud.drivers(), policies: Arc::new(Nothing), plugins: Arc::new(Nothing) },
        clock,
        seed: [7; 32],
        identity: "host".to_owned(),
        metrics: Arc::<Metrics>::default(),
        node_groups: None,
    };
    let stop = CancellationToken::new();
    let run = tokio::spawn(tenant.run(is_leading, synced, stop.clone()));
    tokio::time::sleep(LIFE / 2).await;
    for path in world["deleted"].as_array().into_iter().flatten().filter_map(Value::as_str).take(8) {
        if let Some((plural, name)) = path.split_once('/').filter(|(plural, _)| KINDS.contains(plural)) {
            let _gone = api.delete(plural, &format!("{NAMESPACE}/{name}"));
        }
    }
    tokio::time::sleep(LIFE / 2).await;
    stop.cancel();
    let _ended = tokio::time::timeout(Duration::from_secs(600), run).await;
    drop(leads);
    let most = cloud.most_vms_of_one();
    promise(most <= 1, || format!("one Machine has {most} VMs"))?;
    let kept = api.all("secrets").into_iter().filter(|secret| secret["metadata"]["namespace"] == ELSEWHERE);
    promise(kept.collect::<Vec<_>>() == others, || "an object of another namespace is changed".to_owned())?;
    let message =
        |plural: &str| api.all(plural).iter().map(|object| object["status"].to_string()).collect::<String>();
    Ok(KINDS.iter().fold(Shape::of(""), |shape, plural| shape.and(Shape::of(&statuses(&message(plural))))))
}

/// Reasons and phases alone.
fn statuses(message: &str) -> String {
    message
        .split('"')
        .filter(|word| word.starts_with(|letter: char| letter.is_ascii_uppercase()))
        .take(12)
        .collect()
}

/// Stores objects as they are, their statuses too, whatever rules say of them.
fn fill(api: &ApiServer, world: &Value) {
    for namespace in [NAMESPACE, ELSEWHERE] {
        let _stored = api.create("secrets", &world::account(namespace));
    }
    for plural in KINDS {
        for object in world[plural].as_array().into_iter().flatten().take(6) {
            let mut object = object.clone();
            let name = object["metadata"]["name"].as_str().unwrap_or("unnamed").to_owned();
            if !object["metadata"].is_object() || name.is_empty() || name.len() > 253 {
                continue;
            }
            object["metadata"]["name"] = name.as_str().into();
            object["metadata"]["namespace"] = NAMESPACE.into();
            let stored = api.create(plural, &object);
            if stored.is_ok() && object["status"].is_object() {
                let status = json!({ "status": object["status"] });
                let _stored = api.edit_status(plural, &format!("{NAMESPACE}/{name}"), &status);
            }
        }
    }
}
