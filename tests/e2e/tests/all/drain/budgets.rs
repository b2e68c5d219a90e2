//! PodDisruptionBudgets hold a drain, and it says which, and until when.

use anyhow::{Context, Result, ensure};
use e2e::manifests::workloads::{PodShape, budget, replica_set};
use e2e::{Lab, LabOptions};
use jiff::SignedDuration;

use super::{deleted_at, runs_with_timeout, with_workloads};
use crate::lives::crash::start_with_short_leases;
use crate::scene::{SIM, in_lab, is_gone};

const TIMEOUT: SignedDuration = SignedDuration::from_hours(1);

#[tokio::test]
async fn a_budget_holds_a_drain_over_the_end_of_its_host_until_it_opens() {
    in_lab(LabOptions::with_workloads(), held).await;
}

async fn held(lab: &Lab) -> Result<()> {
    let host = start_with_short_leases(lab).await?;
    lab.install_driver(&SIM).await?;
    runs_with_timeout(lab, "m", "1h").await?;
    // One of three is never Ready, and two must be: the budget works, and allows nothing.
    lab.apply(&[
        replica_set("web", 2, &PodShape::of("web").on("m")),
        replica_set("sick", 1, &PodShape::of("web").on("m").annotated(nodesim::pods::READY, "false")),
        replica_set("free", 3, &PodShape::of("free").on("m")),
        budget("web", "web", "minAvailable", 2),
    ])
    .await?;
    // Both ReplicaSets have this label; each has its own pods.
    lab.pods_run_on("m", "web", 3).await?;
    lab.pods_run_on("m", "free", 3).await?;
    lab.delete_machine("m").await?;
    let condition = lab.machine_condition("m", "Drained", "default/web").await?;
    let until = deleted_at(lab, "m").await?.checked_add(TIMEOUT)?.to_string();
    ensure!(
        condition.message.contains(&until),
        "it does not say that force comes at {until}: {}",
        condition.message
    );
    e2e::eventually("what no budget holds has gone", async || {
        Ok(lab.pods_on("m", "free").await?.is_empty().then_some(()))
    })
    .await?;
    let held = lab.pods_on("m", "web").await?;
    ensure!(held.len() >= 2, "{held:?}");

    host.kill();
    let host = start_with_short_leases(lab).await?;
    let again = lab.machine_condition("m", "Drained", "default/web").await?;
    ensure!(again.message.contains(&until), "the clock of the drain began anew: {}", again.message);
    ensure!(lab.cloud.live_vms().len() == 1, "the VM is there while pods are held");
    ensure!(lab.pods_on("m", "web").await?.len() >= 2, "a budget was overruled");
    lab.apply(&[budget("web", "web", "minAvailable", 0)]).await?;
    let gone = is_gone(lab, "m").await;
    gone.with_context(|| format!("the host's log ends with:\n{}", host.log_end()))?;
    let removed = lab.nodes.pod_stats().removed;
    ensure!(removed >= 6, "pods were deleted over the kubelet's head: {removed}");
    ensure!(lab.cloud.live_vms().is_empty(), "the VM is left");
    Ok(())
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_budget_that_can_never_allow_an_eviction_has_its_own_message() {
    with_workloads(async |lab, _| {
        runs_with_timeout(lab, "m", "1h").await?;
        lab.apply(&[
            replica_set("web", 2, &PodShape::of("web").on("m")),
            budget("never", "web", "minAvailable", 2),
        ])
        .await?;
        lab.pods_run_on("m", "web", 2).await?;
        lab.delete_machine("m").await?;
        let condition = lab.machine_condition("m", "Drained", "default/never").await?;
        ensure!(condition.message.contains("never allows an eviction"), "{}", condition.message);
        ensure!(lab.pods_on("m", "web").await?.len() == 2, "a budget was overruled");
        lab.apply(&[budget("never", "web", "minAvailable", 0)]).await?;
        is_gone(lab, "m").await
    })
    .await;
}
