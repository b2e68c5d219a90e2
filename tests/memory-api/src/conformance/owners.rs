//! The questions about what owns others and is scaled.

use http::Method;
use serde_json::{Value, json};

use super::Asker;

type OwnerStepResult = Result<(), kube::Error>;

const SETS: &str = "/apis/machine.sapcloud.io/v1alpha1/namespaces/conformance/machinesets";
const DEPLOYMENTS: &str = "/apis/machine.sapcloud.io/v1alpha1/namespaces/conformance/machinedeployments";
const REASON: &[&str] = &["/reason"];

fn set(name: &str, finalizers: &Value) -> Option<Value> {
    Some(json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineSet",
        "metadata": { "name": name, "finalizers": finalizers },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } }, "spec": { "class": { "kind": "MachineClass", "name": "c" } },
            },
        },
        "status": { "replicas": 7 },
    }))
}

/// Scaling by the subresource: a generation more, and nothing of it in the status.
pub(super) async fn scales(asker: &mut Asker) -> OwnerStepResult {
    asker.part("scales");
    let shown = ["/kind", "/apiVersion", "/metadata/name", "/spec/replicas", "/status/replicas", "/reason"];
    let scaled = ["/metadata/generation", "/spec/replicas", "/status/replicas"];
    asker.ask(Method::POST, SETS, set("s", &json!([])), &scaled).await?;
    let path = format!("{SETS}/s/scale");
    let scale = asker.ask(Method::GET, &path, None, &shown).await?;
    asker.remember("version", &scale, "/metadata/resourceVersion");
    let to = |replicas: i64| Some(json!({ "spec": { "replicas": replicas } }));
    asker.ask(Method::PATCH, &path, to(3), &shown).await?;
    asker.ask(Method::GET, &format!("{SETS}/s"), None, &scaled).await?;
    let put = |version: &str, replicas: i64| {
        Some(json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": { "name": "s", "namespace": "conformance", "resourceVersion": version },
            "spec": { "replicas": replicas },
        }))
    };
    asker.ask(Method::PUT, &path, put("{version}", 4), &shown).await?;
    let scale = asker.ask(Method::GET, &path, None, &shown).await?;
    asker.remember("version", &scale, "/metadata/resourceVersion");
    asker.ask(Method::PUT, &path, put("{version}", 5), &shown).await?;
    let counted = json!({ "status": { "replicas": 5 } });
    asker.ask(Method::PATCH, &format!("{SETS}/s/status"), Some(counted), &scaled).await?;
    asker.ask(Method::GET, &path, None, &shown).await?;
    asker.ask(Method::GET, &format!("{SETS}/none/scale"), None, REASON).await?;
    asker.ask(Method::DELETE, &format!("{SETS}/s"), None, REASON).await?;
    Ok(())
}

/// The list of owners is a list like any other: it is replaced as a whole, and another uid does not matter.
pub(super) async fn owners(asker: &mut Asker) -> OwnerStepResult {
    asker.part("owners");
    let shown = [
        "/metadata/ownerReferences/0/name", "/metadata/ownerReferences/0/controller", "/metadata/generation",
    ];
    let owner = |name: &str| {
        json!({
            "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineDeployment", "name": name,
            "uid": "11111111-2222-4333-8444-555555555555", "controller": true, "blockOwnerDeletion": true,
        })
    };
    asker.ask(Method::POST, SETS, set("s", &json!([])), &shown).await?;
    let path = format!("{SETS}/s");
    let adopted = json!({ "metadata": { "ownerReferences": [owner("d")] } });
    asker.ask(Method::PATCH, &path, Some(adopted), &shown).await?;
    let two = json!({ "metadata": { "ownerReferences": [owner("d"), owner("e")] } });
    asker.ask(Method::PATCH, &path, Some(two), &["/reason"]).await?;
    let released = json!({ "metadata": { "ownerReferences": [] } });
    asker.ask(Method::PATCH, &path, Some(released), &shown).await?;
    asker.ask(Method::DELETE, &path, None, REASON).await?;
    Ok(())
}

/// The fate of dependents is a finalizer, which the garbage collector removes.
pub(super) async fn deletions(asker: &mut Asker) -> OwnerStepResult {
    asker.part("deletions of owners");
    let shown = ["/kind", "/reason", "/metadata/finalizers", "/metadata/generation"];
    let with = |policy: &str| {
        Some(json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy }))
    };
    let free = json!({ "metadata": { "finalizers": null } });
    for policy in ["Background", "Foreground", "Orphan"] {
        asker.ask(Method::POST, SETS, set("s", &json!(["x/y"])), &[]).await?;
        let path = format!("{SETS}/s");
        asker.ask(Method::DELETE, &path, with(policy), &shown).await?;
        asker.ask(Method::DELETE, &path, None, &shown).await?;
        // A second deletion with another policy counts.
        asker.ask(Method::DELETE, &path, with("Foreground"), &shown).await?;
        asker.ask(Method::DELETE, &path, with("Orphan"), &shown).await?;
        asker.ask(Method::DELETE, &path, with("Background"), &shown).await?;
        asker.ask(Method::PATCH, &path, Some(free.clone()), REASON).await?;
        asker.ask(Method::GET, &path, None, REASON).await?;
    }
    // Without a finalizer of anybody's else: it is held all the same, until the collector has been there.
    asker.ask(Method::POST, SETS, set("s", &json!([])), &[]).await?;
    asker.ask(Method::DELETE, &format!("{SETS}/s"), with("Orphan"), &shown).await?;
    asker.ask(Method::PATCH, &format!("{SETS}/s"), Some(free.clone()), REASON).await?;
    asker.ask(Method::POST, SETS, set("s", &json!(["orphan", "x/y"])), &[]).await?;
    asker.ask(Method::DELETE, &format!("{SETS}/s"), None, &shown).await?;
    asker.ask(Method::PATCH, &format!("{SETS}/s"), Some(free), REASON).await?;
    asker.ask(Method::GET, &format!("{DEPLOYMENTS}/none"), None, REASON).await?;
    Ok(())
}
