//! The wish: so many Machines, their classes and their Secret; and who keeps it up, as a MachineSet would.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machinist_api::names::annotations;
use memory_api::{ApiServer, Change};
use serde_json::{Value, json};
use world::{account, class};

use crate::cluster::pools::Pools;
use crate::names::{CLUSTER, NAMESPACE, ZONES};
use crate::plan::{Owners, Plan};
use crate::rng::Rng;

/// How often Machines are counted.
const ROUND: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
struct FleetState {
    made: u64,
    /// Names of Machines that nobody has asked to go.
    wanted: BTreeSet<String>,
    /// Those of them that have failed.
    failed: BTreeSet<String>,
    /// The number of repairs under way: the last one repairs.
    repairs: u32,
}

#[derive(Clone)]
pub(crate) struct Fleet {
    api: ApiServer,
    wished: usize,
    zones: &'static [&'static str],
    pools: Pools,
    inner: Arc<Mutex<FleetState>>,
}

impl Fleet {
    pub(crate) fn new(plan: &Plan, api: ApiServer, pools: Pools) -> Self {
        let wished = plan.machines;
        let zones = match pools.owners {
            Owners::Nobody => ZONES.get(..plan.zones.max(1)).unwrap_or(&ZONES),
            // Each rolls from one to the other.
            Owners::Set | Owners::Deployments => &ZONES,
        };
        let fleet = Self { api, wished, zones, pools, inner: Arc::default() };
        let made = fleet.api.create("secrets", &account(NAMESPACE));
        assert!(made.is_ok(), "nothing was there before: {made:?}");
        for zone in ZONES {
            let mut class = class(NAMESPACE, zone, &spec(zone));
            class["metadata"]["annotations"] = json!({
                annotations::CLUSTER_MARK: plan.marks_classes.then_some(CLUSTER),
                annotations::DELETE_STRANGERS: plan.releases_strangers.then_some("true"),
            });
            let made = fleet.api.create("machineclasses", &class);
            assert!(made.is_ok(), "nothing was there before: {made:?}");
        }
        fleet
    }

    /// An object changes. Called while the API server is locked.
    pub(crate) fn changed(&self, change: &Change<'_>) {
        if change.plural != "machines" {
            return;
        }
        let Some(name) = change.new.or(change.old).and_then(|machine| machine["metadata"]["name"].as_str())
        else {
            return;
        };
        let wanted = change.new.filter(|machine| !machine["metadata"]["deletionTimestamp"].is_string());
        let failed = wanted.filter(|machine| {
            let status = &machine["status"]["currentStatus"];
            status["phase"] == "Failed" && !status["preserveExpiryTime"].is_string()
        });
        let mut inner = self.lock();
        keep(&mut inner.wanted, name, wanted.is_some());
        keep(&mut inner.failed, name, failed.is_some());
    }

    pub(crate) fn zones(&self) -> &'static [&'static str] {
        self.zones
    }

    /// Each class carries the mark of the cluster whose VMs were made of it.
    pub(crate) fn is_marked(&self) -> bool {
        self.zones.iter().all(|zone| {
            let class = self.api.find("machineclasses", &format!("{NAMESPACE}/{zone}"));
            class.is_some_and(|class| class["metadata"]["annotations"][annotations::CLUSTER_MARK].is_string())
        })
    }

    /// Sets or deployments, where Machines have some.
    pub(crate) fn pools(&self) -> &Pools {
        &self.pools
    }

    /// The name of a Machine that nobody has asked to go.
    pub(crate) fn any(&self, rng: &mut Rng) -> Option<String> {
        let inner = self.lock();
        inner.wanted.iter().nth(rng.below(inner.wanted.len())).cloned()
    }

    /// Replaces what has failed and makes what is missing, for ever.
    pub(crate) async fn keep_up(self) {
        loop {
            self.round();
            tokio::time::sleep(ROUND).await;
        }
    }

    fn round(&self) {
        if self.pools.owners != Owners::Nobody {
            return self.pools.keep_up();
        }
        let failed = self.lock().failed.clone();
        for name in failed {
            let _ = self.api.delete("machines", &format!("{NAMESPACE}/{name}"));
        }
        let wanted = self.lock().wanted.len();
        for _ in wanted..self.wished {
            let number = {
                let mut inner = self.lock();
                inner.made += 1;
                inner.made
            };
            let zone = self.zones[usize::try_from(number).unwrap_or_default() % self.zones.len()];
            let _ = self.api.create("machines", &machine(number, zone));
        }
    }

    /// Classes and Secret are as they should be after a while.
    pub(crate) fn repair_later(&self, after: Duration) {
        self.lock().repairs += 1;
        let fleet = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let is_last = {
                let mut inner = fleet.lock();
                inner.repairs -= 1;
                inner.repairs == 0
            };
            if is_last {
                fleet.repair();
            }
        });
    }

    /// Classes and Secret are as they should be.
    pub(crate) fn repair(&self) {
        self.pools.repair();
        let patch = json!({ "data": account(NAMESPACE)["data"] });
        let _ = self.api.edit("secrets", &format!("{NAMESPACE}/account"), &patch);
        for zone in ZONES {
            let whole = class(NAMESPACE, zone, &spec(zone));
            let patch = json!({
                "provider": whole["provider"], "secretRef": whole["secretRef"], "providerSpec": { "type": "sim.small" },
            });
            let _ = self.api.edit("machineclasses", &format!("{NAMESPACE}/{zone}"), &patch);
        }
    }

    /// Returns the difference from the wish; `None` when all Machines run and no other is there.
    pub(crate) fn is_short_of(&self) -> Option<String> {
        let others = self.api.collect("machines", |machine| {
            let phase = machine["status"]["currentStatus"]["phase"].as_str().unwrap_or_default();
            let is_going = machine["metadata"]["deletionTimestamp"].is_string();
            (phase != "Running" || is_going).then(|| {
                let name = &machine["metadata"]["name"];
                let why = &machine["status"]["machinist"]["conditions"];
                format!("{name} is {phase:?}, going: {is_going}, {why}")
            })
        });
        let count = self.api.count("machines");
        if let Some(first) = others.first() {
            return Some(format!("{} of {count} Machines are not Running: {first}", others.len()));
        }
        if self.pools.owners != Owners::Nobody {
            return self.pools.is_short_of();
        }
        (count != self.wished).then(|| format!("{count} Machines are there and {} are wished", self.wished))
    }

    fn lock(&self) -> MutexGuard<'_, FleetState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keep(names: &mut BTreeSet<String>, name: &str, is_in: bool) {
    if !is_in {
        names.remove(name);
    } else if !names.contains(name) {
        names.insert(name.to_owned());
    }
}

fn spec(zone: &str) -> Value {
    json!({ "type": "sim.small", "zone": zone })
}

fn machine(number: u64, zone: &str) -> Value {
    // Some have a short limit of their own for hooks.
    let hook_limit = number.is_multiple_of(2).then_some("5m");
    json!({
        "metadata": {
            "name": format!("m{number}"), "namespace": NAMESPACE, "labels": { "name": "pool" },
            "annotations": { annotations::DELETION_HOOK_TIMEOUT: hook_limit },
        },
        "spec": {
            "class": { "kind": "MachineClass", "name": zone },
            "machinePreserveTimeout": "15m",
            "nodeTemplate": { "metadata": { "labels": { "pool": "a" } } },
        },
    })
}
