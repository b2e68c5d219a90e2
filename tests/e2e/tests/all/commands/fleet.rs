//! Deployments, sets and Machines that nobody works on.

use std::fmt::Debug;

use anyhow::{Context, Result};
use e2e::{Lab, manifests};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use machinist_api::{Machine, MachineDeployment, MachineSet};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A kind of the lab's namespace.
pub(super) fn api<K>(lab: &Lab) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(lab.client.clone(), manifests::NAMESPACE)
}

/// Creates an object, and gives its uid.
async fn create<K>(lab: &Lab, value: Value) -> Result<String>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let object: K = serde_json::from_value(value)?;
    let name = object.name_any();
    let made = api::<K>(lab).create(&PostParams::default(), &object).await;
    made.with_context(|| format!("failed to create {} {name}", K::kind(&())))?.uid().context("it has a uid")
}

/// Merges into an object.
pub(super) async fn patch<K>(lab: &Lab, name: &str, patch: &Value) -> Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    api::<K>(lab).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// Merges into the status of an object.
pub(super) async fn status<K>(lab: &Lab, name: &str, status: &Value) -> Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let patch = Patch::Merge(json!({ "status": status }));
    api::<K>(lab).patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn template(class: &str, labels: &Value) -> Value {
    json!({ "metadata": { "labels": labels }, "spec": { "class": { "kind": "MachineClass", "name": class } } })
}

fn owner(kind: &str, (name, uid): (&str, &str)) -> Value {
    json!([{
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": kind, "name": name, "uid": uid, "controller": true,
    }])
}

/// A deployment of a class; gives its uid.
pub(super) async fn deployment(lab: &Lab, name: &str, class: &str, replicas: i32) -> Result<String> {
    let deployment = json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "name": name } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 1 } },
            "template": template(class, &json!({ "name": name })),
        },
    });
    create::<MachineDeployment>(lab, deployment).await
}

/// A set of a deployment, called after it and its class; gives its uid.
pub(super) async fn set(
    lab: &Lab,
    (deployment, uid): (&str, &str),
    class: &str,
    (revision, replicas): (i64, i32),
) -> Result<String> {
    let labels = json!({ "name": deployment, "machine-template-hash": class });
    let set = json!({
        "metadata": {
            "name": format!("{deployment}-{class}"),
            "labels": labels,
            "annotations": {
                "deployment.kubernetes.io/revision": revision.to_string(),
                "kubernetes.io/change-cause": format!("to {class}"),
            },
            "ownerReferences": owner("MachineDeployment", (deployment, uid)),
        },
        "spec": { "replicas": replicas, "selector": { "matchLabels": labels }, "template": template(class, &labels) },
    });
    create::<MachineSet>(lab, set).await
}

/// A Machine of a set in a phase, with what it waits for.
pub(super) async fn machine(
    lab: &Lab,
    set: (&str, &str),
    number: usize,
    phase: &str,
    waits: Option<(&str, &str)>,
) -> Result<()> {
    let name = format!("{}-{number}", set.0);
    let machine = json!({
        "metadata": { "name": name, "ownerReferences": owner("MachineSet", set) },
        "spec": { "class": { "kind": "MachineClass", "name": "any" } },
    });
    create::<Machine>(lab, machine).await?;
    let conditions: Vec<Value> = waits.map(|(reason, message)| ready(reason, message)).into_iter().collect();
    let said = json!({
        "currentStatus": { "phase": phase, "lastUpdateTime": "2026-01-01T00:00:00Z" },
        "machinist": { "conditions": conditions },
    });
    status::<Machine>(lab, &name, &said).await
}

/// Our condition of an object that waits.
pub(super) fn ready(reason: &str, message: &str) -> Value {
    json!({
        "type": "Ready", "status": "False", "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}
