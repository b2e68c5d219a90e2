//! A driver that is swapped again and again while calls are in flight.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use machinist_core::driver::Creation;
use machinist_plugin_host::PluginHost;
use simcloud::Latency;
use tokio::task::JoinSet;

use super::sandbox;
use crate::cloud::Cloud;

/// How long the cloud takes for a create: calls are in flight, not in the processor.
const CREATE: Duration = Duration::from_millis(50);

/// The result of the swaps.
#[derive(Clone, Debug)]
pub struct SwapsUnderLoad {
    /// The driver was swapped so often.
    pub swaps: u64,
    /// Calls in flight all the time.
    pub callers: usize,
    /// From the first swap to the last.
    pub took: Duration,
    /// Creates that were asked of the driver.
    pub calls: u64,
    /// Of these, those that failed, by what they said.
    pub failed: BTreeMap<String, u64>,
    /// Creates that reached the cloud.
    pub cloud_calls: u64,
    /// VMs that the cloud made.
    pub created: u64,
    /// VMs of a machine that had one.
    pub duplicates: u64,
}

impl SwapsUnderLoad {
    /// Whether each call was answered, and each reached the cloud once.
    pub fn holds(&self) -> Result<()> {
        ensure!(self.failed.is_empty(), "calls failed: {:?}", self.failed);
        ensure!(
            (self.cloud_calls, self.created, self.duplicates) == (self.calls, self.calls, 0),
            "{} calls made {} requests and {} VMs, {} of them doubled",
            self.calls,
            self.cloud_calls,
            self.created,
            self.duplicates
        );
        Ok(())
    }
}

/// Swaps the driver of the simulated cloud so often, while so many creates are in flight at any time.
pub async fn measure(
    folder: &Path,
    component: &[u8],
    swaps: usize,
    callers: usize,
) -> Result<SwapsUnderLoad> {
    let latency = Latency { create_ms: u64::try_from(CREATE.as_millis())?, ..Latency::ZERO };
    let config = simcloud::Config { latency, ..simcloud::Config::default() };
    let cloud = Arc::new(simcloud::Server::start(config).context("failed to start the cloud")?);
    let host = host(folder, callers)?;
    // Two contents in turn, compiled before: the versions count here, not the compilations.
    let versions = [sandbox::marked(component, "one"), sandbox::marked(component, "two")];
    let versions = [cloud.plugin(&versions[0])?, cloud.plugin(&versions[1])?].map(sandbox::raw);
    for version in &versions {
        sandbox::load(&host, version.clone()).await?;
    }
    let mut serving = generation(&host)?;
    let calls = Arc::new(Calls::default());
    let mut calling = JoinSet::new();
    for _ in 0..callers {
        calling.spawn(call(host.clone(), Arc::clone(&cloud), Arc::clone(&calls)));
    }
    while calls.begun.load(Ordering::Relaxed) < u64::try_from(callers)? {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    let mut swapped = 0;
    for version in versions.iter().cycle().take(swaps) {
        sandbox::load(&host, version.clone()).await?;
        let now = generation(&host)?;
        swapped += u64::from(now != serving);
        serving = now;
    }
    let took = started.elapsed();
    calls.is_over.store(true, Ordering::Relaxed);
    let mut failed = BTreeMap::new();
    while let Some(failures) = calling.join_next().await {
        for failure in failures? {
            *failed.entry(failure).or_default() += 1;
        }
    }
    host.shutdown().await;
    let stats = cloud.stats();
    Ok(SwapsUnderLoad {
        swaps: swapped,
        callers,
        took,
        calls: calls.begun.load(Ordering::Relaxed),
        failed,
        cloud_calls: stats.calls_of("vm.create"),
        created: stats.created,
        duplicates: stats.duplicates_ever,
    })
}

#[derive(Default)]
struct Calls {
    begun: AtomicU64,
    is_over: AtomicBool,
}

/// One create after the other, each of a machine of its own; what those said that failed.
async fn call(host: PluginHost, cloud: Arc<simcloud::Server>, calls: Arc<Calls>) -> Vec<String> {
    let (class, secret) = (cloud.class("small", "sim"), cloud.secret("sim"));
    let mut failures = Vec::new();
    while !calls.is_over.load(Ordering::Relaxed) {
        let number = calls.begun.fetch_add(1, Ordering::Relaxed);
        let request = sandbox::request(&format!("machine-{number}"), &class, &secret, "cluster-1");
        match host.create(request).await {
            Ok(Creation::Created(_)) => {}
            other => failures.push(format!("{other:?}")),
        }
    }
    failures
}

/// A host with room for all calls.
fn host(folder: &Path, callers: usize) -> Result<PluginHost> {
    const SPARE: usize = 8;
    let mut settings = sandbox::settings(folder)?;
    settings.max_calls_in_flight = callers + SPARE;
    settings.default_limits.calls_in_flight = callers + SPARE;
    PluginHost::start(settings).context("failed to start the plugin host")
}

/// Which of the versions that were loaded serves.
fn generation(host: &PluginHost) -> Result<u64> {
    let report = host.plugins().into_iter().find(|report| report.serving);
    Ok(report.and_then(|report| report.held).context("the driver serves")?.generation)
}
