//! MachinistMachines of one MachineDeployment with Cluster API's own core and kubeadm bootstrap provider, on a real API
//! server.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster_api::Manager;
use control_plane::process_usage;
use e2e::cluster_api::{Management, Workload, credentials, plane_options};
use e2e::{Host, Lab, LabOptions, Metrics, manifests};
use futures::StreamExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use machinist_api::infrastructure::MachinistMachine;
use serde_json::Value;
use tokio::time::timeout;

use crate::drains::still;
use crate::machines::{HEARTBEAT, Requests, requests, stop};
use crate::times::Times;

const TEAM: &str = "team";
/// Only what is stuck shows nothing for so long, however slow the machine.
const STUCK: Duration = Duration::from_secs(180);
const CALLED: Duration = Duration::from_secs(10);
const STILL: Duration = Duration::from_secs(120);

/// The figures of MachinistMachines with core.
#[derive(Clone, Debug)]
pub(crate) struct CoreFigures {
    pub(crate) machines: usize,
    /// From the MachineDeployment's new number until all are provisioned.
    pub(crate) provisioned: Duration,
    /// Until core calls all Machines Running.
    pub(crate) running: Duration,
    /// From the bootstrap data of each one's Machine until it is provisioned: the host's share.
    pub(crate) share: Times,
    pub(crate) host: Requests,
    pub(crate) core: ManagerRequests,
    pub(crate) kubeadm: ManagerRequests,
    /// Memory of the host before the first machine, and its most.
    pub(crate) idle_bytes: u64,
    pub(crate) peak_bytes: u64,
    /// Requests a second while nothing happens, beside those of Leases, and for how long that was counted.
    pub(crate) idle_requests_a_second: f64,
    pub(crate) idle_time: Duration,
}

/// Requests of a manager of Cluster API, as its own metrics count them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ManagerRequests {
    pub(crate) writes: f64,
    pub(crate) reads: f64,
}

pub(crate) async fn measure(machines: usize) -> Result<CoreFigures> {
    let driver = tokio::task::spawn_blocking(|| guests::bytes("sim-driver")).await??;
    eprintln!("starting control plane, cloud, kubelets, and Cluster API's core");
    let mut options = LabOptions { plane: plane_options(), ..LabOptions::default() };
    options.cloud.latency = simcloud::Latency { create_ms: 20, ..simcloud::Latency::ZERO };
    options.kubelets.heartbeat = HEARTBEAT;
    let lab = Lab::start(options).await?;
    let management = Management::start(&lab.plane).await?;
    let host = Host::start_ready(&lab.host_options().quiet().with(&["--cluster-api=*"])).await?;
    lab.install_driver(&driver).await?;
    let spec = manifests::class("small", "sim").provider_spec.unwrap_or_default();
    let account = credentials(&lab.cloud)?;
    let planes = (&lab.plane, &lab.plane);
    let workload = Workload::create(planes, (TEAM, "shop"), ("sim", &spec, &account)).await?;
    let warm_up = 2;
    workload.deploy(&lab.plane, warm_up).await?;
    workload.has(usize::try_from(warm_up)?, "small").await?;
    eprintln!("{machines} MachinistMachines of a MachineDeployment");
    let idle_bytes = process_usage(host.pid())?.rss_bytes;
    let wanted = machines + usize::try_from(warm_up)?;
    let followed = tokio::spawn(follow_infra(workload.infra_machines(), wanted));
    let owners = tokio::spawn(follow_owners(workload.machines(), wanted));
    let before = (Requests::read(&host.metrics().await?), read(&management).await?);
    let started = Instant::now();
    workload.scale(u32::try_from(wanted)?).await?;
    let (provisioned, owners) = (followed.await??, owners.await??);
    let (core, kubeadm) = read(&management).await?;
    let requests = Requests::between(&before.0, &Requests::read(&host.metrics().await?));
    let (core_before, kubeadm_before) = before.1;
    let share = provisioned.iter().filter_map(|(name, at)| {
        let (data, _) = owners.get(name)?;
        (*data >= started).then(|| at.saturating_duration_since(*data))
    });
    let share: Vec<Duration> = share.collect();
    ensure!(share.len() == machines, "{} of {machines} have a share", share.len());
    let last = |times: &mut dyn Iterator<Item = Instant>| times.max().map(|at| at.duration_since(started));
    let peak_bytes = process_usage(host.pid())?.peak_rss_bytes;
    eprintln!("nothing, for {STILL:?}");
    requests::when_idle(&host).await?;
    let (idle_requests_a_second, _) = still(&host, STILL).await?;
    stop(host).await?;
    Ok(CoreFigures {
        machines,
        provisioned: last(&mut provisioned.values().copied()).context("some are provisioned")?,
        running: last(&mut owners.values().map(|(_, running)| *running)).context("some run")?,
        share: Times::of(share),
        host: requests,
        core: core.since(core_before),
        kubeadm: kubeadm.since(kubeadm_before),
        idle_bytes,
        peak_bytes,
        idle_requests_a_second,
        idle_time: STILL,
    })
}

/// When each MachinistMachine was provisioned.
async fn follow_infra(api: Api<MachinistMachine>, wanted: usize) -> Result<BTreeMap<String, Instant>> {
    let mut events = pin!(watcher(api, watcher::Config::default()));
    let mut seen = BTreeMap::new();
    while seen.len() < wanted {
        let stuck = || format!("{} of {wanted} MachinistMachines are provisioned", seen.len());
        let event = timeout(STUCK, events.next()).await.with_context(stuck)?.context("the watch ended")?;
        if let Event::Apply(machine) | Event::InitApply(machine) = event?
            && machine.is_provisioned()
        {
            seen.entry(machine.name_any()).or_insert_with(Instant::now);
        }
    }
    Ok(seen)
}

/// When each Machine had its bootstrap data, and when it was Running.
async fn follow_owners(
    api: Api<DynamicObject>,
    wanted: usize,
) -> Result<BTreeMap<String, (Instant, Instant)>> {
    let mut events = pin!(watcher(api, watcher::Config::default()));
    let (mut data, mut running) = (BTreeMap::new(), BTreeMap::new());
    while running.len() < wanted {
        let stuck = || format!("{} of {wanted} Machines are Running", running.len());
        let event = timeout(STUCK, events.next()).await.with_context(stuck)?.context("the watch ended")?;
        let (Event::Apply(machine) | Event::InitApply(machine)) = event? else { continue };
        let text = |path: &str| machine.data.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let name = machine.name_any();
        if !text("/spec/bootstrap/dataSecretName").is_empty() {
            data.entry(name.clone()).or_insert_with(Instant::now);
        }
        if text("/status/phase") == "Running" {
            running.entry(name).or_insert_with(Instant::now);
        }
    }
    let both = data.into_iter().filter_map(|(name, at)| Some((name.clone(), (at, *running.get(&name)?))));
    Ok(both.collect())
}

async fn read(management: &Management) -> Result<(ManagerRequests, ManagerRequests)> {
    let managers = &management.managers;
    Ok((ManagerRequests::read(&managers.core).await?, ManagerRequests::read(&managers.kubeadm).await?))
}

impl ManagerRequests {
    async fn read(manager: &Manager) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(CALLED).build()?;
        let text = http.get(manager.metrics_url()).send().await?.error_for_status()?.text().await?;
        let metrics = Metrics::parse(&text);
        let of = |methods: &[&str]| -> f64 {
            let label = |method: &&str| format!("method=\"{method}\"");
            methods.iter().map(|method| metrics.sum("rest_client_requests_total", &[&label(method)])).sum()
        };
        Ok(Self { writes: of(&["POST", "PUT", "PATCH", "DELETE"]), reads: of(&["GET"]) })
    }

    fn since(self, before: Self) -> Self {
        Self { writes: self.writes - before.writes, reads: self.reads - before.reads }
    }
}
