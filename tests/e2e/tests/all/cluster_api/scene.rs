//! A lab with a host and Cluster API's own programs, and a workload cluster in it, on any cloud.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use control_plane::ControlPlane;
use e2e::cluster_api::{Management, Workload, credentials, objects, plane_options};
use e2e::{Cloud, Host, Lab, LabOptions};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use machinist_api::infrastructure::names::annotations;

use crate::scene::{hosted, turn};

/// The simulated cloud as the cloud of a lab.
pub(super) type Sim = simcloud::Server;

/// The namespace of the workload cluster.
pub(super) const TEAM: &str = "team";

/// How long everything has to rest.
pub(super) const REST: Duration = Duration::from_secs(120);

pub(super) fn options() -> LabOptions {
    LabOptions { plane: plane_options(), ..LabOptions::default() }
}

/// Runs a test in a lab whose host serves Cluster API, with core and bootstrap provider beside it.
pub(super) async fn managed<C: Cloud>(
    options: LabOptions,
    test: impl AsyncFnOnce(&Lab<C>, &Management, &Host) -> Result<()>,
) {
    managed_with(options, &[], test).await;
}

/// As above, with more flags of the host.
pub(super) async fn managed_with<C: Cloud>(
    options: LabOptions,
    flags: &[String],
    test: impl AsyncFnOnce(&Lab<C>, &Management, &Host) -> Result<()>,
) {
    let _turn = turn().await;
    let lab = lab(options).await;
    let management = Management::start(&lab.plane).await.unwrap_or_else(|error| panic!("{error:#}"));
    let flags: Vec<&str> =
        std::iter::once("--cluster-api=*").chain(flags.iter().map(String::as_str)).collect();
    hosted(&lab.host_options().with(&flags), async |host| {
        install_driver(&lab).await?;
        test(&lab, &management, host).await.map_err(|error| error.context(management.logs()))
    })
    .await;
}

/// Starts a cloud, and a lab around it.
pub(super) async fn lab<C: Cloud>(options: LabOptions) -> Lab<C> {
    let cloud = C::begin(&options.cloud).await.expect("the cloud starts");
    Lab::around(cloud, options).await.expect("the lab starts")
}

/// Installs the driver of the lab's cloud, and waits until it serves.
pub(super) async fn install_driver<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let driver = tokio::task::spawn_blocking(|| C::DRIVER.build()).await??;
    lab.install_driver(&driver).await
}

/// Cluster `shop`, whose Nodes register with the lab's own API server, where its objects are, too.
pub(super) async fn workload<C: Cloud>(lab: &Lab<C>) -> Result<Workload> {
    workload_from(lab, &lab.plane).await
}

/// Cluster `shop`, whose Nodes register with the lab's own API server, and whose objects are in another one.
pub(super) async fn workload_from<C: Cloud>(lab: &Lab<C>, management: &ControlPlane) -> Result<Workload> {
    let (provider, spec) = (provider(&lab.cloud)?, lab.cloud.specification());
    let credentials = credentials(&lab.cloud)?;
    let planes = (management, &lab.plane);
    Workload::create(planes, (TEAM, "shop"), (&provider, &spec, &credentials)).await
}

/// The provider that machines of a cloud name.
fn provider<C: Cloud>(cloud: &C) -> Result<String> {
    cloud.class("small", C::NAME).provider.context("a class has a provider")
}

/// The namespace and Secrets of Cluster `shop`, and nothing else of it.
pub(super) async fn put_basics(lab: &Lab) -> Result<()> {
    let planes = (&lab.plane, &lab.plane);
    Workload::put_basics(planes, (TEAM, "shop"), &credentials(&lab.cloud)?).await
}

/// Creates the template `large`, with VMs of another size than `small`.
pub(super) async fn put_large_template<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let mut spec = lab.cloud.specification();
    C::enlarge(&mut spec);
    let template = objects::machine_template(TEAM, "large", &provider(&lab.cloud)?, &spec);
    lab.plane.apply(&template.to_string()).await?;
    Ok(())
}

/// The ids of the VMs that live.
pub(super) async fn ids<C: Cloud>(lab: &Lab<C>) -> Result<BTreeSet<String>> {
    Ok(lab.cloud.live().await?.into_iter().collect())
}

/// How many VMs live whose Machine is not being deleted. Core counts no others: it makes the next Machine of a
/// rollout as soon as the one before is marked, while drain and VM of that one take their time.
pub(super) async fn vms_of_kept_machines<C: Cloud>(lab: &Lab<C>, workload: &Workload) -> Result<usize> {
    // First: a Machine that is marked in between is left out, and none is counted too much.
    let live = lab.cloud.live_machines().await?;
    let machines = workload.machines().list(&ListParams::default()).await?;
    let is_kept = |machine: &&DynamicObject| machine.metadata.deletion_timestamp.is_none();
    let kept: BTreeSet<String> = machines.iter().filter(is_kept).map(ResourceExt::name_any).collect();
    let infra_machines = workload.infra_machines().list(&ListParams::default()).await?;
    let keys: BTreeSet<String> = infra_machines
        .into_iter()
        .filter(|machine| kept.contains(&machine.name_any()))
        .filter_map(|machine| machine.metadata.annotations?.remove(annotations::MACHINE_KEY))
        .collect();
    Ok(live.into_iter().filter(|vm| keys.contains(&vm.key)).count())
}

/// Deletes the Cluster: no VM is left, and by the cloud's own record no key ever had two.
pub(super) async fn ends<C: Cloud>(lab: &Lab<C>, workload: &Workload) -> Result<()> {
    workload.delete().await?;
    let left = lab.cloud.live_machines().await?;
    ensure!(left.is_empty(), "VMs are left: {left:?}");
    one_vm_each(lab).await
}

/// By the cloud's own record no key ever had two VMs, neither at once nor one after the other.
pub(super) async fn one_vm_each<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let made = lab.cloud.made_by_key()?;
    ensure!(made.values().all(|count| *count == 1), "a key had several VMs: {made:?}");
    let duplicates = lab.cloud.made().await?.duplicates;
    ensure!(duplicates == 0, "{duplicates} VMs lived beside another one of their key");
    Ok(())
}
