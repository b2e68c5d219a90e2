//! Machines from create to Running on a real API server, beside a plain client that makes as many writes.
//!
//! | module | content |
//! | --- | --- |
//! | `ec2` | Machines on EC2, played by moto, beside a plain client with the same requests |
//! | `troubled` | the number of VMs in clouds whose reads lag and whose answers get lost |
//! | `baseline` | a client that makes the host's writes and nothing else |
//! | `follow` | sees Machines become Running, or disappear, through a watch |
//! | `requests` | requests of the host to the API server, by its own counters |

pub(crate) mod baseline;
pub(crate) mod ec2;
mod follow;
pub(crate) mod requests;
mod troubled;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use control_plane::{ProcessUsage, process_usage};
use e2e::{Cloud, Host, Lab, LabOptions};
use futures::{StreamExt, TryStreamExt};

use crate::conditions::BusyCores;
use crate::times::Times;

pub(crate) use baseline::Baseline;
pub(crate) use follow::{Follow, Goal};
pub(crate) use requests::Requests;
pub(crate) use troubled::Troubled;

/// Requests in flight, of whoever creates the Machines and of the plain client.
pub(crate) const CONCURRENCY: usize = 128;
/// Machines before those that count: connections, caches and compiled code are there then.
pub(crate) const WARM_UP: usize = 10;
/// Kubelets say nothing meanwhile, as in the figures of the Go controllers that these stand beside.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(300);

/// CPU time of those who take part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) host: Duration,
    pub(crate) api_server: Duration,
    pub(crate) etcd: Duration,
    /// This process: cloud, kubelets, and whoever creates and watches.
    pub(crate) bench: Duration,
    /// Cores that were busy with something else.
    pub(crate) others: f64,
}

/// The figures of Machines.
#[derive(Clone, Debug)]
pub(crate) struct MachineFigures {
    pub(crate) api_server: String,
    pub(crate) machines: usize,
    /// From the first create until all are Running.
    pub(crate) wall: Duration,
    /// From each one's create until it is Running.
    pub(crate) each: Times,
    pub(crate) requests: Requests,
    /// Calls of the drivers by operation.
    pub(crate) cloud: BTreeMap<String, u64>,
    pub(crate) duplicates: u64,
    pub(crate) cpu: Cpu,
    pub(crate) peak_bytes: u64,
    /// Memory of the host before the first Machine.
    pub(crate) idle_bytes: u64,
    pub(crate) baseline: Baseline,
    pub(crate) troubled: Vec<Troubled>,
}

impl MachineFigures {
    /// Calls of the drivers.
    pub(crate) fn cloud_calls(&self) -> u64 {
        self.cloud.values().sum()
    }
}

pub(crate) async fn measure(machines: usize) -> Result<MachineFigures> {
    eprintln!("building the driver");
    let driver = tokio::task::spawn_blocking(|| guests::bytes("sim-driver")).await??;
    eprintln!("starting control plane, cloud and kubelets");
    let mut options = LabOptions::default();
    options.cloud.latency = simcloud::Latency { create_ms: 20, boot_ms: 500, ..simcloud::Latency::ZERO };
    options.kubelets.heartbeat = HEARTBEAT;
    let lab = Lab::start(options).await?;
    let host = start_host(&lab).await?;
    lab.install_driver(&driver).await?;
    create(&lab, "warm-up", WARM_UP).await?;
    lab.machines_in_phase("Running", WARM_UP).await?;
    eprintln!("{machines} Machines");
    let counted = counted(&lab, &host, machines).await?;
    stop(host).await?;
    eprintln!("a plain client with as many writes");
    let baseline =
        baseline::measure(&lab, machines, &counted.requests, CONCURRENCY, async |_| Ok(())).await?;
    eprintln!("clouds in trouble");
    let host = start_host(&lab).await?;
    let troubled = troubled::measure(&lab).await?;
    stop(host).await?;
    let api_server =
        lab.client.apiserver_version().await.context("failed to ask for the version")?.git_version;
    Ok(MachineFigures { api_server, baseline, troubled, ..counted })
}

pub(crate) async fn start_host(lab: &Lab<impl Cloud>) -> Result<Host> {
    Host::start_ready(&lab.host_options().quiet()).await
}

pub(crate) async fn stop(host: Host) -> Result<()> {
    let ended = host.terminate().await?;
    anyhow::ensure!(ended.success(), "the host ended with {ended}");
    Ok(())
}

/// Many Machines at once; when each was asked for.
pub(crate) async fn create(
    lab: &Lab<impl Cloud>,
    prefix: &str,
    count: usize,
) -> Result<BTreeMap<String, Instant>> {
    futures::stream::iter(0..count)
        .map(|number| async move {
            let name = format!("{prefix}-{number:04}");
            let asked = Instant::now();
            lab.create_machine(&name, "small").await?;
            anyhow::Ok((name, asked))
        })
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await
}

async fn counted(lab: &Lab, host: &Host, machines: usize) -> Result<MachineFigures> {
    const PREFIX: &str = "worker";
    let before = requests::when_idle(host).await?;
    let (calls_before, usage_before) = (lab.cloud.stats(), Usage::now(lab, host)?);
    let cores = BusyCores::start()?;
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, machines);
    let started = Instant::now();
    let asked = create(lab, PREFIX, machines).await?;
    let running = follow.all().await?;
    let wall = running.values().max().context("some are Running")?.duration_since(started);
    let cpu = Usage::now(lab, host)?.since(&usage_before, &cores)?;
    let after = requests::when_idle(host).await?;
    let took = |(name, at): (&String, &Instant)| Some(at.duration_since(*asked.get(name)?));
    let stats = lab.cloud.stats();
    Ok(MachineFigures {
        api_server: String::new(),
        machines,
        wall,
        each: Times::of(running.iter().filter_map(took).collect()),
        requests: Requests::between(&before, &after),
        cloud: drivers_calls(&calls_before, &stats),
        duplicates: stats.duplicates_ever,
        cpu,
        peak_bytes: process_usage(host.pid())?.peak_rss_bytes,
        idle_bytes: usage_before.host.rss_bytes,
        baseline: Baseline::default(),
        troubled: Vec::new(),
    })
}

/// By operation, without those of the kubelets and of this program.
pub(crate) fn drivers_calls(before: &simcloud::Stats, after: &simcloud::Stats) -> BTreeMap<String, u64> {
    const NOT_OF_DRIVERS: [&str; 3] = ["admin", "stats", "vm.userData"];
    let operations = after.calls.keys().filter(|operation| !NOT_OF_DRIVERS.contains(&operation.as_str()));
    operations
        .map(|operation| (operation.clone(), after.calls_of(operation) - before.calls_of(operation)))
        .filter(|(_, calls)| *calls > 0)
        .collect()
}

/// The use of each process so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) host: ProcessUsage,
    api_server: ProcessUsage,
    etcd: ProcessUsage,
    bench: ProcessUsage,
}

impl Usage {
    pub(crate) fn now(lab: &Lab, host: &Host) -> Result<Self> {
        let pids = lab.plane.pids();
        Ok(Self {
            host: process_usage(host.pid())?,
            api_server: process_usage(pids.api_server.context("the API server runs")?)?,
            etcd: process_usage(pids.etcd)?,
            bench: process_usage(std::process::id())?,
        })
    }

    pub(crate) fn since(&self, before: &Self, cores: &BusyCores) -> Result<Cpu> {
        let host = self.host.cpu.saturating_sub(before.host.cpu);
        let api_server = self.api_server.cpu.saturating_sub(before.api_server.cpu);
        let etcd = self.etcd.cpu.saturating_sub(before.etcd.cpu);
        let bench = self.bench.cpu.saturating_sub(before.bench.cpu);
        let others = cores.others(host + api_server + etcd + bench)?;
        Ok(Cpu { host, api_server, etcd, bench, others })
    }
}
