//! Many drains that wait, and what they cost the one process and its other Machines.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use control_plane::process_usage;
use e2e::{Host, Lab};
use kube::api::ListParams;

use super::pods::{self, Ends, PODS};
use super::{AGE, delete, options, prepared};
use crate::machines::{Follow, Goal, Requests, create, requests, start_host};
use crate::progress::Progress;
use crate::times::Times;

const LIVES: usize = 10;
/// How long the drains are left alone.
const STILL: Duration = Duration::from_secs(20);

/// The figures of drains that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    pub(crate) drains: usize,
    /// Memory of the host with as many Machines that run.
    pub(crate) before_bytes: u64,
    pub(crate) peak_bytes: u64,
    /// From the first deletion until all pods are asked to end.
    pub(crate) asked: Duration,
    /// Lives of other Machines, one after the other, before and meanwhile: from create to Running, from delete to gone.
    pub(crate) running_before: Times,
    pub(crate) running_meanwhile: Times,
    pub(crate) gone_before: Times,
    pub(crate) gone_meanwhile: Times,
    pub(crate) requests_a_second: f64,
    pub(crate) cpu_share: f64,
}

pub(super) async fn measure(driver: &[u8], drains: usize) -> Result<Flight> {
    const PREFIX: &str = "waiting";
    let lab = Lab::start(options()).await?;
    let host = start_host(&lab).await?;
    lab.install_driver(driver).await?;
    let names = prepared(&lab, &host, PREFIX, drains, Ends::Never).await?;
    requests::when_idle(&host).await?;
    let before_bytes = process_usage(host.pid())?.rss_bytes;
    let progress = Progress::of(&lab, Some(&host));
    let (running_before, gone_before) =
        progress.during("lives of other Machines before", lives(&lab, "before")).await?;
    let started = Instant::now();
    let asking = async {
        delete(&lab, &names).await?;
        pods::until(&lab, drains * PODS, |pods| pods.terminating).await
    };
    progress.during("delete until all pods are asked to end", asking).await?;
    let asked = started.elapsed();
    let (running_meanwhile, gone_meanwhile) =
        progress.during("lives of other Machines meanwhile", lives(&lab, "meanwhile")).await?;
    let (requests_a_second, cpu_share) = progress.during("nothing happens", still(&host, STILL)).await?;
    let left = lab.machines().list_metadata(&ListParams::default()).await?.items.len();
    ensure!(left == drains, "{left} Machines are left of {drains} whose pods do not end");
    Ok(Flight {
        drains,
        before_bytes,
        peak_bytes: process_usage(host.pid())?.peak_rss_bytes,
        asked,
        running_before,
        running_meanwhile,
        gone_before,
        gone_meanwhile,
        requests_a_second,
        cpu_share,
    })
}

/// Requests a second beside those of Leases, and the share of a core, while nothing happens.
pub(crate) async fn still(host: &Host, time: Duration) -> Result<(f64, f64)> {
    let (requests, cpu_share) = still_requests(host, time).await?;
    let count = f64::from(u32::try_from(requests.total_beside_leases())?);
    Ok((count / time.as_secs_f64(), cpu_share))
}

/// The requests of the host in this time, and the share of a core that it used.
pub(crate) async fn still_requests(host: &Host, time: Duration) -> Result<(Requests, f64)> {
    let before = (Requests::read(&host.metrics().await?), process_usage(host.pid())?.cpu);
    let started = Instant::now();
    tokio::time::sleep(time).await;
    let after = (Requests::read(&host.metrics().await?), process_usage(host.pid())?.cpu);
    let secs = started.elapsed().as_secs_f64();
    let cpu = after.1.saturating_sub(before.1).as_secs_f64();
    Ok((Requests::between(&before.0, &after.0), cpu / secs))
}

/// Machines without pods, one after the other: how long until each is Running, and how long until it is gone once all
/// have reached the age of ordinary ones.
pub(crate) async fn lives(lab: &Lab, prefix: &str) -> Result<(Times, Times)> {
    let (mut running, mut gone) = (Vec::new(), Vec::new());
    let mut made = Vec::new();
    for number in 0..LIVES {
        let name = format!("{prefix}-{number}");
        let follow = Follow::start(lab.machines(), &name, Goal::Running, 1);
        let asked = *create(lab, &name, 1).await?.values().next().context("one was created")?;
        let is = follow.all().await?;
        running.extend(is.values().map(|at| at.duration_since(asked)));
        made.extend(is.into_keys());
    }
    tokio::time::sleep(AGE).await;
    for name in &made {
        let follow = Follow::start(lab.machines(), name, Goal::Gone, 1);
        let asked = delete(lab, std::slice::from_ref(name)).await?;
        let is = follow.all().await?;
        gone.extend(is.iter().filter_map(|(name, at)| Some(at.duration_since(*asked.get(name)?))));
    }
    Ok((Times::of(running), Times::of(gone)))
}
