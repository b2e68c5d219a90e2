//! The wish where Machines have owners: a MachineSet, or MachineDeployments.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use machinist_api::names::{annotations, labels, node_conditions, taints};
use memory_api::ApiServer;
use serde_json::{Value, json};

use crate::names::{NAMESPACE, ZONES};
use crate::plan::{Owners, Plan};
use crate::rng::Rng;

/// Somebody removes what belongs to nobody after so many rounds of the fleet.
const ROUNDS_UNOWNED: u32 = 15;

/// The annotations of a deployment that a user may wish, and their values. A run begins at the midnight before a
/// Thursday.
const WISHES: &[(&str, &[&str])] = &[
    (annotations::DISRUPTION_BUDGET, &["1/2m", "1/10m", "2/5m", "1/1h"]),
    (
        annotations::MAINTENANCE_WINDOWS,
        &["Mon-Sun 00:00-00:05 UTC", "Thu 00:03-00:06 UTC; Thu 01:00-02:00 UTC", "never"],
    ),
    (annotations::REMEDIATE_IN_WINDOWS, &["true"]),
    (annotations::MAX_NODE_AGE, &["1h"]),
    (annotations::REPLACE_BEFORE_DRAIN, &["true", "2m"]),
    (annotations::CLASS_ALTERNATIVES, &["sim-1b", "sim-1c,sim-1a"]),
];

/// One set or deployment that is to be there.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) name: String,
    /// How many Machines it begins with.
    pub(crate) size: usize,
}

#[derive(Clone)]
pub(crate) struct Pools {
    pub(crate) owners: Owners,
    pub(crate) pools: Vec<Pool>,
    /// The disruption budget of each, rather than other wishes.
    budget: Option<&'static str>,
    api: ApiServer,
    inner: Arc<Mutex<PoolsState>>,
}

struct PoolsState {
    rng: Rng,
    is_calm: bool,
    /// Resource and name of what belongs to nobody, and in how many rounds.
    unowned: BTreeMap<(&'static str, String), u32>,
}

impl Pools {
    pub(crate) fn new(plan: &Plan, api: ApiServer) -> Self {
        let Plan { owners, machines: wished, budget, .. } = *plan;
        let mut rng = Rng::new(plan.seed, "pools wished");
        let is_two = owners == Owners::Deployments && wished > 2 && rng.happens(0.4);
        let pool = |number: usize, size: usize| Pool { name: format!("pool-{number}"), size };
        let pools = match owners {
            Owners::Nobody => Vec::new(),
            Owners::Set | Owners::Deployments if is_two => {
                vec![pool(0, wished.div_ceil(2)), pool(1, wished / 2)]
            }
            Owners::Set | Owners::Deployments => vec![pool(0, wished)],
        };
        let inner = PoolsState { rng, is_calm: false, unowned: BTreeMap::new() };
        Self { owners, pools, budget, api, inner: Arc::new(Mutex::new(inner)) }
    }

    /// Makes those that are not there, and removes what belongs to nobody for long.
    pub(crate) fn keep_up(&self) {
        let Some(plural) = self.owners.plural() else { return };
        for pool in &self.pools {
            let path = format!("{NAMESPACE}/{}", pool.name);
            if self.api.find(plural, &path).is_none() {
                let object = self.object(pool);
                // Nothing of that name was there a moment ago.
                let _ = self.api.create(plural, &object);
            }
        }
        self.remove_unowned();
    }

    fn remove_unowned(&self) {
        let mut found = Vec::new();
        for plural in ["machinesets", "machines"] {
            if Some(plural) == self.owners.plural() {
                continue;
            }
            found.extend(self.api.collect(plural, |object| {
                let is_going = object["metadata"]["deletionTimestamp"].is_string();
                let is_owned =
                    object["metadata"]["ownerReferences"].as_array().is_some_and(|all| !all.is_empty());
                (!is_going && !is_owned).then(|| (plural, text(&object["metadata"]["name"])))
            }));
        }
        let mut inner = self.lock();
        inner.unowned.retain(|one, _| found.contains(one));
        let mut due = Vec::new();
        for one in found {
            let rounds = inner.unowned.entry(one.clone()).or_default();
            *rounds += 1;
            if *rounds > ROUNDS_UNOWNED {
                due.push(one);
            }
        }
        drop(inner);
        for (plural, name) in due {
            let _ = self.api.delete(plural, &format!("{NAMESPACE}/{name}"));
        }
    }

    pub(crate) fn repair(&self) {
        if self.owners != Owners::Deployments {
            return;
        }
        for pool in &self.pools {
            let path = format!("{NAMESPACE}/{}", pool.name);
            let _ = self.api.edit("machinedeployments", &path, &json!({ "spec": { "paused": null } }));
        }
    }

    /// Nobody wishes any more for what makes a rollout wait.
    pub(crate) fn calm(&self) {
        self.lock().is_calm = true;
        if self.owners != Owners::Deployments {
            return;
        }
        let unwished: BTreeMap<&str, Value> = WISHES.iter().map(|(key, _)| (*key, Value::Null)).collect();
        let patch = json!({ "metadata": { "annotations": unwished } });
        for pool in &self.pools {
            let _ = self.api.edit("machinedeployments", &format!("{NAMESPACE}/{}", pool.name), &patch);
        }
    }

    fn object(&self, pool: &Pool) -> Value {
        let mut inner = self.lock();
        let zone = inner.rng.pick(&ZONES).copied().unwrap_or_default();
        let hook_limit = inner.rng.happens(0.5).then_some("5m");
        let auto_preserve = inner.rng.happens(0.2).then_some(1);
        let template = json!({
            "metadata": {
                "labels": { labels::DEPLOYMENT: pool.name },
                "annotations": { annotations::DELETION_HOOK_TIMEOUT: hook_limit },
            },
            "spec": {
                "class": { "kind": "MachineClass", "name": zone },
                "machinePreserveTimeout": "15m",
                "nodeTemplate": { "metadata": { "labels": { "pool": "a" } } },
            },
        });
        let mut object = json!({
            "metadata": { "name": pool.name, "namespace": NAMESPACE },
            "spec": {
                "replicas": pool.size,
                "selector": { "matchLabels": { labels::DEPLOYMENT: pool.name } },
                "template": template,
                "autoPreserveFailedMachineMax": auto_preserve,
                "minReadySeconds": 500,
            },
        });
        if self.owners == Owners::Deployments {
            object["spec"]["strategy"] = strategy(&mut inner.rng);
            object["metadata"]["annotations"] = match self.budget {
                _ if inner.is_calm => Value::Null,
                Some(budget) => json!({ annotations::DISRUPTION_BUDGET: budget }),
                None if inner.rng.happens(0.3) => wishes(&mut inner.rng),
                None => Value::Null,
            };
            object["spec"]["progressDeadlineSeconds"] = json!(600);
            object["spec"]["revisionHistoryLimit"] = json!(inner.rng.below(4));
        }
        object
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PoolsState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the difference from the wish.
    pub(crate) fn is_short_of(&self) -> Option<String> {
        let plural = self.owners.plural()?;
        let mut wished = 0;
        for pool in &self.pools {
            let Some(object) = self.api.find(plural, &format!("{NAMESPACE}/{}", pool.name)) else {
                return Some(format!("{} is not there", pool.name));
            };
            if let Some(missing) = unfinished(self.owners, &object) {
                return Some(format!("{} {missing}: {}", pool.name, object["status"]));
            }
            wished += object["spec"]["replicas"].as_u64().unwrap_or_default();
        }
        let count = self.api.count("machines") as u64;
        if count != wished {
            return Some(format!("{count} Machines are there and {wished} are wished"));
        }
        self.frozen_sets().or_else(|| self.marks_left())
    }

    fn frozen_sets(&self) -> Option<String> {
        let frozen = self.api.collect("machinesets", |set| {
            let is_frozen = !set["metadata"]["labels"][labels::FREEZE].is_null();
            let mut conditions = set["status"]["machineSetCondition"].as_array().into_iter().flatten();
            let says_so = conditions.any(|one| one["type"] == "Frozen" && one["status"] == "True");
            (is_frozen || says_so).then(|| text(&set["metadata"]["name"]))
        });
        frozen.first().map(|name| format!("set {name} is frozen"))
    }

    /// Marks of a rollout or of the autoscaler that nobody needs any more.
    fn marks_left(&self) -> Option<String> {
        if self.owners != Owners::Deployments {
            return None;
        }
        let nodes = self.api.collect("nodes", |node| {
            let of = |map: &str, name: &str| !node["metadata"][map][name].is_null();
            let mut all_taints = node["spec"]["taints"].as_array().into_iter().flatten();
            let update = crate::cluster::update_of(node);
            let left = if all_taints.any(|taint| taint["key"] == taints::PREFER_NO_SCHEDULE) {
                taints::PREFER_NO_SCHEDULE
            } else if of("annotations", annotations::SCALE_DOWN_DISABLED_BY_US) && !is_preserved(node) {
                annotations::SCALE_DOWN_DISABLED_BY_US
            } else if of("labels", labels::CANDIDATE_FOR_UPDATE) {
                labels::CANDIDATE_FOR_UPDATE
            } else if of("labels", labels::SELECTED_FOR_UPDATE) {
                labels::SELECTED_FOR_UPDATE
            } else if !matches!(
                update,
                "" | node_conditions::UPDATE_SUCCESSFUL | node_conditions::CANDIDATE_FOR_UPDATE
            ) {
                update
            } else {
                return None;
            };
            Some(format!("Node {} still has {left}", node["metadata"]["name"]))
        });
        let machines = self.api.collect("machines", |machine| {
            let meta = &machine["metadata"];
            let is_left = !meta["labels"][labels::UPDATE_RESULT].is_null();
            is_left.then(|| format!("Machine {} still has {}", meta["name"], labels::UPDATE_RESULT))
        });
        nodes.into_iter().chain(machines).next()
    }
}

/// A strategy: mostly rolling, with all kinds of bounds.
pub(crate) fn strategy(rng: &mut Rng) -> Value {
    let kinds = [(7, "RollingUpdate"), (1, "Recreate"), (2, "InPlaceUpdate")];
    let kind = rng.weighed(&kinds).unwrap_or_default();
    let shares = [json!(0), json!(1), json!(2), json!("50%"), json!("25%")];
    let surge = rng.pick(&shares).cloned().unwrap_or_default();
    let unavailable = rng.pick(&shares).cloned().unwrap_or_default();
    let bounds = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
    match kind {
        "RollingUpdate" => json!({ "type": kind, "rollingUpdate": bounds, "inPlaceUpdate": null }),
        "InPlaceUpdate" => {
            let mut bounds = bounds;
            bounds["orchestrationType"] = json!("Auto");
            json!({ "type": kind, "inPlaceUpdate": bounds, "rollingUpdate": null })
        }
        _ => json!({ "type": kind, "inPlaceUpdate": null, "rollingUpdate": null }),
    }
}

/// Some of the wishes, and none of the others any more.
pub(crate) fn wishes(rng: &mut Rng) -> Value {
    let mut wished = serde_json::Map::new();
    for (key, values) in WISHES {
        let value = rng.pick(values).filter(|_| rng.happens(0.4));
        wished.insert((*key).to_owned(), json!(value));
    }
    Value::Object(wished)
}

/// Whether its rollout is over, as the autoscaler reads it.
pub(crate) fn is_complete(deployment: &Value) -> bool {
    let mut conditions = deployment["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| {
        one["type"] == "Progressing"
            && ((one["status"] == "True" && one["reason"] == "NewMachineSetAvailable")
                || (one["status"] == "Unknown" && one["reason"] == "DeploymentPaused"))
    })
}

fn unfinished(owners: Owners, object: &Value) -> Option<&'static str> {
    let (meta, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    let number = |value: &Value| value.as_i64().unwrap_or_default();
    if meta["deletionTimestamp"].is_string() {
        return Some("is being deleted");
    }
    if number(&status["observedGeneration"]) < number(&meta["generation"]) {
        return Some("was not looked at since its last change");
    }
    if !meta["labels"][labels::FREEZE].is_null() {
        return Some("is frozen");
    }
    let counts: &[&str] = match owners {
        Owners::Nobody => &[],
        Owners::Set => &["replicas", "readyReplicas", "availableReplicas"],
        Owners::Deployments => &["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"],
    };
    if counts.iter().any(|count| number(&status[*count]) != number(&spec["replicas"])) {
        return Some("has not as many as it wants");
    }
    if owners == Owners::Deployments {
        if !is_complete(object) || spec["paused"] == true {
            return Some("has not come to the end of its rollout");
        }
        if !meta["annotations"][annotations::TRIGGER_DELETION].is_null() {
            return Some("still has Machines to mark for the autoscaler");
        }
        if !spec["rollbackTo"].is_null() {
            return Some("was not rolled back");
        }
    }
    None
}

fn is_preserved(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == node_conditions::PRESERVED && one["status"] == "True")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
