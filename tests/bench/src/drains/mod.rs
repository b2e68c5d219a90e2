//! Machines that are drained: many at a time until they are gone, and many that wait.
//!
//! | module | content |
//! | --- | --- |
//! | `deletions` | Machines without pods: the time of their deletion, and the cost of a life |
//! | `flight` | many drains that wait, and their cost for the process and its other Machines |
//! | `baseline` | a client that makes the writes of drains and deletions and nothing else |
//! | `pods` | pods on Nodes, which drains evict |

pub(crate) mod baseline;
pub(crate) mod deletions;
mod flight;
mod pods;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use control_plane::process_usage;
use e2e::{Cloud, Host, Lab, LabOptions};
use futures::{StreamExt, TryStreamExt};
use nodesim::Workloads;

use crate::machines::{
    CONCURRENCY, Cpu, Follow, Goal, HEARTBEAT, Requests, Usage, create, requests, start_host, stop,
};
use crate::progress::Progress;
use crate::times::Times;

pub(crate) use baseline::DeletionBaseline;
pub(crate) use flight::{Flight, lives, still, still_requests};
pub(crate) use pods::PODS;

/// From SIGTERM to the end of a pod.
pub(crate) const EXIT: Duration = Duration::from_millis(500);
/// Older than the consistency window of the driver.
pub(crate) const AGE: Duration = Duration::from_secs(12);
/// Drains that wait, for each one that goes on to the end.
const WAITING_RATIO: usize = 2;

/// The figures of drains.
#[derive(Clone, Debug)]
pub(crate) struct DrainFigures {
    pub(crate) machines: usize,
    /// From the first request until the last is gone.
    pub(crate) wall: Duration,
    pub(crate) each: Times,
    pub(crate) requests: Requests,
    pub(crate) cpu: Cpu,
    pub(crate) peak_bytes: u64,
    pub(crate) idle_bytes: u64,
    /// Pods that their kubelets have ended.
    pub(crate) ended: u64,
    pub(crate) baseline: DeletionBaseline,
    pub(crate) flight: Flight,
}

pub(crate) async fn measure(machines: usize) -> Result<DrainFigures> {
    let driver = tokio::task::spawn_blocking(|| guests::bytes("sim-driver")).await??;
    eprintln!("drains: starting control plane, cloud and kubelets");
    let lab = Lab::start(options()).await?;
    let host = start_host(&lab).await?;
    lab.install_driver(&driver).await?;
    eprintln!("drains: {machines} Machines with {PODS} pods each are deleted");
    let counted = counted(&lab, &host, machines).await?;
    stop(host).await?;
    eprintln!("drains: a plain client with as many writes");
    let baseline = baseline::measure(&lab, machines, PODS, &counted.requests).await?;
    drop(lab);
    eprintln!("drains: {} that wait", machines * WAITING_RATIO);
    let flight = flight::measure(&driver, machines * WAITING_RATIO).await?;
    Ok(DrainFigures { baseline, flight, ..counted })
}

/// A lab whose kubelets run pods. Nobody else looks at pods: neither scheduler nor controllers are part of it.
fn options() -> LabOptions {
    let mut options = LabOptions::default();
    options.cloud.latency =
        simcloud::Latency { create_ms: 20, boot_ms: 500, terminate_ms: 500, ..simcloud::Latency::ZERO };
    options.kubelets.heartbeat = HEARTBEAT;
    let mut workloads = Workloads::default();
    workloads.pods.exit = Some(EXIT);
    options.workloads = Some(workloads);
    options
}

/// Machines that run, each with its pods; their names.
async fn prepared(
    lab: &Lab,
    host: &Host,
    prefix: &str,
    machines: usize,
    ends: pods::Ends,
) -> Result<Vec<String>> {
    let progress = Progress::of(lab, Some(host));
    let made = async {
        let follow = Follow::start(lab.machines(), prefix, Goal::Running, machines);
        let names: Vec<String> = create(lab, prefix, machines).await?.into_keys().collect();
        follow.all().await?;
        Ok(names)
    };
    let names = progress.during(&format!("{machines} Machines until they run"), made).await?;
    let filled = pods::fill(lab, &names, ends);
    progress.during(&format!("{} pods until they run", machines * PODS), filled).await?;
    // A Machine that is younger when it is deleted waits for that: the cloud may not show yet all that was made for it.
    tokio::time::sleep(AGE).await;
    Ok(names)
}

/// Deletes Machines, many at a time; when each was asked for.
pub(crate) async fn delete(lab: &Lab<impl Cloud>, names: &[String]) -> Result<BTreeMap<String, Instant>> {
    futures::stream::iter(names)
        .map(|name| async move {
            let asked = Instant::now();
            lab.delete_machine(name).await?;
            anyhow::Ok((name.clone(), asked))
        })
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await
}

async fn counted(lab: &Lab, host: &Host, machines: usize) -> Result<DrainFigures> {
    const PREFIX: &str = "drained";
    let names = prepared(lab, host, PREFIX, machines, pods::Ends::Soon).await?;
    let before = requests::when_idle(host).await?;
    let (usage_before, ended_before) = (Usage::now(lab, host)?, lab.nodes.pod_stats().removed);
    let cores = crate::conditions::BusyCores::start()?;
    let started = Instant::now();
    let deletion = async {
        let follow = Follow::start(lab.machines(), PREFIX, Goal::Gone, machines);
        let asked = delete(lab, &names).await?;
        Ok((asked, follow.all().await?))
    };
    let (asked, gone) = Progress::of(lab, Some(host)).during("delete until all are gone", deletion).await?;
    let wall = gone.values().max().context("some are gone")?.duration_since(started);
    let cpu = Usage::now(lab, host)?.since(&usage_before, &cores)?;
    let after = requests::when_idle(host).await?;
    let took = |(name, at): (&String, &Instant)| Some(at.duration_since(*asked.get(name)?));
    Ok(DrainFigures {
        machines,
        wall,
        each: Times::of(gone.iter().filter_map(took).collect()),
        requests: Requests::between(&before, &after),
        cpu,
        peak_bytes: process_usage(host.pid())?.peak_rss_bytes,
        idle_bytes: usage_before.host.rss_bytes,
        ended: lab.nodes.pod_stats().removed - ended_before,
        baseline: DeletionBaseline::default(),
        flight: Flight::default(),
    })
}
