//! Hooks hold a deletion at the two places that Cluster API has for them.

use anyhow::ensure;
use e2e::manifests::workloads::{PodShape, replica_set};
use serde_json::json;

use super::with_workloads;
use crate::scene::{is_gone, patch_machine, runs};

const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/detach";

#[tokio::test]
async fn a_hook_holds_the_drain_and_another_the_end_of_the_vm_until_each_is_taken_away() {
    with_workloads(async |lab, _| {
        runs(lab, "m").await?;
        lab.apply(&[replica_set("web", 2, &PodShape::of("web").on("m"))]).await?;
        lab.pods_run_on("m", "web", 2).await?;
        let hooks = json!({ PRE_DRAIN: "backup-controller", PRE_TERMINATE: "" });
        patch_machine(lab, "m", &json!({ "metadata": { "annotations": hooks } })).await?;
        lab.delete_machine("m").await?;
        lab.machine_condition("m", "Ready", PRE_DRAIN).await?;
        ensure!(lab.pods_on("m", "web").await?.len() == 2, "pods go before the hook lets them");
        ensure!(lab.nodes.pod_stats().terminating == 0, "pods go before the hook lets them");
        patch_machine(lab, "m", &json!({ "metadata": { "annotations": { PRE_DRAIN: null } } })).await?;
        lab.machine_condition("m", "Ready", PRE_TERMINATE).await?;
        ensure!(lab.pods_on("m", "web").await?.is_empty(), "the drain is over when the VM is to end");
        ensure!(lab.cloud.live_vms().len() == 1, "the VM goes before the hook lets it");
        patch_machine(lab, "m", &json!({ "metadata": { "annotations": { PRE_TERMINATE: null } } })).await?;
        is_gone(lab, "m").await
    })
    .await;
}
