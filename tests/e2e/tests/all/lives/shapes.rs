//! Other shapes of clusters: control and target apart, no target at all, and the kinds as machine-controller-manager
//! has them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use control_plane::{ControlPlane, Options};
use e2e::{Kinds, Lab, LabOptions, eventually};
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::ListParams;
use kube::{Api, Client};
use machinist_api::names;
use nodesim::{NodeSim, Target};

use crate::admin::explain::says;
use crate::scene::{SIM, has_phase, hosted, is_gone, scene, turn};

async fn names_of<T>(api: Api<T>) -> Result<Vec<String>>
where
    T: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let listed = api.list_metadata(&ListParams::default()).await?;
    Ok(listed.items.into_iter().filter_map(|object| object.metadata.name).collect())
}

async fn tokens(client: &Client) -> Result<Vec<String>> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    let mut names = names_of(secrets).await?;
    names.retain(|name| name.starts_with("bootstrap-token-"));
    Ok(names)
}

/// The target cluster with exactly the rights that belong there.
async fn target_cluster() -> Result<(ControlPlane, std::path::PathBuf)> {
    let plane = ControlPlane::start(Options::without_controller_manager()).await?;
    let rbac = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/rbac");
    for file in [
        "00-namespace.yaml", "10-serviceaccount.yaml", "40-target-clusterrole.yaml", "50-bootstrap-role.yaml",
    ] {
        plane.apply_path(rbac.join(file)).await?;
    }
    let account = "system:serviceaccount:machinist-system:machinist";
    plane.wait_until_allowed(account, &[], "list", "nodes").await?;
    let kubeconfig = plane.kubeconfig_for_service_account(e2e::manifests::NAMESPACE, "machinist").await?;
    Ok((plane, kubeconfig))
}

#[tokio::test]
async fn control_and_target_cluster_are_two() {
    let _turn = turn().await;
    let _second_turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    let (target, kubeconfig) = target_cluster().await.expect("the target cluster starts");
    let mut config = nodesim::Config::new(Target::Kubeconfig(target.nodesim_kubeconfig()));
    config.timing.join_retry_limit = Duration::from_secs(1);
    let vms = e2e::Cloud::vm_source(&lab.cloud).expect("the cloud shows its VMs");
    let _kubelets = NodeSim::start(config, vms).expect("the kubelets start");
    let mut options = lab.host_options();
    options.flags.push(format!("--control-kubeconfig={}", lab.host_kubeconfig().display()));
    options.kubeconfig = kubeconfig;
    hosted(&options, async |_| {
        lab.install_driver(&SIM).await?;
        lab.create_machine("m", "small").await?;
        let machine = has_phase(&lab, "m", "Running").await?;
        let node = machine.metadata.labels.unwrap_or_default().remove(names::labels::NODE);
        let node = node.context("the Machine names its Node")?;
        let client = target.client()?;
        let nodes: Api<Node> = Api::all(client.clone());
        ensure!(names_of(nodes.clone()).await? == [node.clone()], "the Node is in the target cluster");
        ensure!(names_of(Api::<Node>::all(lab.client.clone())).await?.is_empty(), "and in no other");
        let labels = nodes.get(&node).await?.metadata.labels.unwrap_or_default();
        ensure!(
            labels.get("pool").is_some_and(|pool| pool == "workers"),
            "the template is applied: {labels:?}"
        );
        ensure!(tokens(&client).await?.is_empty(), "the token is used and gone");
        ensure!(tokens(&lab.client).await?.is_empty(), "and never was in the control cluster");
        lab.event("Machine", "m", "NodeHealthy", "").await?;
        lab.delete_machine("m").await?;
        is_gone(&lab, "m").await?;
        ensure!(names_of(nodes).await?.is_empty(), "the Node is gone with its Machine");
        ensure!(lab.cloud.live_vms().is_empty(), "and so is the VM");
        lab.clear().await
    })
    .await;
}

#[tokio::test]
async fn without_a_target_cluster_a_machine_is_available_and_names_no_node() {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    let mut options = lab.host_options();
    let control = lab.host_kubeconfig().display().to_string();
    options.flags.extend([format!("--control-kubeconfig={control}"), "--target-kubeconfig=none".to_owned()]);
    hosted(&options, async |host| {
        lab.install_driver(&SIM).await?;
        lab.create_machine("m", "small").await?;
        let machine = has_phase(&lab, "m", "Available").await?;
        let labels = machine.metadata.labels.clone().unwrap_or_default();
        ensure!(!labels.contains_key(names::labels::NODE), "no Node is awaited: {labels:?}");
        ensure!(machine.provider_id().is_some(), "the VM is recorded");
        let status = machine.status.unwrap_or_default();
        ensure!(!status.addresses.is_empty(), "its addresses are what others find it by: {status:?}");
        ensure!(tokens(&lab.client).await?.is_empty(), "nobody needs a bootstrap token");
        let before = host.metrics().await?.sum("machinist_passes_total", &[]);
        lab.machine_reason("m", "VmCreated", "").await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let after = host.metrics().await?.sum("machinist_passes_total", &[]);
        ensure!(after - before < 5.0, "it rests: {} passes in 2 s", after - before);
        lab.delete_machine("m").await?;
        is_gone(&lab, "m").await?;
        ensure!(lab.cloud.live_vms().is_empty(), "the VM is gone");
        lab.clear().await
    })
    .await;
}

#[tokio::test]
async fn a_whole_life_on_the_kinds_that_others_have_installed() {
    let options = LabOptions { kinds: Kinds::Known, ..LabOptions::default() };
    scene(options, async |lab, host| {
        lab.install_driver(&SIM).await?;
        // One that waits, one that lives.
        lab.create_machine("waits", "nowhere").await?;
        lab.event("Machine", "waits", "ClassMissing", "nowhere").await?;
        let address = host.url().trim_start_matches("http://").to_owned();
        let awaited = ["Awaited:   ClassMissing, since", "from the memory of"];
        says(lab, &["machine/waits", "--address", &address], &awaited).await?;
        lab.create_machine("m", "small").await?;
        let machine = has_phase(lab, "m", "Running").await?;
        let status = machine.status.clone().unwrap_or_default();
        ensure!(status.machinist.is_none(), "the API server drops what its CRDs do not have");
        ensure!(!status.conditions.is_empty(), "the Node's conditions are there: {status:?}");
        lab.event("Machine", "m", "NodeHealthy", "").await?;
        let writes = async || -> Result<f64> {
            let metrics = host.metrics().await?;
            let of = |resource: &str| {
                let resource = format!("resource=\"{resource}\"");
                metrics.sum("machinist_api_requests_total", &["verb=\"PATCH\"", &resource])
            };
            Ok(of("machines") + of("machines/status") + of("machineclasses") + of("nodes"))
        };
        // The last writes of the creation.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let before = writes().await?;
        tokio::time::sleep(Duration::from_secs(4)).await;
        let after = writes().await?;
        // The Machine that waits may try again once; nobody writes what is dropped again and again.
        ensure!(after - before <= 1.0, "{} writes in 4 s in which nothing happened", after - before);
        let machine_after = lab.machines().get("m").await?;
        ensure!(
            machine_after.metadata.resource_version == machine.metadata.resource_version
                || machine_after.status == machine.status,
            "the Machine is left alone"
        );
        for name in ["m", "waits"] {
            lab.delete_machine(name).await?;
            is_gone(lab, name).await?;
        }
        eventually("the VM is gone", async || Ok(lab.cloud.live_vms().is_empty().then_some(()))).await?;
        lab.clear().await
    })
    .await;
}
