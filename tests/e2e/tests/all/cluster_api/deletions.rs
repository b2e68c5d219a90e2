//! Deletions: core drains first, and the host needs nothing but the credentials.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster_api::{Workload, plane_options};
use e2e::manifests::workloads::{PodShape, WORKLOADS, budget, replica_set};
use e2e::{Cloud, Lab, LabOptions, eventually};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use machinist_api::infrastructure::names::finalizers;
use serde_json::json;

use super::scene::{Sim, TEAM, ends, ids, managed, one_vm_each, options, workload};

pub(super) fn with_pods() -> LabOptions {
    let mut options = LabOptions::with_workloads();
    options.plane.controllers = plane_options().controllers;
    options
}

fn secrets(lab: &Lab<impl Cloud>) -> Api<Secret> {
    Api::namespaced(lab.client.clone(), TEAM)
}

async fn first_machine(workload: &Workload) -> Result<String> {
    let machines = workload.machines().list(&ListParams::default()).await?;
    Ok(machines.items.first().context("there is a Machine")?.name_any())
}

async fn is_gone(workload: &Workload, machine: &str) -> Result<()> {
    let machines = workload.infra_machines();
    eventually(&format!("{machine} is gone"), async || {
        Ok(machines.get_opt(machine).await?.is_none().then_some(()))
    })
    .await
}

/// The VM lives until core is through with the drain, and its hooks.
#[tokio::test]
#[ignore = "nightly: a minute and a half; on each change a workload cluster is deleted in the journey"]
async fn a_vm_lives_until_the_drain_of_core_and_its_hooks_are_through() {
    managed::<Sim>(with_pods(), async |lab, _, _| drained(lab).await).await;
}

pub(super) async fn drained<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let workload = workload(lab).await?;
    workload.deploy(&lab.plane, 1).await?;
    workload.has(1, "small").await?;
    let machine = first_machine(&workload).await?;
    let node = workload.machines().get(&machine).await?.data["status"]["nodeRef"]["name"].clone();
    let node = node.as_str().context("it has a Node")?;
    lab.apply(&[replica_set("web", 1, &PodShape::of("web")), budget("web", "web", "maxUnavailable", 0)])
        .await?;
    lab.pods_run_on(node, "web", 1).await?;
    let hook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/test";
    let hooked = json!({ "metadata": { "annotations": { hook: "" } } });
    let machines = workload.machines();
    machines.patch(&machine, &PatchParams::default(), &Patch::Merge(&hooked)).await?;
    machines.delete(&machine, &DeleteParams::default()).await?;
    workload.machine_says(&machine, "Deleting", "DrainingNode").await?;
    ensure!(workload.infra_machines().get(&machine).await?.metadata.deletion_timestamp.is_none());
    let vms = ids(lab).await?;
    ensure!(!vms.is_empty(), "the VM lives while the drain waits");
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(lab.client.clone(), WORKLOADS);
    budgets.delete("web", &DeleteParams::default()).await?;
    workload.machine_says(&machine, "Deleting", "WaitingForPreTerminateHook").await?;
    ensure!(vms.is_subset(&ids(lab).await?), "the VM lives while a hook waits");
    let unhooked = json!({ "metadata": { "annotations": { hook: null } } });
    machines.patch(&machine, &PatchParams::default(), &Patch::Merge(&unhooked)).await?;
    is_gone(&workload, &machine).await?;
    ensure!(vms.is_disjoint(&ids(lab).await?), "and goes with its machine");
    ends(lab, &workload).await
}

/// Nothing of a deletion reads the bootstrap data; credentials that are deleted first stay until they are not needed.
#[tokio::test]
#[ignore = "nightly: a minute; lives of the runtime delete both on each change"]
async fn bootstrap_data_and_credentials_may_be_deleted_first() {
    managed::<Sim>(options(), async |lab, _, _| without_secrets(lab).await).await;
}

pub(super) async fn without_secrets<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let workload = workload(lab).await?;
    workload.deploy(&lab.plane, 1).await?;
    workload.has(1, "small").await?;
    let machine = first_machine(&workload).await?;
    let data = workload.machines().get(&machine).await?.data["spec"]["bootstrap"]["dataSecretName"].clone();
    let data = data.as_str().context("it has bootstrap data")?;
    secrets(lab).delete(data, &DeleteParams::default()).await?;
    let account = eventually("the credentials are kept", async || {
        let account = secrets(lab).get("account").await?;
        Ok(account.finalizers().iter().any(|name| name == finalizers::IDENTITY).then_some(account))
    })
    .await?;
    secrets(lab).delete("account", &DeleteParams::default()).await?;
    ends(lab, &workload).await?;
    eventually("the credentials go, too", async || {
        let now = secrets(lab).get_opt("account").await?;
        Ok(now.is_none_or(|now| now.metadata.uid != account.metadata.uid).then_some(()))
    })
    .await
}

#[tokio::test]
#[ignore = "nightly: a minute; a life of the runtime deletes everything at once on each change"]
async fn a_namespace_that_is_deleted_as_a_whole_leaves_no_vm() {
    managed::<Sim>(options(), async |lab, _, _| without_namespace(lab).await).await;
}

pub(super) async fn without_namespace<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let workload = workload(lab).await?;
    workload.deploy(&lab.plane, 2).await?;
    workload.has(2, "small").await?;
    let namespaces: Api<Namespace> = Api::all(lab.client.clone());
    namespaces.delete(TEAM, &DeleteParams::default()).await?;
    let gone = eventually("the namespace is gone", async || {
        Ok(namespaces.get_opt(TEAM).await?.is_none().then_some(()))
    });
    let left = gone.await.err();
    let vms = ids(lab).await?;
    if let Some(error) = left {
        return Err(error.context(format!("VMs: {vms:?}")));
    }
    ensure!(vms.is_empty(), "{vms:?}");
    one_vm_each(lab).await
}
