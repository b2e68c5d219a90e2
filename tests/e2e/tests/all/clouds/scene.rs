//! A lab with a cloud and its driver.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use e2e::{Cloud, Lab, LabOptions};
use kube::ResourceExt;
use kube::api::ListParams;

/// Starts a cloud, and a lab around it.
pub(super) async fn lab<C: Cloud>() -> Lab<C> {
    let cloud = C::begin(&simcloud::Config::default()).await.expect("the cloud starts");
    Lab::around(cloud, LabOptions::default()).await.expect("the lab starts")
}

/// Installs the driver of the lab's cloud, a Secret and the class `small`, and waits until the driver serves.
pub(super) async fn install<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let driver = tokio::task::spawn_blocking(|| C::DRIVER.build()).await??;
    lab.install_driver(&driver).await
}

/// Creates many Machines at once.
pub(super) async fn create<C: Cloud>(lab: &Lab<C>, prefix: &str, count: usize) -> Result<Vec<String>> {
    let names: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    futures::future::try_join_all(names.iter().map(|name| lab.create_machine(name, "small"))).await?;
    Ok(names)
}

/// Each Machine has the one VM that carries its uid, none was made twice, and no other lives.
pub(super) async fn one_vm_each<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let machines = lab.machines().list(&ListParams::default()).await?.items;
    let mut uids: Vec<String> = machines.iter().filter_map(ResourceExt::uid).collect();
    let mut keys: Vec<String> =
        lab.cloud.live_machines().await?.into_iter().map(|machine| machine.key).collect();
    uids.sort();
    keys.sort();
    ensure!(uids == keys, "VMs of {keys:?}, Machines {uids:?}");
    let twice: BTreeMap<String, u64> =
        lab.cloud.made_by_key()?.into_iter().filter(|(_, made)| *made > 1).collect();
    ensure!(twice.is_empty(), "made twice: {twice:?}");
    Ok(())
}

/// No VM and no part of one is left, and none was made twice.
pub(super) async fn nothing_left<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let left = lab.cloud.leftovers().await?;
    ensure!(left.is_empty(), "left: {left:?}");
    let made = lab.cloud.made().await?;
    ensure!(made.duplicates == 0, "{made:?}");
    Ok(())
}
