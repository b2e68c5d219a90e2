//! Clouds that refuse and fail: from nothing to Running, and from Running to nothing.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::Lab;
use e2e::faults::{failing, failing_looks};

use super::scene::{WINDOW, install, set, start};
use crate::drains::{AGE, delete};
use crate::machines::{Follow, Goal, create, drivers_calls, start_host, stop};

/// The consistency window of the driver, for the report.
pub(crate) const WINDOW_SECS: u64 = WINDOW.as_secs();
/// How long look-ups fail, with five Machines waiting.
const OUTAGE: Duration = Duration::from_secs(3);
const WAITING: usize = 5;

/// Machines in a cloud that answers a share of all calls with errors.
#[derive(Clone, Debug)]
pub(crate) struct Fire {
    pub(crate) machines: usize,
    /// Shares of 429 and of 500.
    pub(crate) shares: (f64, f64),
    pub(crate) up: Duration,
    pub(crate) down: Duration,
    /// VMs that were created.
    pub(crate) vms: u64,
    pub(crate) duplicates: u64,
    /// Bootstrap tokens that are left when all Machines are Running.
    pub(crate) tokens: usize,
    /// Calls to the cloud, failed ones too, from the first to the last.
    pub(crate) calls: u64,
}

/// Machines that are created while look-ups fail.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    pub(crate) machines: usize,
    pub(crate) outage: Duration,
    pub(crate) up: Duration,
    pub(crate) duplicates: u64,
}

pub(super) async fn measure() -> Result<Vec<Fire>> {
    let lab = start("clouds that refuse").await?;
    let host = start_host(&lab).await?;
    install(&lab).await?;
    let mut fires = Vec::new();
    for (prefix, machines, shares) in [
        ("few", 60, (0.1, 0.1)),
        ("many", 200, (0.1, 0.1)),
        ("broken", 200, (0.0, 0.2)),
        ("throttled", 200, (0.1, 0.0)),
        ("calm", 200, (0.0, 0.0)),
    ] {
        fires.push(fire(&lab, prefix, machines, shares).await?);
    }
    stop(host).await?;
    Ok(fires)
}

async fn fire(lab: &Lab, prefix: &'static str, machines: usize, shares: (f64, f64)) -> Result<Fire> {
    eprintln!("  {machines} Machines, shares of 429 and 500: {shares:?}");
    set(lab, failing(shares.0, shares.1))?;
    let before = lab.cloud.stats();
    let follow = Follow::start(lab.machines(), prefix, Goal::Running, machines);
    let started = Instant::now();
    let asked = create(lab, prefix, machines).await?;
    let running = follow.all().await?;
    let up = running.values().max().context("some are Running")?.duration_since(started);
    let vms = lab.cloud.live_vms().len();
    let (_, tokens) = lab.left_in_target().await?;
    eprintln!("    up after {:.1} s with {vms} VMs", up.as_secs_f64());
    // Machines that are younger than the window wait for it when they are deleted.
    tokio::time::sleep(AGE).await;
    let names: Vec<String> = asked.into_keys().collect();
    let follow = Follow::start(lab.machines(), prefix, Goal::Gone, machines);
    let started = Instant::now();
    delete(lab, &names).await?;
    let gone = follow.all().await?;
    let down = gone.values().max().context("some are gone")?.duration_since(started);
    eprintln!("    down after {:.1} s", down.as_secs_f64());
    let after = lab.cloud.stats();
    lab.cloud.clear_faults();
    Ok(Fire {
        machines,
        shares,
        up,
        down,
        vms: after.created - before.created,
        duplicates: after.duplicates_ever - before.duplicates_ever,
        tokens: tokens.len(),
        calls: drivers_calls(&before, &after).values().sum(),
    })
}

/// Look-ups fail for a moment while Machines are created. No create has left the host, so nothing is in doubt.
pub(super) async fn outage() -> Result<Outage> {
    const PREFIX: &str = "outage";
    let lab = start("look-ups that fail").await?;
    let host = start_host(&lab).await?;
    install(&lab).await?;
    let before = lab.cloud.stats();
    set(&lab, failing_looks())?;
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, WAITING);
    let started = Instant::now();
    create(&lab, PREFIX, WAITING).await?;
    tokio::time::sleep(OUTAGE.saturating_sub(started.elapsed())).await;
    lab.cloud.clear_faults();
    let running = follow.all().await?;
    let up = running.values().max().context("some are Running")?.duration_since(started);
    let duplicates = lab.cloud.stats().duplicates_ever - before.duplicates_ever;
    stop(host).await?;
    Ok(Outage { machines: WAITING, outage: OUTAGE, up, duplicates })
}
