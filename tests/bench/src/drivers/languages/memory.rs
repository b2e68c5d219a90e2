//! The growth of the process for each instance that is alive.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::plugins::sandbox;
use machinist_core::driver::MachineRequest;
use machinist_plugin_host::{PluginHost, RawConfigMap};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// All of them wait at the same time for a cloud that does not answer.
const INSTANCES: usize = 48;
const TIMEOUT: Duration = Duration::from_secs(60);
/// No further connection comes after so long: some schemes ask for one token for all calls.
const STILL: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) resident_kib: u64,
    /// Memory that nothing else shares.
    pub(crate) private_kib: u64,
}

/// With the component's optimised code in this folder. `cloud` is where the plugin's requests go.
pub(crate) async fn measure(
    folder: &Path,
    cloud: &TcpListener,
    map: RawConfigMap,
    request: &MachineRequest,
) -> Result<Memory> {
    let host = super::start(folder)?;
    sandbox::load(&host, map).await?;
    let warm = waiting(&host, cloud, request, 2).await?;
    drop(warm);
    let before = now()?;
    let alive = waiting(&host, cloud, request, INSTANCES).await?;
    let after = now()?;
    drop(alive);
    host.shutdown().await;
    let each = |after: u64, before: u64| after.saturating_sub(before) / INSTANCES as u64;
    Ok(Memory {
        resident_kib: each(after.resident_kib, before.resident_kib),
        private_kib: each(after.private_kib, before.private_kib),
    })
}

/// So many calls, which wait on connections on which nothing ever comes.
async fn waiting(
    host: &PluginHost,
    cloud: &TcpListener,
    request: &MachineRequest,
    calls: usize,
) -> Result<(JoinSet<()>, Vec<TcpStream>)> {
    let mut running = JoinSet::new();
    for _ in 0..calls {
        let (host, request) = (host.clone(), request.clone());
        running.spawn(async move {
            let _given_up = host.get_status(request).await;
        });
    }
    let first = tokio::time::timeout(TIMEOUT, cloud.accept()).await;
    let mut connections = vec![first.context("no call has come to its request")??.0];
    while let Ok(more) = tokio::time::timeout(STILL, cloud.accept()).await {
        connections.push(more?.0);
    }
    ensure!(running.try_join_next().is_none(), "a call has ended instead of waiting for its cloud");
    Ok((running, connections))
}

fn now() -> Result<Memory> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").context("failed to read the memory")?;
    let kib = |names: &[&str]| -> u64 {
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        let wanted = fields.filter(|(name, _)| names.contains(name));
        wanted.filter_map(|(_, value)| value.split_whitespace().next()?.parse::<u64>().ok()).sum()
    };
    Ok(Memory { resident_kib: kib(&["Rss"]), private_kib: kib(&["Private_Dirty"]) })
}
