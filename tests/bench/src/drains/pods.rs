//! Pods on Nodes, which drains evict.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use e2e::Lab;
use e2e::manifests::workloads::{PodShape, pod};
use futures::{StreamExt, TryStreamExt};
use nodesim::pods::{HANGS, PodStats};

use crate::machines::CONCURRENCY;

pub(crate) const PODS: usize = 10;

/// Only what is stuck shows no further pod for so long, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// A moment after they are asked to.
    Soon,
    /// Not within any time that counts here.
    Never,
}

/// Puts pods on Nodes and waits until all of them run.
pub(crate) async fn fill(lab: &Lab, nodes: &[String], ends: Ends) -> Result<()> {
    let before = lab.nodes.pod_stats().started;
    let shape = match ends {
        Ends::Soon => PodShape::of("bench"),
        Ends::Never => PodShape::of("bench").grace(86_400).annotated(HANGS, "true"),
    };
    let wanted = nodes.iter().flat_map(|node| (0..PODS).map(move |number| (node, number)));
    futures::stream::iter(wanted)
        .map(|(node, number)| {
            let pod = pod(&format!("{node}-{number}"), node, &shape);
            async move { lab.create_pod(&pod).await }
        })
        .buffer_unordered(CONCURRENCY)
        .try_for_each(async |_| Ok(()))
        .await?;
    until(lab, usize::try_from(before)? + nodes.len() * PODS, |pods| pods.started).await
}

/// Waits for as long as the kubelets get on.
pub(super) async fn until(lab: &Lab, wanted: usize, count: impl Fn(PodStats) -> u64) -> Result<()> {
    let wanted = u64::try_from(wanted)?;
    let (mut last, mut since) = (0, Instant::now());
    loop {
        let is = count(lab.nodes.pod_stats());
        if is >= wanted {
            return Ok(());
        }
        if is > last {
            (last, since) = (is, Instant::now());
        }
        ensure!(since.elapsed() < TIMEOUT, "stuck for {TIMEOUT:?} at {is} of {wanted} pods");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
