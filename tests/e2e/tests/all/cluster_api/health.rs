//! MachineHealthChecks of Cluster API.

use anyhow::{Context as _, ensure};
use e2e::{Cloud as _, LabOptions, eventually};
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::json;
use std::time::Duration;

use super::scene::{Sim, TEAM, ends, ids, managed, options, workload};

/// The kubelet of a VM that is gone falls silent; core replaces the machine, and the host makes no second VM for it.
#[tokio::test]
#[ignore = "nightly: a minute and a half; lives of the runtime remove VMs on each change"]
async fn a_machine_whose_vm_somebody_removed_is_replaced() {
    let mut options = LabOptions { kubelets: options().kubelets, ..options() };
    options.kubelets.heartbeat = Duration::from_secs(1);
    options.kubelets.unknown_after = Some(Duration::from_secs(3));
    managed::<Sim>(options, async |lab, _, _| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 2).await?;
        workload.has(2, "small").await?;
        let check = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineHealthCheck",
            "metadata": { "name": "workers", "namespace": TEAM },
            "spec": {
                "clusterName": workload.name,
                "selector": { "matchLabels": { "cluster.x-k8s.io/deployment-name": "workers" } },
                "checks": { "unhealthyNodeConditions": [
                    { "type": "Ready", "status": "Unknown", "timeoutSeconds": 2 },
                ] },
            },
        });
        lab.plane.apply(&check.to_string()).await?;
        let before = ids(lab).await?;
        let lost = before.first().context("there is a VM")?;
        lab.cloud.remove(lost).await?;
        let machines = workload.infra_machines();
        let of_lost = machines
            .list(&ListParams::default())
            .await?
            .into_iter()
            .find(|machine| machine.provider_id().is_some_and(|id| id.ends_with(lost.as_str())))
            .context("the VM has an object")?;
        eventually("its machine is replaced", async || {
            Ok(machines.get_opt(&of_lost.name_any()).await?.is_none().then_some(()))
        })
        .await?;
        workload.has(2, "small").await?;
        let now = ids(lab).await?;
        ensure!(now.len() == 2 && !now.contains(lost), "{now:?}");
        ensure!(lab.cloud.stats().created == 3, "one VM for each machine: {:?}", lab.cloud.stats());
        ends(lab, &workload).await
    })
    .await;
}
