//! The growth of the process for each instance that is alive.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::plugins::sandbox;
use machinist_plugin_host::PluginHost;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::declared;
use crate::calls::host::request;

/// All of them wait at the same time for a cloud that does not answer.
const INSTANCES: usize = 48;
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) resident_kib: u64,
    /// Memory that nothing else shares.
    pub(crate) private_kib: u64,
}

/// With the component's optimised code in this folder.
pub(super) async fn measure(folder: &Path, component: &[u8]) -> Result<Memory> {
    let cloud = TcpListener::bind(("127.0.0.1", 0)).await.context("failed to listen")?;
    let url = format!("http://{}", cloud.local_addr()?);
    let host = super::start(folder)?;
    sandbox::load(&host, declared(component, &url)?).await?;
    let warm = waiting(&host, &cloud, 2).await?;
    drop(warm);
    let before = now()?;
    let alive = waiting(&host, &cloud, INSTANCES).await?;
    let after = now()?;
    drop(alive);
    host.shutdown().await;
    let each = |after: u64, before: u64| after.saturating_sub(before) / INSTANCES as u64;
    Ok(Memory {
        resident_kib: each(after.resident_kib, before.resident_kib),
        private_kib: each(after.private_kib, before.private_kib),
    })
}

/// So many calls, each with a connection on which nothing ever comes.
async fn waiting(
    host: &PluginHost,
    cloud: &TcpListener,
    calls: usize,
) -> Result<(JoinSet<()>, Vec<tokio::net::TcpStream>)> {
    let mut running = JoinSet::new();
    for _ in 0..calls {
        let host = host.clone();
        running.spawn(async move {
            let _given_up = host.get_status(request("sim", "sim:///sim-1a/vm-1")).await;
        });
    }
    let mut connections = Vec::with_capacity(calls);
    for _ in 0..calls {
        let accepted = tokio::time::timeout(TIMEOUT, cloud.accept()).await;
        connections.push(accepted.context("a call has not come to its request")??.0);
    }
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
