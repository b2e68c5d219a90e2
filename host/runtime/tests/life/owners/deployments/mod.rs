//! Deployments: created, scaled, rolled out, rolled back and deleted.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `scaling` | deployments that are created and scaled |
//! | `rolling` | rollouts: the bounds hold at every moment |
//! | `rollback` | rollbacks to earlier templates |
//! | `in_place` | rollouts that keep the VMs |
//! | `nodes` | labels and annotations of Nodes during a rollout |
//! | `autoscaler` | the autoscaler's requests for fewer Machines, and for which |
//! | `deletion` | deployments that are deleted, with or without their sets |
//! | `invalid` | invalid deployments, and sets that others edit |
//! | `faults` | rollouts while servers, watches and kubelets fail, and during a freeze |
//! | `crashes` | hosts that crash between any two requests, and the next one, which continues |

mod autoscaler;
mod crashes;
mod deletion;
mod faults;
mod in_place;
mod invalid;
mod nodes;
mod rollback;
mod rolling;
mod scaling;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Host, NAMESPACE, Stage, class, in_namespace};
use memory_api::wire::Call;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A rollout of a handful of Machines, also where requests are repeated.
const LONG: Duration = Duration::from_secs(20 * 60);

/// Deployment `pool` of class `small`.
fn pool(replicas: u32) -> Value {
    json!({
        "metadata": { "name": "pool", "namespace": NAMESPACE },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "name": "pool" } },
            "strategy": rolling(1, 0),
            "template": {
                "metadata": { "labels": { "name": "pool" } },
                "spec": {
                    "class": { "kind": "MachineClass", "name": "small" },
                    "nodeTemplate": { "metadata": { "labels": { "pool": "a" } } },
                },
            },
        },
    })
}

fn rolling(surge: impl Into<Value>, unavailable: impl Into<Value>) -> Value {
    let (surge, unavailable): (Value, Value) = (surge.into(), unavailable.into());
    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } })
}

/// A stage with the classes `small` and `large`.
fn stage() -> Stage {
    with_large(Stage::set())
}

/// Nodes take a while until they are Ready, so that a rollout has to wait for them.
fn slow_stage() -> Stage {
    let habits = KubeletHabits { ready_after: 5 * SECOND, ..KubeletHabits::default() };
    let stage = Stage::with(crate::fixture::cloud::Habits::default(), habits);
    stage.add_class();
    with_large(stage)
}

fn with_large(stage: Stage) -> Stage {
    let mut large = class();
    large["metadata"]["name"] = json!("large");
    stage.api.create("machineclasses", &large).unwrap();
    stage
}

/// Deployment `pool` is there, with so many Machines that run.
async fn running(stage: &Stage, deployment: &Value) -> Host {
    let host = stage.host("host");
    stage.api.create("machinedeployments", deployment).unwrap();
    until_complete(stage).await;
    host
}

fn deployment(stage: &Stage) -> Value {
    stage.api.find("machinedeployments", &in_namespace("pool")).unwrap_or_default()
}

fn edit(stage: &Stage, patch: &Value) {
    stage.api.edit("machinedeployments", &in_namespace("pool"), patch).unwrap();
}

fn scale(stage: &Stage, replicas: u32) {
    edit(stage, &json!({ "spec": { "replicas": replicas } }));
}

/// Another class, which makes a rollout.
fn roll_to(stage: &Stage, class: &str) {
    edit(stage, &json!({ "spec": { "template": { "spec": { "class": { "name": class } } } } }));
}

/// The deployment's condition: reason and message.
fn reported(stage: &Stage) -> (String, String) {
    let ready = condition_of(&deployment(stage)["status"]["machinist"]["conditions"], "Ready");
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

/// One of the conditions that others read: status and reason.
fn condition(stage: &Stage, kind: &str) -> (String, String) {
    let reported = condition_of(&deployment(stage)["status"]["conditions"], kind);
    let text = |field: &str| reported[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

fn condition_of(conditions: &Value, kind: &str) -> Value {
    let conditions = conditions.as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

async fn until_reported(stage: &Stage, reason: &str) {
    let what = format!("the deployment says {reason}, not {:?}", reported(stage));
    stage.until(&what, LONG, || reported(stage).0 == reason).await;
}

/// This generation is acted on, and all Machines are there.
async fn until_complete(stage: &Stage) {
    let is_complete = || {
        let deployment = deployment(stage);
        let generation = &deployment["metadata"]["generation"];
        deployment["status"]["observedGeneration"] == *generation
            && reported(stage).0 == "Complete"
            && deployment["status"]["replicas"] == deployment["spec"]["replicas"]
    };
    stage.until("the deployment is complete", LONG, is_complete).await;
    tokio::time::sleep(SECOND).await;
}

/// Sets by the class of their template: names.
fn set_of(stage: &Stage, class: &str) -> Value {
    let sets = stage.api.all("machinesets");
    let is_it = |set: &&Value| set["spec"]["template"]["spec"]["class"]["name"] == class;
    sets.iter().find(is_it).cloned().unwrap_or_default()
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// How many Machines the sets are to have, by the class of their template.
fn wanted(stage: &Stage) -> BTreeMap<String, i64> {
    let sets = stage.api.all("machinesets");
    let class = |set: &Value| {
        set["spec"]["template"]["spec"]["class"]["name"].as_str().unwrap_or_default().to_owned()
    };
    sets.iter().map(|set| (class(set), set["spec"]["replicas"].as_i64().unwrap_or_default())).collect()
}

/// Machines of a class.
fn machines_of(stage: &Stage, class: &str) -> Vec<Value> {
    let machines = stage.api.all("machines").into_iter();
    machines.filter(|machine| machine["spec"]["class"]["name"] == class).collect()
}

/// Writes of hosts, but Leases and Events, since then.
fn writes_since(stage: &Stage, since: usize) -> Vec<String> {
    stage.wire.records_since(since, Call::is_write).iter().map(ToString::to_string).collect()
}

/// Nothing is written for a while, whoever looks. Machines note a minute after they have joined how long that took.
async fn assert_quiet(stage: &Stage) {
    tokio::time::sleep(2 * MINUTE).await;
    let begun = stage.wire.len();
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(writes_since(stage, begun), Vec::<String>::new());
}

/// Sees each change of a Machine when it happens, and counts.
struct Watcher {
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Whether it is there to be used, by name.
    machines: BTreeMap<String, bool>,
    most: usize,
    fewest: usize,
}

impl Seen {
    fn take(&mut self, name: String, machine: Option<&Value>) {
        match machine {
            Some(machine) => drop(self.machines.insert(name, is_available(machine))),
            None => drop(self.machines.remove(&name)),
        }
        self.most = self.most.max(self.machines.len());
        self.fewest = self.fewest.min(self.machines.values().filter(|is| **is).count());
    }
}

fn is_available(machine: &Value) -> bool {
    machine["metadata"]["deletionTimestamp"].is_null()
        && machine["status"]["currentStatus"]["phase"] == "Running"
}

impl Watcher {
    fn of(stage: &Stage) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        {
            let mut seen = seen.lock().unwrap();
            seen.fewest = usize::MAX;
            let machines = stage.api.all("machines");
            seen.machines =
                machines.iter().map(|machine| (name_of(machine), is_available(machine))).collect();
            seen.most = machines.len();
            seen.fewest = machines.iter().filter(|machine| is_available(machine)).count();
        }
        let shared = seen.clone();
        stage.api.observe(move |change| {
            if change.plural == "machines" {
                let name = change.new.or(change.old).map(name_of).unwrap_or_default();
                shared.lock().unwrap().take(name, change.new);
            }
        });
        Self { seen }
    }

    /// Never more Machines than this, and never fewer that run.
    fn assert_within(&self, most: usize, fewest: usize) {
        let seen = self.seen.lock().unwrap();
        assert!(seen.most <= most, "{} Machines, not at most {most}", seen.most);
        assert!(seen.fewest >= fewest, "{} Machines that run, not at least {fewest}", seen.fewest);
    }
}

/// Each Machine has had one VM, and nobody is left over.
fn assert_tidy(stage: &Stage, machines: usize) {
    assert_eq!(stage.api.count("machines"), machines, "{}", stage.wire.trace());
    assert_eq!(stage.cloud.vms(), machines);
    assert!(stage.cloud.made().values().all(|made| *made == 1), "{:?}", stage.cloud.made());
}
