//! Pods on Nodes.

use anyhow::{Context, Result};
use e2e::Lab;
use e2e::manifests::workloads::{PodShape, pod};
use futures::{StreamExt, TryStreamExt};
use nodesim::pods::HANGS;

use crate::machines::CONCURRENCY;

/// On each Node.
pub(crate) const PODS: usize = 10;

/// How pods end.
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
    let wanted = before + u64::try_from(nodes.len() * PODS)?;
    e2e::within(std::time::Duration::from_secs(300), "all pods run", async || {
        Ok((lab.nodes.pod_stats().started >= wanted).then_some(()))
    })
    .await
    .with_context(|| format!("{:?}", lab.nodes.pod_stats()))
}
