//! The requests of the script, by what they ask of a server.

use http::Method;
use serde_json::{Value, json};

use super::Asker;

type StepResult = Result<(), kube::Error>;

const MAPS: &str = "/api/v1/namespaces/conformance/configmaps";
const PODS: &str = "/api/v1/namespaces/conformance/pods";
const MACHINES: &str = "/apis/machine.sapcloud.io/v1alpha1/namespaces/conformance/machines";
const BUDGETS: &str = "/apis/policy/v1/namespaces/conformance/poddisruptionbudgets";
const REASON: &[&str] = &["/reason"];

fn map(name: &str, labels: &Value) -> Option<Value> {
    Some(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": labels }, "data": { "k": "v" },
    }))
}

fn machine(name: &str, finalizers: &Value) -> Option<Value> {
    Some(json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": { "name": name, "finalizers": finalizers },
        "spec": { "class": { "kind": "MachineClass", "name": "small" } },
        "status": { "lastKnownState": "dropped on creation" },
    }))
}

pub(super) async fn objects(asker: &mut Asker) -> StepResult {
    asker.part("objects");
    let shown = ["/kind", "/reason", "/metadata/generation", "/status", "/metadata/finalizers", "/data"];
    asker.ask(Method::POST, MAPS, map("a", &json!({})), &shown).await?;
    asker.ask(Method::POST, MAPS, map("a", &json!({})), REASON).await?;
    asker.ask(Method::GET, &format!("{MAPS}/b"), None, REASON).await?;
    asker.ask(Method::POST, MACHINES, machine("m", &json!(["x/y"])), &shown).await?;
    let shown = ["/metadata/generation", "/spec/providerID", "/status/lastKnownState", "/reason"];
    let both = json!({ "spec": { "providerID": "x" }, "status": { "lastKnownState": "y" } });
    let path = format!("{MACHINES}/m");
    asker.ask(Method::PATCH, &path, Some(both.clone()), &shown).await?;
    let both = json!({ "spec": { "providerID": "z" }, "status": { "lastKnownState": "y" } });
    let answer = asker.ask(Method::PATCH, &format!("{path}/status"), Some(both), &shown).await?;
    asker.remember("version", &answer, "/metadata/resourceVersion");
    // A write without a change makes no version: a write in that version is still accepted.
    let same = json!({ "spec": { "providerID": "x" } });
    asker.ask(Method::PATCH, &path, Some(same), &shown).await?;
    let label = json!({ "metadata": { "resourceVersion": "{version}", "labels": { "l": "1" } } });
    asker.ask(Method::PATCH, &path, Some(label), &shown).await?;
    Ok(())
}

pub(super) async fn preconditions(asker: &mut Asker) -> StepResult {
    asker.part("preconditions");
    let path = format!("{MACHINES}/m");
    let machine = asker.ask(Method::GET, &path, None, &["/metadata/labels"]).await?;
    asker.remember("uid", &machine, "/metadata/uid");
    asker.remember("version", &machine, "/metadata/resourceVersion");
    let other =
        json!({ "metadata": { "uid": "11111111-2222-4333-8444-555555555555", "labels": { "l": "2" } } });
    let causes = ["/reason", "/details/causes/0/field"];
    asker.ask(Method::PATCH, &path, Some(other.clone()), &causes).await?;
    asker.ask(Method::PATCH, &format!("{path}/status"), Some(other), &causes).await?;
    let old = json!({ "metadata": { "resourceVersion": "1", "labels": { "l": "2" } } });
    asker.ask(Method::PATCH, &path, Some(old.clone()), REASON).await?;
    asker.ask(Method::PATCH, &format!("{path}/status"), Some(old), REASON).await?;
    let right =
        json!({ "metadata": { "uid": "{uid}", "resourceVersion": "{version}", "labels": { "l": "2" } } });
    asker.ask(Method::PATCH, &path, Some(right), &["/metadata/labels", "/metadata/generation"]).await?;
    let delete = |preconditions: Value| {
        Some(json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions }))
    };
    let wrong = delete(json!({ "uid": "11111111-2222-4333-8444-555555555555" }));
    asker.ask(Method::DELETE, &path, wrong, REASON).await?;
    asker.ask(Method::DELETE, &path, delete(json!({ "resourceVersion": "1" })), REASON).await?;
    Ok(())
}

pub(super) async fn deletions(asker: &mut Asker) -> StepResult {
    asker.part("finalizers");
    let path = format!("{MACHINES}/m");
    let shown = [
        "/kind", "/reason", "/metadata/finalizers", "/metadata/generation",
        "/metadata/deletionGracePeriodSeconds",
    ];
    asker.ask(Method::DELETE, &path, None, &shown).await?;
    asker.ask(Method::DELETE, &path, None, &shown).await?;
    let more = json!({ "metadata": { "finalizers": ["x/y", "z/z"] } });
    asker.ask(Method::PATCH, &path, Some(more), REASON).await?;
    asker.ask(Method::PATCH, &path, Some(json!({ "metadata": { "finalizers": null } })), REASON).await?;
    asker.ask(Method::GET, &path, None, REASON).await?;
    asker.ask(Method::DELETE, &path, None, REASON).await?;
    asker.ask(Method::DELETE, &format!("{MAPS}/a"), None, REASON).await?;
    asker.ask(Method::GET, &format!("{MAPS}/a"), None, REASON).await?;
    Ok(())
}

pub(super) async fn selectors(asker: &mut Asker) -> StepResult {
    asker.part("selectors and pages");
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "1")] {
        asker.ask(Method::POST, MAPS, map(name, &json!({ "l": label, "t": "x" })), &[]).await?;
    }
    let names =
        ["/kind", "/items/0/metadata/name", "/items/1/metadata/name", "/items/2/metadata/name", "/reason"];
    for query in [
        "labelSelector=t%3Dx,l%3D1",
        "labelSelector=t%3Dx,l!%3D1",
        "labelSelector=t,!m,l%20in%20(2,3)",
        "labelSelector=t%3Dx&fieldSelector=metadata.name%3Dc",
        "fieldSelector=spec.nodeName%3Dc",
    ] {
        asker.ask(Method::GET, &format!("{MAPS}?{query}"), None, &names).await?;
    }
    let page = format!("{MAPS}?labelSelector=t%3Dx&limit=3");
    let answer = asker.ask(Method::GET, &page, None, &names).await?;
    asker.remember("continue", &answer, "/metadata/continue");
    asker.remember("version", &answer, "/metadata/resourceVersion");
    asker.ask(Method::POST, MAPS, map("e", &json!({ "t": "x" })), &[]).await?;
    let rest = format!("{page}&continue={{continue}}");
    asker.ask(Method::GET, &rest, None, &["/items/0/metadata/name", "/metadata/continue", "/reason"]).await?;
    Ok(())
}

pub(super) async fn watches(asker: &mut Asker) -> StepResult {
    asker.part("watches");
    let relabel = json!({ "metadata": { "labels": { "l": "2" } } });
    asker.ask(Method::PATCH, &format!("{MAPS}/a"), Some(relabel), &[]).await?;
    asker.ask(Method::PATCH, &format!("{MAPS}/c"), Some(json!({ "data": { "k": "w" } })), &[]).await?;
    asker.ask(Method::DELETE, &format!("{MAPS}/d"), None, &[]).await?;
    for labels in ["t%3Dx", "l%3D1", "l%3D2"] {
        let query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={version}";
        asker.watch(&format!("{MAPS}?{query}&labelSelector={labels}")).await?;
    }
    Ok(())
}

fn pod(name: &str, node: Option<&str>, grace: i64) -> Option<Value> {
    Some(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "labels": { "app": "a" } },
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": grace, "automountServiceAccountToken": false,
            "containers": [{ "name": "c", "image": "i" }],
        },
    }))
}

pub(super) async fn pods(asker: &mut Asker) -> StepResult {
    asker.part("pods");
    let shown =
        ["/kind", "/metadata/deletionGracePeriodSeconds", "/metadata/generation", "/status/phase", "/reason"];
    for (name, node, grace) in
        [("p1", Some("n1"), 40), ("p2", Some("n2"), 40), ("p3", None, 40), ("p4", Some("n1"), 0)]
    {
        asker.ask(Method::POST, PODS, pod(name, node, grace), &["/status/phase", "/reason"]).await?;
    }
    let names = ["/items/0/metadata/name", "/items/1/metadata/name", "/items/2/metadata/name"];
    asker.ask(Method::GET, &format!("{PODS}?fieldSelector=spec.nodeName%3Dn1"), None, &names).await?;
    asker.ask(Method::GET, &format!("{PODS}?fieldSelector=spec.nodeName!%3Dn1"), None, &names).await?;
    let gone = [shown[1]];
    asker.ask(Method::DELETE, &format!("{PODS}/p1"), None, &gone).await?;
    asker.ask(Method::DELETE, &format!("{PODS}/p1"), None, &gone).await?;
    let within = |seconds: i64| {
        Some(json!({ "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": seconds }))
    };
    asker.ask(Method::DELETE, &format!("{PODS}/p1"), within(7), &gone).await?;
    asker.ask(Method::DELETE, &format!("{PODS}/p1"), within(60), &gone).await?;
    asker.ask(Method::GET, &format!("{PODS}/p1"), None, &[shown[1]]).await?;
    asker.ask(Method::DELETE, &format!("{PODS}/p1"), within(0), &[]).await?;
    asker.ask(Method::GET, &format!("{PODS}/p1"), None, REASON).await?;
    asker.ask(Method::DELETE, &format!("{PODS}/p3"), None, &[]).await?;
    asker.ask(Method::GET, &format!("{PODS}/p3"), None, REASON).await?;
    let ended = json!({ "status": { "phase": "Succeeded" } });
    asker.ask(Method::PATCH, &format!("{PODS}/p2/status"), Some(ended), &["/status/phase"]).await?;
    asker.ask(Method::DELETE, &format!("{PODS}/p2"), None, &[]).await?;
    asker.ask(Method::GET, &format!("{PODS}/p2"), None, REASON).await?;
    asker.ask(Method::DELETE, &format!("{PODS}/p4"), None, &[]).await?;
    Ok(())
}

fn eviction(name: &str) -> Option<Value> {
    Some(json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name, "namespace": "conformance" },
    }))
}

fn budget(name: &str) -> Option<Value> {
    Some(json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": name },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "a" } } },
    }))
}

pub(super) async fn evictions(asker: &mut Asker) -> StepResult {
    asker.part("evictions");
    let refused = [
        "/reason", "/details/causes/0/reason", "/details/causes/0/message", "/details/retryAfterSeconds",
        "/message",
    ];
    let ready =
        json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
    for name in ["p5", "p6", "p7"] {
        asker.ask(Method::POST, PODS, pod(name, Some("n1"), 30), &[]).await?;
        asker.ask(Method::PATCH, &format!("{PODS}/{name}/status"), Some(ready.clone()), &[]).await?;
    }
    asker.ask(Method::POST, BUDGETS, budget("b1"), &["/metadata/generation"]).await?;
    let evict = format!("{PODS}/p5/eviction");
    asker.ask(Method::POST, &evict, eviction("p5"), &refused).await?;
    let allowed = |allowed: i64| {
        Some(json!({ "status": {
            "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 3,
            "expectedPods": 3,
        } }))
    };
    asker.ask(Method::PATCH, &format!("{BUDGETS}/b1/status"), allowed(0), &[]).await?;
    asker.ask(Method::POST, &evict, eviction("p5"), &refused).await?;
    asker.ask(Method::PATCH, &format!("{BUDGETS}/b1/status"), allowed(1), &[]).await?;
    asker.ask(Method::POST, &evict, eviction("p5"), &refused).await?;
    asker.ask(Method::GET, &format!("{PODS}/p5"), None, &["/metadata/deletionGracePeriodSeconds"]).await?;
    asker
        .ask(
            Method::GET,
            &format!("{BUDGETS}/b1"),
            None,
            &["/status/disruptionsAllowed", "/metadata/generation"],
        )
        .await?;
    asker.ask(Method::POST, &format!("{PODS}/p6/eviction"), eviction("p6"), &refused).await?;
    asker.ask(Method::POST, BUDGETS, budget("b2"), &[]).await?;
    asker.ask(Method::POST, &format!("{PODS}/p6/eviction"), eviction("p6"), &refused).await?;
    asker.ask(Method::POST, &format!("{PODS}/p9/eviction"), eviction("p9"), REASON).await?;
    Ok(())
}

pub(super) async fn others(asker: &mut Asker) -> StepResult {
    asker.part("others");
    let shown = ["/reason", "/data", "/metadata/generation", "/status", "/spec/providerID"];
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "stringData": { "a": "b" },
    });
    asker.ask(Method::POST, "/api/v1/namespaces/conformance/secrets", Some(secret), &shown).await?;
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": "conformance" }, "spec": { "providerID": "sim:///a" },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
    });
    asker
        .ask(Method::POST, "/api/v1/nodes", Some(node), &["/spec/providerID", "/status/conditions/0/type"])
        .await?;
    // Built-in kinds compare the uid of every patch, custom ones only that of the main part.
    let other = json!({ "metadata": { "uid": "11111111-2222-4333-8444-555555555555" } });
    let causes = ["/reason", "/details/causes/0/field"];
    for part in ["", "/status"] {
        let path = format!("/api/v1/nodes/conformance{part}");
        asker.ask(Method::PATCH, &path, Some(other.clone()), &causes).await?;
    }
    asker
        .ask(Method::PATCH, "/api/v1/namespaces/conformance/secrets/s", Some(other.clone()), &causes)
        .await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" },
        "spec": { "holderIdentity": "x", "leaseDurationSeconds": 15 },
    });
    let leases = "/apis/coordination.k8s.io/v1/namespaces/conformance/leases";
    let made = asker.ask(Method::POST, leases, Some(lease.clone()), &["/spec/holderIdentity"]).await?;
    asker.remember("version", &made, "/metadata/resourceVersion");
    let mut taken = lease.clone();
    taken["spec"]["holderIdentity"] = json!("y");
    taken["metadata"]["resourceVersion"] = json!("{version}");
    asker.ask(Method::PUT, &format!("{leases}/l"), Some(taken.clone()), &["/spec/holderIdentity"]).await?;
    asker.ask(Method::PUT, &format!("{leases}/l"), Some(taken), REASON).await?;
    let attachment = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": { "name": "conformance" },
        "spec": { "attacher": "x", "nodeName": "n1", "source": { "persistentVolumeName": "pv" } },
    });
    let attachments = "/apis/storage.k8s.io/v1/volumeattachments";
    asker.ask(Method::POST, attachments, Some(attachment), &["/spec/nodeName", "/reason"]).await?;
    let attached = json!({ "status": { "attached": true } });
    asker
        .ask(
            Method::PATCH,
            &format!("{attachments}/conformance/status"),
            Some(attached),
            &["/status/attached"],
        )
        .await?;
    asker.ask(Method::DELETE, &format!("{attachments}/conformance"), None, &[]).await?;
    asker.ask(Method::DELETE, "/api/v1/nodes/conformance", None, &[]).await?;
    asker.ask(Method::PATCH, &format!("{MAPS}/none"), Some(json!({ "data": {} })), REASON).await?;
    Ok(())
}
