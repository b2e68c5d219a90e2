//! Pods that do not leave are forced, on request or after the time limit, and volumes are released.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::manifests::workloads::{PodShape, disks, pod, stateful_set};
use e2e::{Lab, within};
use jiff::{SignedDuration, Timestamp};
use kube::api::ListParams;
use serde_json::json;

use super::{deleted_at, runs_with_timeout, with_workloads};
use crate::scene::{is_gone, patch_machine};

/// A busy machine takes its time.
const MARGIN: SignedDuration = SignedDuration::from_secs(30);

/// A Machine with a pod that never ends, and one with a volume that does not come off.
async fn stuck(lab: &Lab, machine: &str, drain_timeout: &str) -> Result<()> {
    runs_with_timeout(lab, machine, drain_timeout).await?;
    let set = format!("db-{machine}");
    lab.apply(&disks(&set, 1)).await?;
    lab.apply(&[stateful_set(&set, 1, &PodShape::of(&set).on(machine))]).await?;
    let hangs = PodShape::of("hangs").grace(1).annotated(nodesim::pods::HANGS, "true");
    lab.create_pod(&pod(&format!("hangs-{machine}"), machine, &hangs)).await?;
    lab.pods_run_on(machine, &set, 1).await?;
    lab.pods_run_on(machine, "hangs", 1).await?;
    lab.nodes.set_detaching_stuck(machine, true);
    Ok(())
}

/// VolumeAttachments of a Node whose deletion nobody asked for.
async fn kept_attachments(lab: &Lab, node: &str) -> Result<Vec<String>> {
    let all = lab.attachments().list(&ListParams::default()).await?.items;
    let kept =
        all.into_iter().filter(|one| one.spec.node_name == node && one.metadata.deletion_timestamp.is_none());
    Ok(kept.filter_map(|one| one.metadata.name).collect())
}

/// Waits until a Machine is gone; when its VM went, and whether attachments of its Node were left alone then.
async fn watched_end(lab: &Lab, machine: &str) -> Result<(Timestamp, Vec<String>)> {
    let what = format!("the VM of {machine} is gone");
    let end = within(Duration::from_secs(180), &what, async || {
        let lives = lab.cloud.live_vms().iter().any(|vm| vm.name == machine);
        Ok((!lives).then(Timestamp::now))
    })
    .await?;
    let kept = kept_attachments(lab, machine).await?;
    is_gone(lab, machine).await?;
    Ok((end, kept))
}

#[tokio::test]
async fn force_comes_at_the_end_of_the_drain_time_and_lets_go_of_volumes() {
    const TIMEOUT: SignedDuration = SignedDuration::from_secs(15);
    with_workloads(async |lab, _| {
        stuck(lab, "late", "15s").await?;
        lab.delete_machine("late").await?;
        let asked = deleted_at(lab, "late").await?;
        // It says from the beginning when force will come.
        lab.machine_condition("late", "Ready", &asked.checked_add(TIMEOUT)?.to_string()).await?;
        let (end, kept) = watched_end(lab, "late").await?;
        let took = end.duration_since(asked);
        ensure!(took >= TIMEOUT, "force came after {took} already");
        ensure!(took <= TIMEOUT + MARGIN, "force came after {took} only");
        ensure!(kept.is_empty(), "attachments hold volumes at a VM that is gone: {kept:?}");
        ensure!(lab.pods().get_opt("hangs-late").await?.is_none(), "the pod that hangs is left");
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn the_label_for_force_ends_a_drain_at_once() {
    with_workloads(async |lab, _| {
        stuck(lab, "m", "1h").await?;
        lab.delete_machine("m").await?;
        lab.machine_condition("m", "Drained", "hangs-m").await?;
        ensure!(lab.cloud.live_vms().len() == 1, "the VM waits for the drain");
        let asked = Timestamp::now();
        patch_machine(lab, "m", &json!({ "metadata": { "labels": { "force-deletion": "True" } } })).await?;
        let (end, kept) = watched_end(lab, "m").await.context("after the label was set")?;
        let took = end.duration_since(asked);
        ensure!(took <= MARGIN, "it took {took}");
        ensure!(kept.is_empty(), "attachments hold volumes at a VM that is gone: {kept:?}");
        Ok(())
    })
    .await;
}
