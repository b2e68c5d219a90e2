//! A lab with EC2 and a host for each test.

use std::sync::LazyLock;

use anyhow::{Result, ensure};
use e2e::{Aws, Cloud, Host, Lab, LabOptions};
use ec2::{Effect, Instance, Lag, Rule, UID_TAG};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::Value;

use crate::scene::{played, turn};

pub(super) static AWS: LazyLock<Vec<u8>> = LazyLock::new(|| guests::bytes("aws-driver").expect("builds"));

/// Runs a test in a lab whose cloud is EC2, with its driver serving, a Secret `aws` and a class `small`. In the end
/// everything is deleted, and nothing may be left.
pub(super) async fn installed(test: impl AsyncFnOnce(&Lab<Aws>, &Host) -> Result<()>) {
    let _turn = turn().await;
    let cloud = Aws::start().await.expect("EC2 starts");
    let lab = Lab::around(cloud, LabOptions::default()).await.expect("the lab starts");
    played(lab, async |lab, host| {
        lab.install_driver(&AWS).await?;
        test(lab, host).await?;
        heal(&lab.cloud);
        lab.clear().await
    })
    .await;
}

/// Nothing goes wrong on purpose any more.
pub(super) fn heal(cloud: &Aws) {
    cloud.faults().clear();
    cloud.set_lag(Lag::default());
    cloud.set_clock_offset(jiff::SignedDuration::ZERO);
}

/// From here on this befalls all requests of an action.
pub(super) fn all(lab: &Lab<Aws>, action: &str, effect: Effect) {
    lab.cloud.faults().add(Rule::new(effect).on(action));
}

/// Creates many Machines at once.
pub(super) async fn create(lab: &Lab<Aws>, prefix: &str, count: usize) -> Result<Vec<String>> {
    let names: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    futures::future::try_join_all(names.iter().map(|name| lab.create_machine(name, "small"))).await?;
    Ok(names)
}

/// Each Machine has the one instance that carries its uid, none was made twice, and no other lives.
pub(super) async fn one_instance_each(lab: &Lab<Aws>) -> Result<()> {
    let machines = lab.machines().list(&ListParams::default()).await?.items;
    let stats = lab.cloud.stats();
    ensure!(stats.duplicates_ever == 0, "two at a time: {stats:?}");
    ensure!(stats.created_by_uid.values().all(|made| *made == 1), "made twice: {:?}", stats.created_by_uid);
    let live = lab.cloud.live_instances().await?;
    ensure!(live.len() == machines.len(), "{} instances of {} Machines", live.len(), machines.len());
    for machine in &machines {
        let uid = machine.uid().unwrap_or_default();
        let own = live.iter().find(|instance| instance.tags.get(UID_TAG) == Some(&uid));
        let id = own.map(|instance| provider_id(lab, instance));
        ensure!(id.as_deref() == machine.provider_id(), "{}: {id:?}", machine.name_any());
    }
    Ok(())
}

pub(super) fn provider_id(lab: &Lab<Aws>, instance: &Instance) -> String {
    format!("aws:///{}/{}", lab.cloud.region(), instance.id)
}

/// A class of its own whose providerSpec differs.
pub(super) async fn class_with(lab: &Lab<Aws>, name: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
    let mut class = lab.cloud.class(name, "aws");
    change(class.provider_spec.get_or_insert_default());
    lab.put_class(&class).await
}

/// Replaces the driver's ConfigMap, and waits until it serves.
pub(super) async fn swap(
    lab: &Lab<Aws>,
    map: &k8s_openapi::api::core::v1::ConfigMap,
    host: &Host,
) -> Result<()> {
    let swaps = async || anyhow::Ok(host.metrics().await?.sum("machinist_plugin_swaps_total", &[]));
    let before = swaps().await?;
    lab.put_plugin(map).await?;
    e2e::eventually("the change serves", async || Ok((swaps().await? > before).then_some(()))).await
}
