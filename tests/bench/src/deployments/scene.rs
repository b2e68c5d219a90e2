//! A lab with a host, a watch of all Machines of deployments, and what a piece of work cost everyone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use control_plane::process_usage;
use e2e::fleet::{FleetWatch, Stretch};
use e2e::{Cloud, Host, Lab, LabOptions};
use kube::runtime::watcher;

use crate::conditions::BusyCores;
use crate::machines::{
    Baseline, CONCURRENCY, Cpu, HEARTBEAT, Requests, Usage, WARM_UP, baseline, create, drivers_calls,
    requests, start_host, stop,
};
use crate::progress::Progress;

/// The answer to a create, then the boot, then the end of a VM.
pub(super) const CREATE: Duration = Duration::from_millis(20);
pub(super) const BOOT: Duration = Duration::from_millis(500);
pub(super) const TERMINATE: Duration = Duration::from_millis(500);
/// Two classes that differ in their names.
pub(super) const CLASSES: [&str; 2] = ["small", "large"];
/// Machines of deployments have it, others not.
const LABEL: &str = "name";

pub(super) struct Scene {
    pub(super) lab: Lab,
    pub(super) host: Host,
    pub(super) fleet: FleetWatch,
}

/// The cost of a piece of work.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) requests: Requests,
    /// Calls of the drivers by operation.
    pub(crate) cloud: BTreeMap<String, u64>,
    pub(crate) cpu: Cpu,
    pub(crate) stretch: Stretch,
    pub(crate) duplicates: u64,
    /// Memory of the host before and at its highest.
    pub(crate) idle_bytes: u64,
    pub(crate) peak_bytes: u64,
}

impl Scene {
    /// With some Machines that run already, so that connections, caches and compiled code are there.
    pub(super) async fn start(what: &str) -> Result<Self> {
        let driver = tokio::task::spawn_blocking(|| guests::bytes("sim-driver")).await??;
        eprintln!("{what}: starting control plane, cloud and kubelets");
        let mut options = LabOptions::default();
        options.cloud.latency = simcloud::Latency {
            create_ms: u64::try_from(CREATE.as_millis())?,
            boot_ms: u64::try_from(BOOT.as_millis())?,
            terminate_ms: u64::try_from(TERMINATE.as_millis())?,
            ..simcloud::Latency::ZERO
        };
        options.kubelets.heartbeat = HEARTBEAT;
        let lab = Lab::start(options).await?;
        let host = start_host(&lab).await?;
        lab.install_driver(&driver).await?;
        lab.put_class(&lab.cloud.large_class(CLASSES[1], <simcloud::Server as Cloud>::NAME)).await?;
        create(&lab, "warm-up", WARM_UP).await?;
        lab.machines_in_phase("Running", WARM_UP).await?;
        let fleet = FleetWatch::start(lab.machines(), watcher::Config::default().labels(LABEL)).await?;
        Ok(Self { lab, host, fleet })
    }

    /// Does a piece of work, described by `what`, and counts until the host sends nothing more.
    pub(super) async fn counted(&self, what: &str, work: impl Future<Output = Result<()>>) -> Result<Cost> {
        let (lab, host) = (&self.lab, &self.host);
        let before = requests::when_idle(host).await?;
        let (calls_before, usage_before) = (lab.cloud.stats(), Usage::now(lab, host)?);
        let cores = BusyCores::start()?;
        self.fleet.begin();
        let started = Instant::now();
        Progress::of(lab, Some(host)).during(what, work).await?;
        let wall = started.elapsed();
        let cpu = Usage::now(lab, host)?.since(&usage_before, &cores)?;
        let after = requests::when_idle(host).await?;
        let stats = lab.cloud.stats();
        Ok(Cost {
            wall,
            requests: Requests::between(&before, &after),
            cloud: drivers_calls(&calls_before, &stats),
            cpu,
            stretch: self.fleet.stretch(),
            duplicates: stats.duplicates_ever,
            idle_bytes: usage_before.host.rss_bytes,
            peak_bytes: process_usage(host.pid())?.peak_rss_bytes,
        })
    }

    /// Waits until so many Machines are there, all of them available.
    pub(super) async fn runs(&self, machines: usize) -> Result<()> {
        let what = format!("{machines} Machines run, and no other is there");
        self.fleet.until(&what, |tally| tally.available == machines && tally.objects == machines).await?;
        Ok(())
    }

    /// Ends the host, and has a plain client make as many writes of a creation.
    pub(super) async fn creations(self, machines: usize, requests: &Requests) -> Result<Baseline> {
        stop(self.host).await?;
        eprintln!("  a plain client with as many writes");
        baseline::measure(&self.lab, machines, requests, CONCURRENCY, async |_| Ok(())).await
    }
}
