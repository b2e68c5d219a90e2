//! Tells the stories of a lab on LXD, whose containers boot and join with kubelets of their own.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use e2e::{Cloud, Lab, LabOptions, Lxd, eventually};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use machinist_api::names::labels;
use tokio::sync::Mutex;

use super::kills::killed;
use super::life::life;
use super::recordings::replays;
use super::scene::{install, nothing_left, one_vm_each};
use crate::cluster_api::workload_cluster_on;
use crate::scene::{is_gone, played, turn};
use crate::tls_bootstrap::{MANY, delete_in_waves, run_in_waves};

/// One LXD at a time: its containers take memory, disk and a core.
static ALONE: Mutex<()> = Mutex::const_new(());
/// Containers of Debian that boot side by side on two cores.
const AT_ONCE: usize = 4;

/// The containers are of Debian.
type Booting = Lxd<true>;
/// The containers are of one program, and their kubelets are simulated.
type Small = Lxd<false>;

#[tokio::test]
#[ignore = "nightly: needs root, Debian's packages lxd and debootstrap, and minutes for images and kubelet"]
async fn twenty_machines_become_containers_that_boot_and_join_and_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    ::lxd::room_for(MANY).expect("twenty containers boot on this machine");
    let _turn = turn().await;
    let cloud = Booting::begin(&simcloud::Config::default()).await.expect("the cloud starts");
    let lab = Lab::around(cloud, LabOptions::with_real_kubelets()).await.expect("the lab starts");
    lab.cloud.connect(&lab.plane.server()).await.expect("containers reach the API server");
    played(lab, async |lab, _| {
        install(lab).await?;
        let names = run_in_waves(lab, AT_ONCE).await?;
        one_vm_each(lab).await?;
        each_machine_has_the_node_of_its_container(lab).await?;
        each_kubelet_got_its_certificate_by_a_token_of_its_own(lab).await?;
        eventually("no bootstrap token is left", async || {
            Ok(lab.left_in_target().await?.1.is_empty().then_some(()))
        })
        .await?;

        lab.delete_machine("m0").await?;
        is_gone(lab, "m0").await?;
        one_vm_each(lab).await?;
        delete_in_waves(lab, names.get(1..).unwrap_or_default(), AT_ONCE).await?;
        lab.clear().await?;
        nothing_left(lab).await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn machines_become_containers_and_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    replays::<Small>(&life::<Small>().await).await;
}

/// Images without kubeadm could not join, so the kubelets are simulated.
#[tokio::test]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn a_workload_cluster_on_lxd_is_made_scaled_rolled_and_deleted() {
    let _alone = ALONE.lock().await;
    workload_cluster_on::<Small>().await;
}

#[tokio::test]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn a_host_that_is_killed_at_any_moment_makes_one_container_for_each_machine() {
    let _alone = ALONE.lock().await;
    killed::<Small>().await;
}

/// The kubelet runs in the container, and the Node has the container's name, its id and the labels of the user data.
async fn each_machine_has_the_node_of_its_container(lab: &Lab<Booting>) -> Result<()> {
    let live = lab.cloud.live_machines().await?;
    for machine in lab.machines().list(&ListParams::default()).await? {
        let uid = machine.uid().unwrap_or_default();
        let container = live.iter().find(|vm| vm.key == uid).context("a Machine has its container")?;
        let name = machine.labels().get(labels::NODE).context("a Machine names its Node")?;
        ensure!(*name == container.id, "the Node of container {} is {name}", container.id);
        let node = Api::<Node>::all(lab.client.clone()).get(name).await?;
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_ref());
        ensure!(id == Some(&container.node_id) && machine.provider_id() == id.map(String::as_str), "{id:?}");
        let joined = node.labels().get("joined").map(String::as_str);
        ensure!(joined == Some("by-tls-bootstrap"), "{:?}", node.labels());
        let unit = lab.cloud.exec(name, &["systemctl", "is-active", "kubelet"]).await?;
        ensure!(unit.status.success(), "the kubelet in {name} is {}", String::from_utf8_lossy(&unit.stdout));
    }
    Ok(())
}

async fn each_kubelet_got_its_certificate_by_a_token_of_its_own(lab: &Lab<Booting>) -> Result<()> {
    let requests: Api<CertificateSigningRequest> = Api::all(lab.client.clone());
    let requests = requests.list(&ListParams::default()).await?;
    let users: BTreeSet<&str> =
        requests.iter().filter_map(|request| request.spec.username.as_deref()).collect();
    // A kubelet that its unit starts again before its certificate is there makes one more request.
    ensure!(users.len() == MANY, "{users:?}");
    ensure!(users.iter().all(|user| user.starts_with("system:bootstrap:")), "{users:?}");
    Ok(())
}
