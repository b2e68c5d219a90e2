//! Machines become VMs and Nodes, and leave nothing behind.

use anyhow::{Context, Result, ensure};
use e2e::{Cloud, Lab};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use machinist_api::names::labels;
use tempfile::TempDir;

use super::scene::{create, install, lab, nothing_left, one_vm_each};
use crate::scene::{hosted, is_gone, is_running, turn};

/// Three Machines, of which one goes before the others. The driver's calls are recorded in
/// the folder that is returned.
pub(super) async fn life<C: Cloud>() -> TempDir {
    let _turn = turn().await;
    let lab = &lab::<C>().await;
    let folder = tempfile::tempdir().expect("a folder");
    let record = format!("--record={}", folder.path().join("recordings").display());
    hosted(&lab.host_options().with(&[record]), async |_| {
        install(lab).await?;
        let names = create(lab, "m", 3).await?;
        for name in &names {
            is_running(lab, name).await?;
        }
        one_vm_each(lab).await?;
        has_the_id_of_its_vm(lab, &names).await?;
        lab.delete_machine("m0").await?;
        is_gone(lab, "m0").await?;
        one_vm_each(lab).await?;
        lab.clear().await?;
        nothing_left(lab).await
    })
    .await;
    folder
}

/// A Machine names its VM, and its Node names it as the cloud's own controller does.
async fn has_the_id_of_its_vm<C: Cloud>(lab: &Lab<C>, names: &[String]) -> Result<()> {
    let live = lab.cloud.live_machines().await?;
    for name in names {
        let machine = lab.machines().get(name).await?;
        let uid = machine.uid().unwrap_or_default();
        let vm = live.iter().find(|vm| vm.key == uid);
        let node = machine.labels().get(labels::NODE).context("the Machine names its Node")?;
        let node = Api::<Node>::all(lab.client.clone()).get(node).await?;
        let (id, of_node) = (machine.provider_id(), node.spec.and_then(|spec| spec.provider_id));
        ensure!(id.is_some_and(|id| vm.is_some_and(|vm| id.contains(&vm.id))), "{name}: {id:?}, {vm:?}");
        ensure!(of_node.as_deref() == vm.map(|vm| vm.node_id.as_str()), "{name}: {of_node:?}, {vm:?}");
    }
    Ok(())
}
