//! MachinistMachines from create to provisioned, beside a plain client that makes as many writes, and a host whose
//! MachinistMachines are all provisioned. API server and cloud are in this process.
//!
//! | module | content |
//! | --- | --- |
//! | `cloud` | a cloud in this process, whose VMs run at once |
//! | `objects` | the objects of a workload cluster, as Cluster API's core leaves them |
//! | `with_core` | MachinistMachines of one MachineDeployment, with Cluster API's own programs |

mod cloud;
mod objects;
pub(crate) mod with_core;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use kube::Api;
use kube::api::{Patch, PatchParams};
use machinist_api::infrastructure::MachinistMachine;
use machinist_runtime::context::clock::Clock;
use machinist_runtime::context::settings::{ClusterApi, Settings};
use machinist_runtime::metrics::Metrics;
use machinist_runtime::ports::Ports;
use machinist_runtime::tenant::Tenant;
use memory_api::ApiServer;
use memory_api::wire::{Call, Wire};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::machines::{CONCURRENCY, WARM_UP};
use crate::times::Times;
use cloud::InfraCloud;
use objects::{INFRA_MACHINES, PLAIN, TEAM};

/// Until all are provisioned, however slow this machine is.
const LIMIT: Duration = Duration::from_secs(600);
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// After the last one is provisioned, until nothing follows.
const UNTIL_STILL: Duration = Duration::from_secs(30);
const STILL: Duration = Duration::from_secs(60);

/// The figures of MachinistMachines.
#[derive(Clone, Debug)]
pub(crate) struct InfraFigures {
    pub(crate) machines: usize,
    /// From the first create until all are provisioned.
    pub(crate) wall: Duration,
    /// From each one's create until it is provisioned.
    pub(crate) each: Times,
    pub(crate) writes: u64,
    pub(crate) requests: u64,
    pub(crate) cloud_calls: u64,
    /// The time of the plain client, and its writes.
    pub(crate) plain: Duration,
    pub(crate) plain_writes: u64,
    /// The number of MachinistMachines of the host that has nothing to do.
    pub(crate) idle_machines: usize,
    pub(crate) idle_time: Duration,
    /// All requests, those of watches and Events too; this host has no Leases.
    pub(crate) idle_requests_a_second: f64,
}

/// A host with its API server and its cloud.
struct Stage {
    api: ApiServer,
    wire: Wire,
    cloud: Arc<InfraCloud>,
    /// When each MachinistMachine was provisioned, by its name.
    provisioned: Arc<Mutex<BTreeMap<String, Instant>>>,
}

pub(crate) async fn measure(machines: usize) -> Result<InfraFigures> {
    let stage = Stage::new();
    let host = stage.start_host();
    stage.create("warm-up", WARM_UP).await?;
    eprintln!("{machines} MachinistMachines");
    let (begun, calls) = (stage.wire.len(), stage.cloud.calls());
    let started = Instant::now();
    let (asked, provisioned) = stage.create("worker", machines).await?;
    let wall = provisioned.values().max().context("some are provisioned")?.duration_since(started);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let count = |is_counted: fn(&Call) -> bool| -> Result<u64> {
        let counted = stage.wire.records_since(begun, |call| is_of_machine(call) && is_counted(call));
        Ok(u64::try_from(counted.len())?)
    };
    let (writes, requests) = (count(Call::is_write)?, count(Call::is_request)?);
    let cloud_calls = stage.cloud.calls() - calls;
    let took = |(name, at): (&String, &Instant)| Some(at.duration_since(*asked.get(name)?));
    let each = Times::of(provisioned.iter().filter_map(took).collect());

    let idle_machines = 2 * machines;
    eprintln!("nothing, with {idle_machines} of them");
    stage.create("idle", idle_machines - machines).await?;
    tokio::time::sleep(UNTIL_STILL).await;
    let begun = stage.wire.len();
    tokio::time::sleep(STILL).await;
    let idle = stage.wire.records_since(begun, |call| call.verb != "CALL" && call.what != "leases").len();
    host.abort();

    eprintln!("a plain client with three writes for each");
    let (plain, plain_writes) = stage.plain_client(machines).await?;
    Ok(InfraFigures {
        machines,
        wall,
        each,
        writes,
        requests,
        cloud_calls,
        plain,
        plain_writes,
        idle_machines,
        idle_time: STILL,
        idle_requests_a_second: f64::from(u32::try_from(idle)?) / STILL.as_secs_f64(),
    })
}

/// Of one MachinistMachine, or of the Secret with its bootstrap data; credentials are read once for all.
fn is_of_machine(call: &Call) -> bool {
    call.name.starts_with("worker-")
}

impl Stage {
    fn new() -> Self {
        let wire = Wire::new();
        let api = ApiServer::new(wire.clone(), jiff::Timestamp::now);
        let provisioned: Arc<Mutex<BTreeMap<String, Instant>>> = Arc::default();
        let seen = provisioned.clone();
        api.observe(move |change| {
            let is_provisioned = |object: Option<&Value>| object.is_some_and(objects::is_provisioned);
            if change.plural == INFRA_MACHINES && is_provisioned(change.new) && !is_provisioned(change.old) {
                let name = change.new.and_then(|new| new["metadata"]["name"].as_str()).unwrap_or_default();
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.insert(name.to_owned(), Instant::now());
            }
        });
        Self { api, wire, cloud: Arc::default(), provisioned }
    }

    /// A host that leads and serves the kinds of Cluster API in one namespace.
    fn start_host(&self) -> JoinHandle<()> {
        objects::add_cluster(&self.api);
        let (leads, is_leading) = watch::channel(true);
        let (synced, _) = watch::channel(false);
        let tenant = Tenant {
            control: self.api.client("host"),
            namespace: "machinist".to_owned(),
            plugin_namespace: "plugins".to_owned(),
            target: None,
            settings: Settings {
                cluster_api: ClusterApi::Namespace(TEAM.to_owned()),
                ..Settings::for_cluster("bench")
            },
            ports: Ports {
                drivers: self.cloud.clone(),
                policies: Arc::new(world::Nothing),
                plugins: Arc::new(world::Nothing),
            },
            clock: Clock::Wall,
            seed: [0; 32],
            identity: "host".to_owned(),
            metrics: Arc::<Metrics>::default(),
            node_groups: None,
        };
        tokio::spawn(async move {
            // Held for as long as the host runs.
            let _leads = leads;
            tenant.run(is_leading, synced, CancellationToken::new()).await;
        })
    }

    /// Creates Machines with their MachinistMachines; when each was created and when it was provisioned.
    async fn create(
        &self,
        prefix: &str,
        count: usize,
    ) -> Result<(BTreeMap<String, Instant>, BTreeMap<String, Instant>)> {
        let mut asked = BTreeMap::new();
        for number in 0..count {
            let name = format!("{prefix}-{number:04}");
            asked.insert(name.clone(), Instant::now());
            objects::add_machine(&self.api, TEAM, &name);
        }
        let started = Instant::now();
        loop {
            let seen = self.provisioned.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let done: BTreeMap<String, Instant> =
                seen.into_iter().filter(|(name, _)| asked.contains_key(name)).collect();
            if done.len() == count {
                return Ok((asked, done));
            }
            ensure!(started.elapsed() < LIMIT, "{} of {count} are provisioned after {LIMIT:?}", done.len());
            tokio::time::sleep(LOOKS_EVERY).await;
        }
    }

    /// Makes a host's three writes for as many MachinistMachines, and waits for the same cloud between the first and
    /// the second one. Returns its time and its writes.
    async fn plain_client(&self, machines: usize) -> Result<(Duration, u64)> {
        let names: Vec<String> = (0..machines).map(|number| format!("plain-{number:04}")).collect();
        for name in &names {
            objects::add_machine(&self.api, PLAIN, name);
        }
        let api: Api<MachinistMachine> = Api::namespaced(self.api.client("plain"), PLAIN);
        let started = Instant::now();
        let all = futures::stream::iter(&names).map(|name| self.plain_writes(&api, name));
        let writes = all.buffer_unordered(CONCURRENCY).try_fold(0, async |sum, one| Ok(sum + one)).await?;
        Ok((started.elapsed(), writes))
    }

    async fn plain_writes(&self, api: &Api<MachinistMachine>, name: &str) -> Result<u64> {
        let params = PatchParams::default();
        let [claim, record, status] = objects::patches(name);
        api.patch(name, &params, &Patch::Merge(claim)).await.context("failed to write finalizer and key")?;
        self.cloud.wait().await;
        api.patch(name, &params, &Patch::Merge(record)).await.context("failed to write the provider id")?;
        api.patch_status(name, &params, &Patch::Merge(status)).await.context("failed to write the status")?;
        Ok(3)
    }
}
