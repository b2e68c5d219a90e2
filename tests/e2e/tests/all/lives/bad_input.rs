//! Objects that contradict themselves, all at once: never a crash, never a lost foreign field, always a condition.

use anyhow::{Context, Result, ensure};
use e2e::{Lab, LabOptions, eventually, manifests};
use kube::api::{Patch, PatchParams, PostParams};
use machinist_api::Machine;
use serde_json::{Value, json};

use crate::scene::{installed, is_running, patch_machine, runs};

/// The annotation that others wrote onto every Machine here. It must be there in the end.
const FOREIGN: &str = "example.com/mine";

/// A Machine of class `small` with these fields of its spec, and with marks of others.
async fn make(lab: &Lab, name: &str, spec: &Value, labels: &Value) -> Result<Machine> {
    let mut machine = serde_json::to_value(manifests::machine(name, "small"))?;
    machine["metadata"]["finalizers"] = json!([FOREIGN]);
    machine["metadata"]["annotations"] =
        json!({ FOREIGN: "kept", "machinist.dev/create-intent": "no time at all" });
    machine["metadata"]["labels"] = labels.clone();
    machine["metadata"]["labels"][FOREIGN] = json!("kept");
    machine["spec"]["nodeTemplate"]["metadata"]["generateName"] = json!("kept");
    for (field, value) in spec.as_object().context("a spec has fields")? {
        machine["spec"][field] = value.clone();
    }
    // As JSON: what our types do not know must reach the server too.
    let object: kube::core::DynamicObject = serde_json::from_value(machine)?;
    let kind = kube::discovery::ApiResource::erase::<Machine>(&());
    let api: kube::Api<kube::core::DynamicObject> =
        kube::Api::namespaced_with(lab.client.clone(), manifests::NAMESPACE, &kind);
    let made = api
        .create(&PostParams::default(), &object)
        .await
        .with_context(|| format!("failed to create {name}"))?;
    Ok(serde_json::from_value(serde_json::to_value(made)?)?)
}

/// Writes into the status of a Machine, as somebody who should not.
async fn put_status(lab: &Lab, name: &str, status: &Value) -> Result<()> {
    let patch = Patch::Merge(json!({ "status": status }));
    lab.machines().patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Waits until the Machine's condition Ready has a reason and a message, and answers both.
async fn condition(lab: &Lab, name: &str) -> Result<String> {
    eventually(&format!("Machine {name} has a condition"), async || {
        let own =
            lab.machines().get(name).await?.status.and_then(|status| status.machinist).unwrap_or_default();
        let ready = own.conditions.into_iter().find(|condition| condition.type_ == "Ready");
        let said = ready.map(|ready| format!("{}: {}", ready.reason, ready.message));
        Ok(said.filter(|said| !said.ends_with(": ")))
    })
    .await
}

#[tokio::test]
async fn objects_that_contradict_themselves_get_a_condition_and_lose_nothing() {
    installed(LabOptions::default(), async |lab, host| {
        let honest = runs(lab, "honest").await?;
        let vm = honest.provider_id().context("it has a VM")?.to_owned();
        let node = honest.metadata.labels.clone().unwrap_or_default()["node"].clone();
        let names = make_all(lab, &vm, &node).await?;
        words(lab, "words").await?;
        words(lab, "honest").await?;

        // Both are reported, with the fix.
        for name in ["honest", "same-vm"] {
            contested(lab, name).await?;
        }
        // A label that was there and is taken away comes back.
        patch_machine(lab, "honest", &json!({ "metadata": { "labels": { "node": null } } })).await?;
        eventually("the label is back", async || {
            let labels = lab.machines().get("honest").await?.metadata.labels.unwrap_or_default();
            Ok((labels.get("node") == Some(&node)).then_some(()))
        })
        .await?;
        is_running(lab, "honest").await?;

        for name in &names {
            let said = condition(lab, name).await?;
            let machine = lab.machines().get(name).await?;
            let labels = machine.metadata.labels.clone().unwrap_or_default();
            let annotations = machine.metadata.annotations.clone().unwrap_or_default();
            let kept = json!(labels.get(FOREIGN)) == "kept" && json!(annotations.get(FOREIGN)) == "kept";
            ensure!(kept, "{name} ({said}) has lost what is not ours: {:?}", machine.metadata);
            let template = serde_json::to_value(&machine.spec.node_template)?;
            ensure!(template["metadata"]["generateName"] == "kept", "{name}: {template}");
        }
        for (name, part) in [("durations", "is no duration"), ("negative", "must not be negative")] {
            let said = condition(lab, name).await?;
            ensure!(said.contains(part), "{name} should name its field: {said}");
        }
        ensure!(
            lab.cloud.live_vms().iter().any(|live| vm.ends_with(live.id.as_str())),
            "the honest VM lives"
        );
        deleted(lab, &names).await?;
        ensure!(
            lab.cloud.live_vms().iter().any(|live| vm.ends_with(live.id.as_str())),
            "the honest VM outlives liars"
        );
        is_running(lab, "honest").await?;
        let metrics = host.metrics().await?;
        ensure!(metrics.sum("machinist_pass_panics_total", &[]) == 0.0, "no pass panicked");
        ensure!(host.log_lines("ERROR").is_empty(), "{:?}", host.log_lines("ERROR"));
        Ok(())
    })
    .await;
}

/// Waits until the Machine says that others claim its VM, and what is to be done.
async fn contested(lab: &Lab, name: &str) -> Result<()> {
    eventually(&format!("Machine {name} says that its VM is contested"), async || {
        let own =
            lab.machines().get(name).await?.status.and_then(|status| status.machinist).unwrap_or_default();
        let condition = own.conditions.into_iter().find(|condition| condition.type_ == "Contested");
        Ok(condition
            .filter(|condition| condition.status == "True" && condition.message.contains("spec.providerID"))
            .map(drop))
    })
    .await
}

/// Each of them is wrong in its own way.
async fn make_all(lab: &Lab, vm: &str, node: &str) -> Result<Vec<&'static str>> {
    let none = json!({});
    make(lab, "words", &none, &none).await?;
    make(lab, "durations", &json!({ "drainTimeout": "soon", "machinePreserveTimeout": "1 week" }), &none)
        .await?;
    make(lab, "negative", &json!({ "maxEvictRetries": -5, "healthTimeout": "-5m" }), &none).await?;
    // The Node and the VM of another Machine.
    make(lab, "same-node", &none, &json!({ "node": node })).await?;
    make(lab, "same-vm", &json!({ "providerID": vm }), &json!({ "node": node })).await?;
    make(lab, "foreign-vm", &json!({ "providerID": "other:///zone/i-1" }), &none).await?;
    Ok(vec!["words", "durations", "negative", "same-node", "same-vm", "foreign-vm"])
}

/// Words in the status that nobody knows.
async fn words(lab: &Lab, name: &str) -> Result<()> {
    let status = json!({
        "currentStatus": { "phase": "Sleeping", "lastUpdateTime": null },
        "lastOperation": { "type": "Reticulate", "state": "Weird", "description": "Splines. Begin again from the end" },
        "lastKnownState": "{",
    });
    put_status(lab, name, &status).await
}

/// Deletes them; what is not ours holds them until it is taken off.
async fn deleted(lab: &Lab, names: &[&str]) -> Result<()> {
    for name in names {
        lab.delete_machine(name).await?;
    }
    // Its deletion is held, since another Machine lives on the VM, until the claim is given up as it asks for.
    eventually("the deletion of same-vm is held", async || {
        let said = condition(lab, "same-vm").await?;
        Ok((said.starts_with("VmContested") && said.contains("take spec.providerID off")).then_some(()))
    })
    .await?;
    patch_machine(lab, "same-vm", &json!({ "spec": { "providerID": null } })).await?;
    for name in names {
        let what = format!("only the finalizer of others holds {name}");
        let waited = eventually(&what, async || {
            let left = lab.machines().get(name).await?.metadata.finalizers.unwrap_or_default();
            Ok((left == [FOREIGN]).then_some(()))
        });
        if let Err(error) = waited.await {
            return Err(error.context(format!("it says {}", condition(lab, name).await?)));
        }
        patch_machine(lab, name, &json!({ "metadata": { "finalizers": null } })).await?;
    }
    Ok(())
}
