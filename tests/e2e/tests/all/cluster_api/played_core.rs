//! The part of Cluster API's core and of its bootstrap provider: objects as they make and change them.

use anyhow::{Context, Result};
use e2e::Lab;
use e2e::cluster_api::{install_folders, install_provider};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_api::infrastructure::cluster_api::{OwnerCluster, OwnerMachine};
use machinist_api::infrastructure::{MachinistCluster, MachinistMachine};
use serde_json::{Value, json};

/// The namespace of the workload cluster.
pub(super) const TEAM: &str = "team";

/// Objects of a kind in the workload cluster's namespace.
pub(super) fn all<K>(client: &Client) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), TEAM)
}

/// Installs the kinds and rights of the provider, and those of Cluster API's own kinds that the host reads, without
/// their schemas.
pub(super) async fn install(lab: &Lab) -> Result<()> {
    install_provider(&lab.plane).await?;
    install_core(lab, &[("machines", "Machine"), ("clusters", "Cluster")]).await?;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": TEAM } });
    lab.plane.apply(&namespace.to_string()).await?;
    Ok(())
}

/// As above, with rights for [`TEAM`] alone.
pub(super) async fn install_for_one_namespace(lab: &Lab) -> Result<()> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": TEAM } });
    lab.plane.apply(&namespace.to_string()).await?;
    install_folders(&lab.plane, &["crds", "rbac-one-namespace", "policies"]).await?;
    install_core(lab, &[("machines", "Machine"), ("clusters", "Cluster")]).await
}

/// Installs kinds of Cluster API's core by plural and kind, without their schemas.
pub(super) async fn install_core(lab: &Lab, kinds: &[(&str, &str)]) -> Result<()> {
    for (plural, kind) in kinds {
        lab.plane.apply(&definition(plural, kind).to_string()).await?;
    }
    Ok(())
}

fn definition(plural: &str, kind: &str) -> Value {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": any, "status": any } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.cluster.x-k8s.io") },
        "spec": {
            "group": "cluster.x-k8s.io",
            "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1beta2",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

pub(super) fn meta(name: &str) -> Value {
    json!({ "name": name, "namespace": TEAM, "labels": { "cluster.x-k8s.io/cluster-name": "c" } })
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "apiGroup": "infrastructure.machinist.dev", "kind": kind, "name": name })
}

/// Creates an object as JSON: what our types do not know must reach the server too.
pub(super) async fn create<K>(client: &Client, mut object: Value) -> Result<DynamicObject>
where
    K: kube::Resource<DynamicType = ()>,
{
    let kind = ApiResource::erase::<K>(&());
    object["apiVersion"] = json!(kind.api_version);
    object["kind"] = json!(kind.kind);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), TEAM, &kind);
    let made = api.create(&PostParams::default(), &serde_json::from_value(object)?).await;
    made.with_context(|| format!("failed to create a {}", kind.kind))
}

async fn create_secret(client: &Client, name: &str, data: &Value) -> Result<()> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), TEAM, &kind);
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": meta(name),
        "stringData": data,
    });
    api.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
    Ok(())
}

fn owner(object: &DynamicObject, kind: &str) -> Value {
    json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "name": object.metadata.name,
        "uid": object.metadata.uid,
    }])
}

/// Cluster `c` with its MachinistCluster and the credentials of the cloud.
pub(super) async fn add_cluster(client: &Client, token: &str) -> Result<()> {
    create_secret(client, "account", &json!({ "token": token })).await?;
    let spec = json!({ "infrastructureRef": reference("MachinistCluster", "c") });
    let cluster = create::<OwnerCluster>(client, json!({ "metadata": meta("c"), "spec": spec })).await?;
    let mut metadata = meta("c");
    metadata["ownerReferences"] = owner(&cluster, "Cluster");
    let spec = json!({ "identityRef": { "kind": "Secret", "name": "account" } });
    create::<MachinistCluster>(client, json!({ "metadata": metadata, "spec": spec })).await?;
    Ok(())
}

/// Copies that the infrastructure of the Cluster is provided.
pub(super) async fn provide_cluster(client: &Client) -> Result<()> {
    let status = json!({ "initialization": { "infrastructureProvisioned": true } });
    report::<OwnerCluster>(client, "c", &status).await
}

/// Merges into the status of an object.
pub(super) async fn report<K>(client: &Client, name: &str, status: &Value) -> Result<()>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let patch = Patch::Merge(json!({ "status": status }));
    all::<K>(client).patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// A Machine with its bootstrap data and its MachinistMachine.
pub(super) async fn add_machine(client: &Client, name: &str, spec: &Value) -> Result<()> {
    add_machine_with(client, name, spec, "#cloud-config").await
}

/// As above, with this bootstrap data.
pub(super) async fn add_machine_with(client: &Client, name: &str, spec: &Value, boot: &str) -> Result<()> {
    let data = format!("{name}-data");
    create_secret(client, &data, &json!({ "value": boot, "format": "cloud-config" })).await?;
    let of_machine = json!({
        "clusterName": "c",
        "bootstrap": { "dataSecretName": data },
        "infrastructureRef": reference("MachinistMachine", name),
    });
    let machine =
        create::<OwnerMachine>(client, json!({ "metadata": meta(name), "spec": of_machine })).await?;
    let mut metadata = meta(name);
    metadata["ownerReferences"] = owner(&machine, "Machine");
    create::<MachinistMachine>(client, json!({ "metadata": metadata, "spec": spec })).await?;
    Ok(())
}
