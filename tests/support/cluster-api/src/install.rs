//! Definitions and rights, as `clusterctl init` installs them, without Pods.

use anyhow::{Context, Result};
use control_plane::ControlPlane;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::manager::{CORE, KUBEADM};
use crate::programs::{CLUSTER_API_VERSION, Programs};

/// The label by which Cluster API finds the version of an API that follows the contract, and by which `clusterctl move`
/// finds definitions.
const CONTRACT: (&str, &str) = ("cluster.x-k8s.io/v1beta2", "v1beta2");
const MOVED: &str = "clusterctl.cluster.x-k8s.io";
/// The role that collects those of providers, and the label of these.
const AGGREGATED_ROLE: &str = "aggregated-manager-role";
const AGGREGATED: (&str, &str) = ("cluster.x-k8s.io/aggregate-to-manager", "true");
/// A control plane of someone else, as a managed one is: a kind without a controller.
const EXTERNAL_CONTROL_PLANE: &str = include_str!("../manifests/external-control-plane.yaml");

/// Applies the kinds of core, kubeadm bootstrap provider and clusterctl, a kind `ExternalControlPlane` for Clusters
/// whose control plane nobody here makes, and accounts and rights of the managers.
pub async fn install(programs: &Programs, plane: &ControlPlane) -> Result<()> {
    for folder in ["core-crds", "kubeadm-bootstrap-crds", "clusterctl-crds"] {
        for mut definition in programs.objects(folder)? {
            definition["metadata"]["labels"][CONTRACT.0] = json!(CONTRACT.1);
            definition["metadata"]["labels"][MOVED] = json!("");
            plane.apply(&definition.to_string()).await?;
        }
    }
    plane.apply(EXTERNAL_CONTROL_PLANE).await?;
    for manager in [&CORE, &KUBEADM] {
        plane.apply(&namespace(manager.namespace).to_string()).await?;
        let rights = programs.objects(&format!("{}-rbac", manager.program))?;
        let is_aggregated = rights.iter().any(|object| object["metadata"]["name"] == AGGREGATED_ROLE);
        for object in rights {
            if let Some(object) = right(object, manager.namespace, is_aggregated) {
                plane.apply(&object.to_string()).await?;
            }
        }
    }
    Ok(())
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// Gives an object of `config/rbac` the names and the namespace that kustomize gives it. `None` for objects of an
/// election, which one process does without, and for files of kustomize itself. An account with an
/// aggregated role has its own role as one part of that.
fn right(mut object: Value, namespace: &str, is_aggregated: bool) -> Option<Value> {
    let prefixed = |name: &Value| json!(format!("{namespace}-{}", name.as_str().unwrap_or_default()));
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if name.is_empty() || name.contains("leader-election") {
        return None;
    }
    match object["kind"].as_str()? {
        "ServiceAccount" => object["metadata"]["namespace"] = json!(namespace),
        "ClusterRole" => {
            if is_aggregated && name != AGGREGATED_ROLE {
                object["metadata"]["labels"][AGGREGATED.0] = json!(AGGREGATED.1);
            }
            object["metadata"]["name"] = prefixed(&object["metadata"]["name"]);
        }
        "ClusterRoleBinding" => {
            if is_aggregated {
                object["roleRef"]["name"] = json!(AGGREGATED_ROLE);
            }
            object["metadata"]["name"] = prefixed(&object["metadata"]["name"]);
            object["roleRef"]["name"] = prefixed(&object["roleRef"]["name"]);
            object["subjects"][0]["namespace"] = json!(namespace);
        }
        _ => return None,
    }
    Some(object)
}

/// Adds what `clusterctl move` reads in both clusters: an inventory of providers, and a label on definitions that
/// `clusterctl init` did not install.
pub async fn make_movable(plane: &ControlPlane) -> Result<()> {
    for (namespace, name, kind) in [
        ("capi-system", "cluster-api", "CoreProvider"),
        ("capi-kubeadm-bootstrap-system", "kubeadm", "BootstrapProvider"),
        ("machinist-system", "machinist", "InfrastructureProvider"),
    ] {
        let file = match kind {
            "CoreProvider" => name.to_owned(),
            "BootstrapProvider" => format!("bootstrap-{name}"),
            _ => format!("infrastructure-{name}"),
        };
        let provider = json!({
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
            "kind": "Provider",
            "metadata": {
                "name": file,
                "namespace": namespace,
                "labels": { "clusterctl.cluster.x-k8s.io/core": "inventory", MOVED: "", "cluster.x-k8s.io/provider": file },
            },
            "providerName": name,
            "type": kind,
            "version": if name == "machinist" { "v0.1.0" } else { CLUSTER_API_VERSION },
        });
        plane.apply(&provider.to_string()).await?;
    }
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(plane.client()?, &ApiResource::from_gvk(&kind));
    for definition in definitions.list(&ListParams::default()).await? {
        let name = definition.metadata.name.unwrap_or_default();
        let is_ours = definition.metadata.labels.is_some_and(|labels| labels.contains_key(MOVED));
        if !is_ours && name.ends_with(".controlplane.machinist.dev") {
            let label = json!({ "metadata": { "labels": { MOVED: "" } } });
            definitions
                .patch(&name, &PatchParams::default(), &Patch::Merge(&label))
                .await
                .with_context(|| format!("failed to label {name}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_get_the_names_that_kustomize_gives_and_elections_have_none() {
        let binding = json!({
            "kind": "ClusterRoleBinding",
            "metadata": { "name": "manager-rolebinding" },
            "roleRef": { "name": "manager-role" },
            "subjects": [{ "kind": "ServiceAccount", "name": "manager", "namespace": "system" }],
        });
        let aggregated = right(binding.clone(), "capi-system", true).unwrap();
        assert_eq!(aggregated["roleRef"]["name"], "capi-system-aggregated-manager-role");
        let binding = right(binding, "capi-system", false).unwrap();
        assert_eq!(binding["roleRef"]["name"], "capi-system-manager-role");
        assert_eq!(binding["subjects"][0]["namespace"], "capi-system");
        let election = json!({ "kind": "Role", "metadata": { "name": "leader-election-role" } });
        assert!(right(election, "capi-system", false).is_none());
        assert!(right(json!({ "kind": "Kustomization", "resources": [] }), "capi-system", false).is_none());
    }
}
