//! A drain that nothing is in the way of.

use anyhow::ensure;
use e2e::manifests::workloads::{PodShape, daemon_set, mirror_pod, replica_set};
use serde_json::json;

use super::with_workloads;
use crate::scene::{is_gone, runs};

#[tokio::test]
async fn pods_end_with_their_grace_and_run_elsewhere_while_daemons_and_static_pods_stay() {
    with_workloads(async |lab, host| {
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
        // Two pods without a controller: one has finished, one has local data.
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
        e2e::eventually("the job has finished", async || {
            let status = lab.pods().get("job").await?.status.unwrap_or_default();
            Ok((status.phase.as_deref() == Some("Succeeded")).then_some(()))
        })
        .await?;
        let agent = lab.pods_on("from", "agent").await?;

        lab.delete_machine("from").await?;
        is_gone(lab, "from").await?;
        lab.pods_run_on("to", "web", 8).await?;
        // The kubelet has seen the end of each that ran: none was deleted over its head. One had ended before.
        let removed = lab.nodes.pod_stats().removed;
        ensure!((9..=10).contains(&removed), "the kubelet has ended {removed} pods");
        let asked = host.log_lines("INFO");
        let is_asked = |pod: &str| asked.iter().any(|line| line.ends_with(&format!("pod=default/{pod}")));
        ensure!(is_asked("scratch"), "the host's log does not tell whom it asked to go: {asked:?}");
        for stays in agent.iter().map(String::as_str).chain(["static-from"]) {
            ensure!(!is_asked(stays), "{stays} was asked to go");
        }
        let vms = lab.cloud.live_vms();
        ensure!(vms.len() == 1 && vms.iter().all(|vm| vm.name == "to"), "{vms:?}");
        ensure!(lab.node_objects().get_opt("from").await?.is_none(), "the Node is left");
        ensure!(!agent.is_empty(), "a daemon was there");
        Ok(())
    })
    .await;
}
