//! MachineHealthChecks of Cluster API.

use anyhow::{Context as _, ensure};
use e2e::{Cloud as _, LabOptions, eventually};
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::{Value, json};
use std::time::Duration;

use super::scene::{Sim, TEAM, ends, ids, managed, options, workload};

/// Nodes with this status of `Ready` are unhealthy after two seconds.
fn health_check(cluster: &str, status: &str, remediation: Option<&Value>) -> Value {
    let mut check = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": { "name": "workers", "namespace": TEAM },
        "spec": {
            "clusterName": cluster,
            "selector": { "matchLabels": { "cluster.x-k8s.io/deployment-name": "workers" } },
            "checks": { "unhealthyNodeConditions": [
                { "type": "Ready", "status": status, "timeoutSeconds": 2 },
            ] },
        },
    });
    // Core refuses an empty one.
    if let Some(remediation) = remediation {
        check["spec"]["remediation"] = remediation.clone();
    }
    check
}

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
        lab.plane.apply(&health_check(&workload.name, "Unknown", None).to_string()).await?;
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

/// Core makes the remediation and deletes it once the machine is healthy again. The host asks the owner of a machine
/// that no reboot has helped.
#[tokio::test]
#[ignore = "nightly: a minute and a half; lives of the runtime remediate on each change"]
async fn an_unhealthy_machine_is_rebooted_and_replaced_only_when_that_does_not_help() {
    managed::<Sim>(options(), async |lab, _, _| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 2).await?;
        workload.has(2, "small").await?;
        let group = "infrastructure.machinist.dev/v1alpha1";
        let template = json!({
            "apiVersion": group,
            "kind": "MachinistRemediationTemplate",
            "metadata": { "name": "reboot-first", "namespace": TEAM },
            "spec": { "template": { "spec": { "strategy": { "retryLimit": 1, "timeoutSeconds": 40 } } } },
        });
        lab.plane.apply(&template.to_string()).await?;
        let named = json!({
            "apiVersion": group, "kind": "MachinistRemediationTemplate", "name": "reboot-first",
        });
        let check = health_check(&workload.name, "False", Some(&json!({ "templateRef": named })));
        lab.plane.apply(&check.to_string()).await?;
        let machine = workload.machines().list(&ListParams::default()).await?.into_iter().next();
        let machine = machine.context("there is a machine")?;
        let node = machine.data["status"]["nodeRef"]["name"].as_str().context("it has a Node")?.to_owned();
        let (name, before) = (machine.name_any(), ids(lab).await?);
        let remediations = workload.all("infrastructure.machinist.dev", "v1alpha1", "MachinistRemediation");
        let reboots = || lab.cloud.stats().calls_of("vm.reboot");

        ensure!(lab.nodes.set_ready(&node, false), "the Node is there");
        eventually("its VM is rebooted", async || Ok((reboots() == 1).then_some(()))).await?;
        ensure!(lab.nodes.set_ready(&node, true), "the Node is there");
        eventually("core deletes the remediation", async || {
            Ok(remediations.get_opt(&name).await?.is_none().then_some(()))
        })
        .await?;
        let is_there = workload.machines().get_opt(&name).await?.is_some();
        ensure!(is_there && ids(lab).await? == before, "it stays");

        ensure!(lab.nodes.set_ready(&node, false), "the Node is there");
        eventually("its VM is rebooted again", async || Ok((reboots() == 2).then_some(()))).await?;
        eventually("its owner replaces it", async || {
            Ok(workload.machines().get_opt(&name).await?.is_none().then_some(()))
        })
        .await?;
        workload.has(2, "small").await?;
        let now = ids(lab).await?;
        ensure!(reboots() == 2 && now.intersection(&before).count() == 1, "{now:?}");
        ends(lab, &workload).await
    })
    .await;
}
