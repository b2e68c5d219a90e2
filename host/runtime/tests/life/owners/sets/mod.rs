//! MachineSets from creation to deletion.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `counts` | how many Machines a set creates, deletes and replaces |
//! | `template` | settings that a template passes on to existing Machines |
//! | `owners` | owners of Machines: adoption and release |
//! | `deletion` | sets that are deleted, with or without their Machines |
//! | `freeze` | a set with far too many Machines creates no more |
//! | `invalid` | invalid sets, and sets that cannot reach their number |
//! | `unreadable` | Machines that cannot be decoded affect nothing else |
//! | `stale_caches` | Machines that are gone and that the caches still show |
//! | `crashes` | hosts that crash between any two requests, and servers that fail |

mod counts;
mod crashes;
mod deletion;
mod freeze;
mod invalid;
mod owners;
mod stale_caches;
mod template;
mod unreadable;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use memory_api::Change;
use serde_json::{Value, json};

use crate::fixture::stage::{NAMESPACE, Stage, in_namespace};

/// A set of Machines of the class `small`.
pub(crate) fn set(name: &str, replicas: usize) -> Value {
    json!({
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "set": name } },
            "template": {
                "metadata": { "labels": { "set": name }, "annotations": { "note": "kept" } },
                "spec": {
                    "class": { "kind": "MachineClass", "name": "small" },
                    "nodeTemplate": { "metadata": { "labels": { "pool": "a" } } },
                },
            },
        },
    })
}

/// A stage with set `pool`.
pub(crate) fn stage(replicas: usize) -> Stage {
    let stage = Stage::set();
    stage.api.create("machinesets", &set("pool", replicas)).unwrap();
    stage
}

/// The set, while it is there.
pub(crate) fn look(stage: &Stage, name: &str) -> Option<Value> {
    stage.api.find("machinesets", &in_namespace(name))
}

/// The number of Machines that the set is to have is changed.
pub(crate) fn scale(stage: &Stage, replicas: usize) {
    edit(stage, &json!({ "spec": { "replicas": replicas } }));
}

pub(crate) fn edit(stage: &Stage, patch: &Value) {
    stage.api.edit("machinesets", &in_namespace("pool"), patch).unwrap();
}

/// Names of all Machines, in order.
pub(crate) fn names(stage: &Stage) -> Vec<String> {
    let name = |machine: &Value| machine["metadata"]["name"].as_str().map(str::to_owned);
    let mut names = stage.api.collect("machines", name);
    names.sort();
    names
}

/// Machines that are Running and stay.
pub(crate) fn running(stage: &Stage) -> usize {
    let counts = |machine: &Value| {
        let runs = machine["status"]["currentStatus"]["phase"] == "Running";
        (runs && machine["metadata"]["deletionTimestamp"].is_null()).then_some(())
    };
    stage.api.collect("machines", counts).len()
}

/// Waits until exactly so many Machines are there, all of them Running, and the set says so.
pub(crate) async fn until_stable(stage: &Stage, replicas: usize) {
    let what = format!("{replicas} Machines are there and run");
    let is_reported = || {
        let status = look(stage, "pool").map(|set| set["status"].clone()).unwrap_or_default();
        let count = |field: &str| status[field].as_u64().unwrap_or_default() as usize;
        count("replicas") == replicas && count("availableReplicas") == replicas
    };
    let holds = || running(stage) == replicas && stage.api.count("machines") == replicas && is_reported();
    stage.until(&what, Duration::from_secs(900), holds).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Our condition of the set: status, reason, message.
pub(crate) fn reported(stage: &Stage, kind: &str) -> (String, String, String) {
    let set = look(stage, "pool").unwrap_or_default();
    let conditions = set["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    let reported = conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default();
    let text = |field: &str| reported[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

/// The conditions that others count, by type.
pub(crate) fn conditions(stage: &Stage) -> BTreeMap<String, String> {
    let set = look(stage, "pool").unwrap_or_default();
    let conditions = set["status"]["machineSetCondition"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    conditions.iter().map(|reported| (text(&reported["type"]), text(&reported["reason"]))).collect()
}

/// Looks at every Machine that comes and goes, at the moment when it does.
#[derive(Clone, Default)]
pub(crate) struct Census(Arc<Mutex<SetCounts>>);

#[derive(Default)]
struct SetCounts {
    /// Machines that stay, by name.
    living: BTreeMap<String, ()>,
    most: usize,
    fewest: Option<usize>,
    /// How often each name was given to a Machine.
    births: BTreeMap<String, usize>,
}

impl Census {
    /// SetCounts from here on.
    pub(crate) fn of(stage: &Stage) -> Self {
        let census = Self::default();
        let counts = census.0.clone();
        stage.api.observe(move |change: &Change<'_>| {
            if change.plural != "machines" {
                return;
            }
            let mut counts = counts.lock().unwrap();
            let stays =
                change.new.filter(|machine| machine["metadata"]["deletionTimestamp"].is_null()).is_some();
            let object = change.new.or(change.old).unwrap();
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            if change.old.is_none() {
                *counts.births.entry(name.clone()).or_default() += 1;
            }
            if stays {
                counts.living.insert(name, ());
            } else {
                counts.living.remove(&name);
            }
            let living = counts.living.len();
            counts.most = counts.most.max(living);
            counts.fewest = counts.fewest.map(|fewest| fewest.min(living));
        });
        census
    }

    /// The most Machines that were there at a time, without those on their way out.
    pub(crate) fn most(&self) -> usize {
        self.0.lock().unwrap().most
    }

    /// From here on the fewest are looked for.
    pub(crate) fn begin(&self) {
        let mut counts = self.0.lock().unwrap();
        counts.fewest = Some(counts.living.len());
    }

    /// The fewest since [`Census::begin`].
    pub(crate) fn fewest(&self) -> usize {
        self.0.lock().unwrap().fewest.unwrap()
    }

    /// No name was given twice.
    pub(crate) fn assert_no_name_twice(&self) {
        let counts = self.0.lock().unwrap();
        assert!(counts.births.values().all(|births| *births == 1), "{:?}", counts.births);
    }
}
