//! Disruption settings of a deployment: a budget, windows, a maximum age, replacements first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Host, NAMESPACE, Stage, class, in_namespace};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// Three Machines, as many as one likes of which may be failed at a time.
fn pool(surge: u32, unavailable: u32, wishes: &[(&str, &str)]) -> Value {
    let annotations: BTreeMap<String, &str> =
        wishes.iter().map(|(wish, value)| (format!("machinist.dev/{wish}"), *value)).collect();
    json!({
        "metadata": { "name": "pool", "namespace": NAMESPACE, "annotations": annotations },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": { "name": "pool" } },
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable },
            },
            "template": {
                "metadata": {
                    "labels": { "name": "pool" },
                    "annotations": { "machinist.dev/max-unhealthy-replacements": "3" },
                },
                "spec": { "class": { "kind": "MachineClass", "name": "small" } },
            },
        },
    })
}

/// The three run. Nodes take a minute until they are Ready.
async fn running(deployment: &Value) -> (Stage, Host) {
    let habits = KubeletHabits { ready_after: MINUTE, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    let mut large = class();
    large["metadata"]["name"] = json!("large");
    stage.api.create("machineclasses", &large).unwrap();
    let host = stage.host("host");
    stage.api.create("machinedeployments", deployment).unwrap();
    stage.until("three run", 10 * MINUTE, || run(&stage).len() == 3).await;
    tokio::time::sleep(MINUTE).await;
    (stage, host)
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn runs(machine: &Value) -> bool {
    machine["metadata"]["deletionTimestamp"].is_null()
        && machine["status"]["currentStatus"]["phase"] == "Running"
}

/// The Machines that are of use.
fn run(stage: &Stage) -> BTreeSet<String> {
    stage.api.all("machines").iter().filter(|machine| runs(machine)).map(name_of).collect()
}

/// The deployment's condition: reason and message.
fn reported(stage: &Stage) -> (String, String) {
    let deployment = stage.api.find("machinedeployments", &in_namespace("pool")).unwrap_or_default();
    said(&deployment)
}

fn said(object: &Value) -> (String, String) {
    let conditions = object["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default();
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

fn roll(stage: &Stage) {
    let patch = json!({ "spec": { "template": { "spec": { "class": { "name": "large" } } } } });
    stage.api.edit("machinedeployments", &in_namespace("pool"), &patch).unwrap();
}

/// Counts at each change of a Machine.
#[derive(Clone, Default)]
struct Counted(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    /// Whether it is of use, by name.
    machines: BTreeMap<String, bool>,
    most: usize,
    /// How many were of use when one was deleted, in order, beside that one.
    left: Vec<usize>,
}

impl Counted {
    fn of(stage: &Stage) -> Self {
        let counted = Self::default();
        let of_now = stage.api.all("machines");
        counted.0.lock().unwrap().machines =
            of_now.iter().map(|machine| (name_of(machine), runs(machine))).collect();
        let shared = counted.clone();
        stage.api.observe(move |change| {
            if change.plural != "machines" {
                return;
            }
            let mut counts = shared.0.lock().unwrap();
            let is_going = |machine: Option<&Value>| {
                machine.is_some_and(|machine| !machine["metadata"]["deletionTimestamp"].is_null())
            };
            let name = change.new.or(change.old).map(name_of).unwrap_or_default();
            match change.new {
                Some(machine) => drop(counts.machines.insert(name, runs(machine))),
                None => drop(counts.machines.remove(&name)),
            }
            counts.most = counts.most.max(counts.machines.len());
            if is_going(change.new) && !is_going(change.old) {
                let left = counts.machines.values().filter(|runs| **runs).count();
                counts.left.push(left);
            }
        });
        counted
    }

    fn deletions(&self) -> usize {
        self.0.lock().unwrap().left.len()
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_machine_stays_until_its_replacement_runs() {
    let (stage, _host) = running(&pool(1, 0, &[("replace-before-drain", "true")])).await;
    let counted = Counted::of(&stage);
    let sick = run(&stage).first().cloned().unwrap();
    stage.report_ready(&sick, "False");
    stage.until("it is being replaced", 20 * MINUTE, || reported(&stage).0 == "ReplacingMachines").await;
    assert_eq!(stage.phase(&sick), "Failed");
    assert!(reported(&stage).1.contains(&sick), "{:?}", reported(&stage));
    stage.until("it is gone", 20 * MINUTE, || stage.machine(&sick).is_none()).await;
    stage.until("all is well", 20 * MINUTE, || reported(&stage).0 == "Complete").await;
    {
        let counts = counted.0.lock().unwrap();
        assert_eq!((counts.most, counts.left.as_slice()), (4, [3].as_slice()), "three ran when it went");
    }
    assert_eq!(run(&stage).len(), 3);
    let deployment = stage.api.find("machinedeployments", &in_namespace("pool")).unwrap();
    assert!(deployment["metadata"]["annotations"]["machinist.dev/replacing"].is_null(), "{deployment}");
    assert_eq!(stage.cloud.vms(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_the_wish_a_failed_machine_goes_at_once() {
    let (stage, _host) = running(&pool(1, 0, &[])).await;
    let counted = Counted::of(&stage);
    let sick = run(&stage).first().cloned().unwrap();
    stage.report_ready(&sick, "False");
    stage.until("it is gone", 20 * MINUTE, || stage.machine(&sick).is_none()).await;
    stage.until("all is well", 20 * MINUTE, || reported(&stage).0 == "Complete").await;
    assert_eq!(counted.0.lock().unwrap().left, [2]);
}

#[tokio::test(start_paused = true)]
async fn a_budget_lets_one_failed_machine_go_an_hour_also_after_a_restart() {
    let (stage, host) = running(&pool(1, 0, &[("disruption-budget", "1/1h")])).await;
    let counted = Counted::of(&stage);
    let sick: Vec<String> = run(&stage).into_iter().take(2).collect();
    sick.iter().for_each(|sick| stage.report_ready(sick, "False"));
    stage.until("one has gone", 20 * MINUTE, || counted.deletions() == 1).await;
    stage.until("the other waits", 5 * MINUTE, || reported(&stage).0 == "WaitingForDisruptionBudget").await;
    assert!(reported(&stage).1.contains("1/1h allows the next one at"), "{:?}", reported(&stage));
    let set = stage.api.all("machinesets").remove(0);
    assert_eq!(said(&set).0, "WaitingForDeployment");
    drop(host);
    let _next = stage.host("next");
    tokio::time::sleep(45 * MINUTE).await;
    assert_eq!(counted.deletions(), 1, "the hour is not over");
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(counted.deletions(), 2);
    stage.until("all is well", 20 * MINUTE, || reported(&stage).0 == "Complete").await;
    assert!(sick.iter().all(|sick| stage.machine(sick).is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_rollout_and_failures_share_one_budget() {
    let (stage, _host) = running(&pool(1, 0, &[("disruption-budget", "2/2h")])).await;
    let counted = Counted::of(&stage);
    let sick = run(&stage).first().cloned().unwrap();
    stage.report_ready(&sick, "False");
    stage.until("the failed one has gone", 20 * MINUTE, || counted.deletions() == 1).await;
    stage.until("three run", 20 * MINUTE, || run(&stage).len() == 3).await;
    roll(&stage);
    tokio::time::sleep(HOUR).await;
    assert_eq!(counted.deletions(), 2, "the rollout has the rest of the budget");
    assert_eq!(reported(&stage).0, "WaitingForDisruptionBudget");
    tokio::time::sleep(5 * HOUR).await;
    assert_eq!((reported(&stage).0.as_str(), counted.deletions()), ("Complete", 4));
}

#[tokio::test(start_paused = true)]
async fn machines_that_are_too_old_are_replaced_one_by_one_within_surge() {
    let (stage, _host) = running(&pool(1, 0, &[("max-node-age", "2h")])).await;
    let counted = Counted::of(&stage);
    let old = run(&stage);
    tokio::time::sleep(HOUR).await;
    assert_eq!(counted.deletions(), 0);
    tokio::time::sleep(HOUR + 20 * MINUTE).await;
    let counts = counted.0.lock().unwrap();
    assert_eq!((counts.most, counts.left.as_slice()), (4, [3, 3, 3].as_slice()));
    drop(counts);
    assert!(run(&stage).is_disjoint(&old) && run(&stage).len() == 3);
}

#[tokio::test(start_paused = true)]
async fn without_surge_an_old_machine_goes_first_and_one_at_a_time_is_missing() {
    let (stage, _host) = running(&pool(0, 1, &[("max-node-age", "2h")])).await;
    let counted = Counted::of(&stage);
    let old = run(&stage);
    tokio::time::sleep(2 * HOUR + 20 * MINUTE).await;
    let counts = counted.0.lock().unwrap();
    assert_eq!((counts.most, counts.left.as_slice()), (3, [2, 2, 2].as_slice()));
    drop(counts);
    assert!(run(&stage).is_disjoint(&old) && run(&stage).len() == 3);
}

/// The test begins at midnight of a Thursday.
#[tokio::test(start_paused = true)]
async fn old_machines_wait_for_a_window_and_failed_ones_only_where_that_is_asked_for() {
    let wishes = [("max-node-age", "2h"), ("maintenance-windows", "Thu 06:00-08:00 UTC")];
    let (stage, _host) = running(&pool(1, 0, &wishes)).await;
    let counted = Counted::of(&stage);
    tokio::time::sleep(3 * HOUR).await;
    assert_eq!(counted.deletions(), 0);
    let (reason, message) = reported(&stage);
    assert!(reason == "Complete" && message.contains("have reached their age"), "{message}");
    let sick = run(&stage).first().cloned().unwrap();
    stage.report_ready(&sick, "False");
    stage.until("a failed one does not wait", 20 * MINUTE, || counted.deletions() == 1).await;
    let wish = json!({ "metadata": { "annotations": { "machinist.dev/remediate-in-windows": "true" } } });
    stage.api.edit("machinedeployments", &in_namespace("pool"), &wish).unwrap();
    stage.until("three run", 20 * MINUTE, || run(&stage).len() == 3).await;
    let sick = run(&stage).first().cloned().unwrap();
    stage.report_ready(&sick, "False");
    stage.until("it waits", 20 * MINUTE, || reported(&stage).0 == "WaitingForWindow").await;
    tokio::time::sleep(HOUR).await;
    assert_eq!((counted.deletions(), stage.phase(&sick).as_str()), (1, "Failed"));
    tokio::time::sleep(2 * HOUR).await;
    assert!(stage.machine(&sick).is_none() && counted.deletions() >= 3, "{}", counted.deletions());
}

#[tokio::test(start_paused = true)]
async fn wishes_that_cannot_be_understood_are_reported() {
    let (stage, _host) = running(&pool(1, 0, &[("disruption-budget", "many"), ("max-node-age", "7d")])).await;
    let (reason, message) = reported(&stage);
    assert_eq!(reason, "InvalidOption");
    for part in ["\"many\" is not a number of Machines", "unknown unit \"d\"", "fix or remove it"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(stage.events("pool").contains(&"InvalidOption".to_owned()), "{:?}", stage.events("pool"));
    let fixed = json!({ "metadata": { "annotations": {
        "machinist.dev/disruption-budget": "1/1h", "machinist.dev/max-node-age": null,
    } } });
    stage.api.edit("machinedeployments", &in_namespace("pool"), &fixed).unwrap();
    stage.until("it is mended", MINUTE, || reported(&stage).0 == "Complete").await;
}
