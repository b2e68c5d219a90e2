//! Objects that machine-controller-manager works with are accepted, however unusual they are.

use anyhow::{Context, Result};
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::objects::{updated_in_place, valid, with};
use super::{NAMESPACE, trial};

/// A valid object, and why somebody might think that it is invalid.
fn unusual_but_valid() -> Vec<(&'static str, Value)> {
    let mut rows = Vec::new();
    for kind in ["Machine", "MachineClass", "MachineSet", "MachineDeployment"] {
        rows.push(("the smallest", valid(kind)));
    }
    rows.extend(machines());
    rows.extend(classes());
    rows.extend(sets());
    rows.extend(deployments());
    rows
}

fn machines() -> Vec<(&'static str, Value)> {
    let machine = |changes: &[(&str, Value)]| with(valid("Machine"), changes);
    let empty = json!({ "metadata": { "creationTimestamp": null }, "spec": {} });
    let unknown_taint = json!({ "spec": { "taints": [{ "key": "a", "effect": "Sometimes" }] } });
    vec![
        ("nothing at all: a condition tells", machine(&[("spec", json!({}))])),
        ("no spec: a condition tells", machine(&[("spec", Value::Null)])),
        ("another kind of class", machine(&[("spec.class.kind", json!("AWSMachineClass"))])),
        ("as Go writes an empty node template", machine(&[("spec.nodeTemplate", empty)])),
        ("a taint that no Node takes", machine(&[("spec.nodeTemplate", unknown_taint)])),
        ("what a set hands down as it finds it", machine(&[("spec.drainTimeout", json!("soon"))])),
        ("no end of tries", machine(&[("spec.maxEvictRetries", json!(-1))])),
        ("an empty provider id", machine(&[("spec.providerID", json!(""))])),
    ]
}

fn classes() -> Vec<(&'static str, Value)> {
    let class = |changes: &[(&str, Value)]| with(valid("MachineClass"), changes);
    let reference = json!({ "name": "", "namespace": "" });
    vec![
        ("no node template", class(&[("nodeTemplate", Value::Null)])),
        ("no references", class(&[("provider", json!("")), ("secretRef", json!({}))])),
        ("empty references", class(&[("secretRef", reference.clone()), ("credentialsSecretRef", reference)])),
        ("more of it", class(&[("nodeTemplate.capacity.ephemeral-storage", json!("1.5Ti"))])),
        ("every form of a quantity", class(&[("nodeTemplate.capacity.cpu", json!("3920m"))])),
        ("in powers of ten", class(&[("nodeTemplate.capacity.memory", json!("1e9"))])),
        ("spaces around it", class(&[("nodeTemplate.capacity.memory", json!(" 1Gi "))])),
        ("less than nothing", class(&[("nodeTemplate.capacity.gpu", json!(-1))])),
        ("no architecture", class(&[("nodeTemplate.architecture", Value::Null)])),
        ("fields of others", class(&[("nodeTemplate.price", json!({ "hour": 1 }))])),
    ]
}

fn sets() -> Vec<(&'static str, Value)> {
    let set = |changes: &[(&str, Value)]| with(valid("MachineSet"), changes);
    let expressions = json!({ "matchExpressions": [
        { "key": "a", "operator": "In", "values": ["b", ""] },
        { "key": "a", "operator": "NotIn", "values": ["c"] },
        { "key": "a", "operator": "Exists" },
        { "key": "c", "operator": "DoesNotExist", "values": [] },
    ] });
    vec![
        ("no Machines", set(&[("spec.replicas", json!(0))])),
        (
            "more labels than are selected, and other metadata",
            set(&[(
                "spec.template.metadata",
                json!({
                    "creationTimestamp": null, "annotations": { "a": "b" },
                    "labels": { "pool": "a", "b": "", "example.com/c": "d" },
                }),
            )]),
        ),
        (
            "no labels where none is selected",
            set(&[
                (
                    "spec.selector",
                    json!({ "matchExpressions": [{ "key": "a", "operator": "DoesNotExist" }] }),
                ),
                ("spec.template.metadata", json!({ "labels": {} })),
            ]),
        ),
        ("every operator", set(&[("spec.selector", expressions)])),
        ("everything, which machine-controller-manager takes", set(&[("spec.selector", json!({}))])),
        ("a class that is not used", set(&[("spec.machineClass", json!({ "kind": "", "name": "" }))])),
        (
            "what a deployment hands down as it finds it",
            set(&[("spec.template.spec.drainTimeout", json!("soon"))]),
        ),
        ("less than nothing", set(&[("spec.minReadySeconds", json!(-1))])),
    ]
}

fn deployments() -> Vec<(&'static str, Value)> {
    let deployment = |changes: &[(&str, Value)]| with(valid("MachineDeployment"), changes);
    let rolling = |surge: Value, unavailable: Value| {
        let bounds = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
        deployment(&[("spec.strategy", json!({ "type": "RollingUpdate", "rollingUpdate": bounds }))])
    };
    let left = json!({ "maxSurge": "many", "maxUnavailable": -1, "orchestrationType": "auto" });
    let only = |kind: &str, other: &str| {
        let mut strategy = updated_in_place();
        strategy["rollingUpdate"] = json!({ "maxSurge": 1, "maxUnavailable": 1 });
        strategy["type"] = json!(kind);
        strategy[other] = left.clone();
        deployment(&[("spec.strategy", strategy)])
    };
    let mut rows = vec![
        ("nothing above and nothing below, which counts as one below", rolling(json!(0), json!("0%"))),
        ("more than all", rolling(json!("250%"), json!("150%"))),
        ("numbers as text", rolling(json!("3"), json!("0"))),
        ("spaces around it", rolling(json!(" 25% "), json!("1"))),
        ("zeros before it", rolling(json!("0010%"), json!("00000000000001"))),
        ("a large number", rolling(json!(2_147_483_647), json!("2147483647"))),
        ("no bounds at all", deployment(&[("spec.strategy", json!({ "type": "Recreate" }))])),
        ("in place", deployment(&[("spec.strategy", updated_in_place())])),
        ("what another type left behind", only("Recreate", "rollingUpdate")),
        ("what another type left behind", only("Recreate", "inPlaceUpdate")),
        ("what another type left behind", only("RollingUpdate", "inPlaceUpdate")),
        ("what another type left behind", only("InPlaceUpdate", "rollingUpdate")),
        (
            "no deadline and no history",
            deployment(&[
                ("spec.progressDeadlineSeconds", json!(-1)),
                ("spec.revisionHistoryLimit", json!(-1)),
            ]),
        ),
        ("no such revision: an Event tells", deployment(&[("spec.rollbackTo", json!({ "revision": -4 }))])),
    ];
    for text in
        ["20m", "1h30m", "1.5h", "300ms", "0", "-5s", "+1.s", ".5s", "7µs", "7μs", "2h0m0s", "96h1m1m"]
    {
        rows.push(("a duration", deployment(&[("spec.template.spec.drainTimeout", json!(text))])));
    }
    rows
}

/// Objects of that project are accepted, and so are the samples.
pub(super) async fn all_are_accepted(client: &Client) -> Result<()> {
    for (what, object) in samples()? {
        trial(client, &object).await.with_context(|| format!("{what}: {object}"))?;
    }
    for (what, object) in unusual_but_valid() {
        trial(client, &object).await.with_context(|| format!("{what}: {object}"))?;
    }
    Ok(())
}

/// The objects of our kinds in `deploy/samples`.
fn samples() -> Result<Vec<(String, Value)>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/samples");
    let mut samples = Vec::new();
    for cloud in std::fs::read_dir(folder)? {
        for file in std::fs::read_dir(cloud?.path())? {
            let file = file?.path();
            let text = std::fs::read_to_string(&file)?;
            for document in serde_yaml_ng::Deserializer::from_str(&text) {
                let mut object = Value::deserialize(document)?;
                if object["apiVersion"] == "machine.sapcloud.io/v1alpha1" {
                    object["metadata"]["namespace"] = json!(NAMESPACE);
                    samples.push((file.display().to_string(), object));
                }
            }
        }
    }
    anyhow::ensure!(samples.len() >= 4, "a class and a Machine for each cloud: {samples:?}");
    Ok(samples)
}
