//! ClusterClasses: the topology controller of core makes everything, and tries changes of templates in dry runs.

use anyhow::{Context as _, Result};
use e2e::cluster_api::{Management, Workload, objects, rests};
use e2e::{Lab, eventually};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::played::provider_spec;
use super::scene::{REST, Sim, TEAM, ends, managed, options, put_basics, workload};

const TEMPLATE: &str = "MachinistMachineTemplate";

fn class() -> Value {
    let template = |group: &str, version: &str, kind: &str, name: &str| json!({ "templateRef": { "apiVersion": format!("{group}/{version}"), "kind": kind, "name": name } });
    let infrastructure = |kind: &str| template("infrastructure.machinist.dev", "v1alpha1", kind, "class");
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "ClusterClass",
        "metadata": { "name": "machinist", "namespace": TEAM },
        "spec": {
            "variables": [{
                "name": "size",
                "required": true,
                "schema": { "openAPIV3Schema": { "type": "string" } },
            }],
            "infrastructure": infrastructure("MachinistClusterTemplate"),
            "controlPlane": template(
                "controlplane.machinist.dev", "v1alpha1", "ExternalControlPlaneTemplate", "class",
            ),
            "workers": { "machineDeployments": [{
                "class": "workers",
                "bootstrap": template("bootstrap.cluster.x-k8s.io", "v1beta2", "KubeadmConfigTemplate", "join"),
                "infrastructure": infrastructure(TEMPLATE),
            }] },
            "patches": [{
                "name": "size",
                "definitions": [{
                    "selector": {
                        "apiVersion": "infrastructure.machinist.dev/v1alpha1",
                        "kind": TEMPLATE,
                        "matchResources": { "machineDeploymentClass": { "names": ["workers"] } },
                    },
                    "jsonPatches": [{
                        "op": "add",
                        "path": "/spec/template/spec/providerSpec/type",
                        "valueFrom": { "variable": "size" },
                    }],
                }],
            }],
        },
    })
}

fn cluster(port: u16, size: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": { "name": "shop", "namespace": TEAM },
        "spec": {
            "controlPlaneEndpoint": { "host": "127.0.0.1", "port": port },
            "topology": {
                "classRef": { "name": "machinist" },
                "version": objects::VERSION,
                "variables": [{ "name": "size", "value": size }],
                "workers": { "machineDeployments": [{ "class": "workers", "name": "a", "replicas": 2 }] },
            },
        },
    })
}

async fn put(lab: &Lab, object: &Value) -> Result<()> {
    let applied = lab.plane.apply(&object.to_string()).await;
    applied.with_context(|| format!("failed to apply {}", object["kind"])).map(drop)
}

/// A Cluster of the class, whose control plane is there.
async fn of_class(lab: &Lab, size: &str) -> Result<Workload> {
    put_basics(lab).await?;
    let identity = json!({ "kind": "Secret", "name": "account" });
    put(
        lab,
        &json!({
            "apiVersion": "infrastructure.machinist.dev/v1alpha1",
            "kind": "MachinistClusterTemplate",
            "metadata": { "name": "class", "namespace": TEAM },
            "spec": { "template": { "spec": { "identityRef": identity } } },
        }),
    )
    .await?;
    put(
        lab,
        &json!({
            "apiVersion": "controlplane.machinist.dev/v1alpha1",
            "kind": "ExternalControlPlaneTemplate",
            "metadata": { "name": "class", "namespace": TEAM },
            "spec": { "template": { "spec": {} } },
        }),
    )
    .await?;
    put(lab, &objects::machine_template(TEAM, "class", "sim", &provider_spec())).await?;
    put(lab, &objects::kubeadm_template(TEAM, "join")).await?;
    put(lab, &class()).await?;
    let port = lab.plane.server().rsplit(':').next().context("a port")?.parse()?;
    put(lab, &cluster(port, size)).await?;
    let workload = Workload::of(TEAM, "shop", lab.client.clone());
    let plane = eventually("the topology has a control plane", async || {
        let cluster = workload.clusters().get("shop").await?;
        Ok(cluster.data["spec"]["controlPlaneRef"]["name"].as_str().map(str::to_owned))
    })
    .await?;
    workload.initialize(&plane).await?;
    Ok(workload)
}

/// Waits until all VMs have this size, two of them.
async fn has_size(lab: &Lab, workload: &Workload, size: &str) -> Result<()> {
    let what = format!("two VMs are {size}");
    let has = eventually(&what, async || {
        let (vms, seen) = (lab.cloud.live_vms(), workload.look().await?);
        let is_it = vms.len() == 2 && vms.iter().all(|vm| vm.kind == size);
        let run = seen.machines.len() == 2 && seen.machines.values().all(|phase| phase == "Running");
        Ok((is_it && run && seen.infra_machines.len() == 1).then_some(()))
    });
    match has.await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(workload.shown().await)),
    }
}

#[tokio::test]
#[ignore = "nightly: four minutes, two of them at rest"]
async fn a_cluster_of_a_class_follows_its_variables_and_rests() {
    managed::<Sim>(options(), async |lab, _, _| {
        let workload = of_class(lab, "sim.small").await?;
        has_size(lab, &workload, "sim.small").await?;
        for size in ["sim.large", "sim.small"] {
            let variables = json!({ "spec": { "topology": {
                "variables": [{ "name": "size", "value": size }],
            } } });
            let clusters = workload.clusters();
            clusters.patch("shop", &PatchParams::default(), &Patch::Merge(&variables)).await?;
            has_size(lab, &workload, size).await?;
        }
        workload.cluster_condition("Available", "True").await?;
        rests(&workload, REST).await?;
        ends(lab, &workload).await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: half a minute; the repository is read by clusterctl on each change"]
async fn core_reads_the_class_that_is_shipped() {
    managed::<Sim>(options(), async |lab, management, _| {
        let workload = workload(lab).await?;
        shipped_class(lab, management, &workload).await
    })
    .await;
}

/// Core accepts the class that the repository for clusterctl has.
async fn shipped_class(lab: &Lab, management: &Management, workload: &Workload) -> Result<()> {
    let definitions = management.programs.folder().join("kubeadm-control-plane-crds");
    for definition in lab.plane.apply_path(definitions).await? {
        let label = json!({ "metadata": { "labels": { "cluster.x-k8s.io/v1beta2": "v1beta2" } } });
        let kind = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
            "apiextensions.k8s.io", "v1", "CustomResourceDefinition",
        ));
        let all: kube::Api<kube::api::DynamicObject> = kube::Api::all_with(lab.client.clone(), &kind);
        all.patch(&definition.name_any(), &PatchParams::default(), &Patch::Merge(&label)).await?;
    }
    let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let file = cluster_api::repository::repository(&deploy).join("clusterclass-machinist.yaml");
    let text = std::fs::read_to_string(file)?;
    for document in serde_yaml_ng::Deserializer::from_str(&text) {
        let mut object = <Value as serde::Deserialize>::deserialize(document)?;
        object["metadata"]["namespace"] = json!(TEAM);
        put(lab, &object).await?;
    }
    let classes = workload.all("cluster.x-k8s.io", "v1beta2", "ClusterClass");
    eventually("core has read the class", async || {
        let class = classes.get("machinist").await?;
        let conditions = class.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_true =
            |kind: &str| conditions.iter().any(|one| one["type"] == kind && one["status"] == "True");
        Ok((is_true("VariablesReady") && is_true("RefVersionsUpToDate")).then_some(()))
    })
    .await
}
