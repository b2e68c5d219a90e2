//! A drain that nothing is in the way of.

use anyhow::ensure;
use e2e::manifests::workloads::{PodShape, daemon_set, mirror_pod, replica_set};
use serde_json::json;

use super::with_workloads;
use crate::scene::{is_gone, runs};

#[tokio::test]
async fn pods_end_with_their_grace_and_run_elsewhere_while_daemons_and_static_pods_stay() {
    with_workloads(async |lab, _| {
        runs(lab, "from").await?;
        lab.apply(&[
            daemon_set("agent", &PodShape::of("agent")),
            replica_set("web", 8, &PodShape::of("web")),
        ])
        .await?;
        lab.create_pod(&mirror_pod("static-from", "from")).await?;
        lab.pods_run_on("from", "web", 8).await?;
        lab.pods_run_on("from", "agent", 1).await?;
        lab.pods_run_on("from", "static", 1).await?;
        // Two that nobody makes anew: one has finished, one has local data.
        let job = PodShape::of("job").annotated(nodesim::pods::FINISHES_AFTER_MS, "1");
        lab.create_pod(&e2e::manifests::workloads::pod("job", "from", &job)).await?;
        let mut scratch = e2e::manifests::workloads::pod("scratch", "from", &PodShape::of("scratch"));
        if let Some(spec) = &mut scratch.spec {
            spec.volumes = serde_json::from_value(json!([{ "name": "tmp", "emptyDir": {} }]))?;
        }
        lab.create_pod(&scratch).await?;
        lab.pods_run_on("from", "scratch", 1).await?;
        runs(lab, "to").await?;
        lab.pods_run_on("to", "agent", 1).await?;
        let agent = lab.pods_on("from", "agent").await?;

        lab.delete_machine("from").await?;
        is_gone(lab, "from").await?;
        lab.pods_run_on("to", "web", 8).await?;
        // The kubelet has seen the end of each but the one that had ended: none was deleted over its head, and nobody else
        // was asked to go.
        let removed = lab.nodes.pod_stats().removed;
        ensure!(removed == 9, "the kubelet has ended {removed} pods");
        let vms = lab.cloud.live_vms();
        ensure!(vms.len() == 1 && vms.iter().all(|vm| vm.name == "to"), "{vms:?}");
        ensure!(lab.node_objects().get_opt("from").await?.is_none(), "the Node is left");
        ensure!(!agent.is_empty(), "a daemon was there");
        Ok(())
    })
    .await;
}
