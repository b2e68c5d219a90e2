//! Pods with volumes move one at a time, each volume to its next Node before the next pod goes.

use std::collections::BTreeMap;
use std::pin::pin;

use anyhow::{Context, Result, ensure};
use e2e::Lab;
use e2e::manifests::workloads::{PodShape, disks, stateful_set};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{version, with_workloads};
use crate::scene::{is_gone, runs};

const PODS: u32 = 3;

#[tokio::test]
async fn pods_with_volumes_go_one_at_a_time_and_each_volume_arrives_before_the_next_goes() {
    with_workloads(async |lab, _| {
        runs(lab, "from").await?;
        lab.apply(&disks("db", PODS)).await?;
        lab.apply(&[stateful_set("db", PODS, &PodShape::of("db"))]).await?;
        lab.pods_run_on("from", "db", 3).await?;
        runs(lab, "to").await?;
        let log = Log::start(lab);
        lab.delete_machine("from").await?;
        is_gone(lab, "from").await?;
        lab.pods_run_on("to", "db", 3).await?;
        let log = log.end().await?;
        let order: Vec<&str> = log.values().map(String::as_str).collect();
        let kinds: Vec<&str> = order.iter().filter_map(|line| line.split(' ').next()).collect();
        ensure!(kinds == ["ends", "arrives", "ends", "arrives", "ends", "arrives"], "{order:?}");
        for pair in order.chunks(2) {
            let names: Vec<&str> = pair.iter().filter_map(|line| line.split(' ').nth(1)).collect();
            ensure!(names.first() == names.last(), "a volume of another pod: {order:?}");
        }
        let attached = lab.attached().await?;
        ensure!(
            !attached.contains_key("from") && attached.get("to").is_some_and(|to| to.len() == 3),
            "{attached:?}"
        );
        ensure!(lab.nodes.pod_stats().removed == 3, "pods were deleted over the kubelet's head");
        Ok(())
    })
    .await;
}

/// Ends of pods and arrivals of volumes, by the version in which the API server stored them: that is their order.
struct Log {
    lines: mpsc::UnboundedReceiver<(u64, String)>,
    watches: [JoinHandle<()>; 2],
}

impl Log {
    fn start(lab: &Lab) -> Self {
        let (to, lines) = mpsc::unbounded_channel();
        let also_to = to.clone();
        let ends = follow(lab.pods(), move |pod: Pod| {
            if pod.metadata.deletion_timestamp.is_some()
                && let Ok(version) = version(&pod)
            {
                to.send((version, format!("ends {}", pod.name_any()))).ok();
            }
        });
        let arrives = follow(lab.attachments(), move |one| {
            let version = one.resource_version().and_then(|version| version.parse().ok());
            if one.spec.node_name == "to"
                && one.status.is_some_and(|status| status.attached)
                && let (Some(version), Some(volume)) = (version, one.spec.source.persistent_volume_name)
            {
                also_to.send((version, format!("arrives {volume}"))).ok();
            }
        });
        Self { lines, watches: [ends, arrives] }
    }

    /// The first line of each kind and name.
    async fn end(mut self) -> Result<BTreeMap<u64, String>> {
        let mut first: BTreeMap<String, u64> = BTreeMap::new();
        while first.len() < 2 * usize::try_from(PODS)? {
            let (version, line) = self.lines.recv().await.context("the watches ended")?;
            let known = first.entry(line).or_insert(version);
            *known = version.min(*known);
        }
        self.watches.iter().for_each(JoinHandle::abort);
        Ok(first.into_iter().map(|(line, version)| (version, line)).collect())
    }
}

fn follow<K>(api: Api<K>, mut hear: impl FnMut(K) + Send + 'static) -> JoinHandle<()>
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    tokio::spawn(async move {
        let mut events = pin!(watcher(api, watcher::Config::default()));
        while let Some(event) = events.next().await {
            if let Ok(Event::Apply(object) | Event::InitApply(object)) = event {
                hear(object);
            }
        }
    })
}
