//! Real kubelets: the bootstrap token in a VM's user data gets its kubelet a certificate, and with it the Node. The
//! control plane authorises Nodes as kubeadm's does.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use e2e::{Aws, Cloud, Lab, LabOptions, eventually};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use machinist_api::names::labels;

use crate::scene::{is_gone, played, turn};

/// The Machines of a story.
pub(crate) const MANY: usize = 20;

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time, and makes twenty VMs"]
async fn twenty_machines_of_the_simulated_cloud_join_by_tls_bootstrap() {
    joined::<simcloud::Server>(MANY).await;
}

#[tokio::test]
#[ignore = "nightly: builds the kubelet, which takes five minutes the first time, and makes twenty VMs"]
async fn twenty_machines_of_ec2_join_by_tls_bootstrap() {
    joined::<Aws>(MANY).await;
}

/// Twenty Machines of this cloud get real kubelets, which join with nothing but the user data of their VMs. So many are
/// created at a time: a cloud of real services or containers needs a core for each create.
pub(crate) async fn joined<C: Cloud>(at_once: usize) {
    let _turn = turn().await;
    let cloud = C::begin(&simcloud::Config::default()).await.expect("the cloud starts");
    let lab = Lab::around(cloud, LabOptions::with_real_kubelets()).await.expect("the lab starts");
    played(lab, async |lab, _| {
        let driver = tokio::task::spawn_blocking(|| C::DRIVER.build()).await??;
        lab.install_driver(&driver).await?;
        let names = run_in_waves(lab, at_once).await?;
        each_machine_has_the_node_of_its_vm(lab).await?;
        each_kubelet_requested_its_certificate_with_a_token_of_its_own(lab).await?;
        eventually("no bootstrap token is left", async || {
            Ok(lab.left_in_target().await?.1.is_empty().then_some(()))
        })
        .await?;

        lab.delete_machine("m0").await?;
        is_gone(lab, "m0").await?;
        let nodes = nodes(&lab.client).await?;
        ensure!(nodes.len() == MANY - 1, "{} Nodes after a Machine is gone", nodes.len());
        ensure!(lab.cloud.live().await?.len() == MANY - 1, "a VM is left");
        delete_in_waves(lab, names.get(1..).unwrap_or_default(), at_once).await?;
        lab.clear().await?;
        let left = lab.cloud.leftovers().await?;
        ensure!(left.is_empty(), "left: {left:?}");
        let made = lab.cloud.made().await?;
        ensure!(made.duplicates == 0 && made.created == MANY as u64, "{made:?}");
        Ok(())
    })
    .await;
}

/// Creates the Machines, so many at a time, and waits until these run. Returns their names; the first one is `m0`.
pub(crate) async fn run_in_waves<C: Cloud>(lab: &Lab<C>, at_once: usize) -> Result<Vec<String>> {
    let names: Vec<String> = (0..MANY).map(|number| format!("m{number}")).collect();
    let mut running = 0;
    for wave in names.chunks(at_once) {
        futures::future::try_join_all(wave.iter().map(|name| lab.create_machine(name, "small"))).await?;
        running += wave.len();
        let ran = lab.machines_in_phase("Running", running).await;
        ran.with_context(|| {
            format!("the kubelets are {:#?}", lab.real.as_ref().map(nodesim::RealKubelets::states))
        })?;
    }
    Ok(names)
}

/// Deletes Machines, so many at a time, and waits until these are gone.
pub(crate) async fn delete_in_waves<C: Cloud>(lab: &Lab<C>, names: &[String], at_once: usize) -> Result<()> {
    for wave in names.chunks(at_once) {
        futures::future::try_join_all(wave.iter().map(|name| lab.delete_machine(name))).await?;
        for name in wave {
            is_gone(lab, name).await?;
        }
    }
    Ok(())
}

async fn nodes(client: &Client) -> Result<BTreeMap<String, Node>> {
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await?;
    Ok(nodes.into_iter().map(|node| (node.name_any(), node)).collect())
}

/// The one that the Machine names, with the provider id that the cloud's controller manager would write, with the
/// labels of the kubelet and those that the host adds.
async fn each_machine_has_the_node_of_its_vm<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let nodes = nodes(&lab.client).await?;
    let of_vms: BTreeSet<String> =
        lab.cloud.live_machines().await?.into_iter().map(|vm| vm.node_id).collect();
    ensure!(nodes.len() == MANY && of_vms.len() == MANY, "{:?}, {of_vms:?}", nodes.keys());
    for machine in lab.machines().list(&ListParams::default()).await? {
        let name = machine.labels().get(labels::NODE).context("a Machine names its Node")?;
        let node = nodes.get(name).with_context(|| format!("there is no Node {name}"))?;
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_ref());
        ensure!(id.is_some_and(|id| of_vms.contains(id)), "{name} is {id:?}, which is none of {of_vms:?}");
        let label = |key: &str| node.labels().get(key).map(String::as_str);
        ensure!(label("joined") == Some("by-tls-bootstrap"), "{:?}", node.labels());
        ensure!(label("pool") == Some("workers"), "{:?}", node.labels());
    }
    Ok(())
}

async fn each_kubelet_requested_its_certificate_with_a_token_of_its_own<C: Cloud>(
    lab: &Lab<C>,
) -> Result<()> {
    let requests: Api<CertificateSigningRequest> = Api::all(lab.client.clone());
    let requests = requests.list(&ListParams::default()).await?;
    let users: BTreeSet<&str> =
        requests.iter().filter_map(|request| request.spec.username.as_deref()).collect();
    ensure!(requests.items.len() == MANY && users.len() == MANY, "{users:?}");
    ensure!(users.iter().all(|user| user.starts_with("system:bootstrap:")), "{users:?}");
    let is_issued = |request: &CertificateSigningRequest| {
        request.status.as_ref().is_some_and(|status| status.certificate.is_some())
    };
    ensure!(requests.iter().all(is_issued), "a certificate is not issued");
    Ok(())
}
