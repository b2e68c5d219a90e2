//! Health policies on the real control plane: from a ConfigMap to a verdict, and from there to a reboot and a
//! replacement.

use anyhow::{Context, Result, ensure};
use e2e::manifests::NAMESPACE;
use e2e::{Lab, LabOptions};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::admin::explain::says;
use crate::scene::{has_phase, installed, is_running, patch_machine, soon};

/// A policy as an operator would write it.
fn policy(name: &str, mode: &str, settings: &Value) -> Result<ConfigMap> {
    let component = guests::bytes(&format!("policy-{name}"))?;
    let mut map: ConfigMap = serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": NAMESPACE, "labels": { "machinist.dev/plugin": "health-policy" },
        },
        "data": { "policy.yaml": format!("mode: {mode}\n"), "settings.json": settings.to_string() },
    }))?;
    map.binary_data = Some([("plugin.wasm".to_owned(), k8s_openapi::ByteString(component))].into());
    Ok(map)
}

async fn declare(lab: &Lab, name: &str, mode: &str, settings: &Value) -> Result<()> {
    lab.put_plugin(&policy(name, mode, settings)?).await?;
    lab.plugin_state(name, "Ready").await?;
    soon(&format!("policy {name} is in mode {mode}"), async || {
        let status = lab.plugin_status(name).await?.unwrap_or_default();
        Ok((status["serving"] == true && status["held"]["policy"]["mode"] == mode).then_some(()))
    })
    .await
}

/// Reboots at once, and gives them two seconds.
fn ladder() -> Value {
    json!({ "rebootAfterSeconds": 0, "recoverySeconds": 2 })
}

#[tokio::test]
async fn three_policies_tell_then_decide_reboot_then_replace() {
    installed(LabOptions::default(), async |lab, _| {
        declare(lab, "default", "observe", &json!({})).await?;
        declare(lab, "zone", "observe", &json!({ "leastMachines": 2, "recheckSeconds": 1 })).await?;
        declare(lab, "ladder", "observe", &ladder()).await?;
        for name in ["one", "two"] {
            lab.create_machine(name, "small").await?;
            is_running(lab, name).await?;
        }
        // An observing policy reports the action that it would have taken, and the built-in rule applies.
        ensure!(lab.nodes.set_ready("one", false), "the Node is there");
        lab.machine_reason("one", "NodeUnhealthy", "Ready is False").await?;
        lab.machine_reason("one", "PolicyWouldDiffer", "ladder says unhealthy, reboot").await?;
        lab.event("Machine", "one", "PolicyWouldDiffer", "unhealthy, reboot").await?;
        ensure!(lab.cloud.stats().calls_of("vm.reboot") == 0, "nothing was done for it");

        // The zone is silent by half: the breaker decides, and holds.
        declare(lab, "zone", "enforce", &json!({ "leastMachines": 2, "recheckSeconds": 1 })).await?;
        lab.machine_reason("one", "PolicyHolds", "at least 50 % of the Machines in failure domain").await?;
        lab.event("Machine", "one", "PolicyHolds", "policy zone holds").await?;
        let held = "it does not fail before the policies have it replaced";
        says(lab, &["machine/one", "--port", "1"], &["Awaited:   PolicyHolds", held]).await?;
        patch_machine(lab, "one", &json!({ "spec": { "healthTimeout": "1s" } })).await?;

        // A breaker that is calm: the ladder reboots, once, and then the Machine fails.
        // The ladder decides before the breaker lets go, or the time-out of the built-in rule is over first.
        declare(lab, "ladder", "enforce", &ladder()).await?;
        declare(lab, "zone", "enforce", &json!({ "leastMachines": 100, "recheckSeconds": 1 })).await?;
        lab.event("Machine", "one", "VmRebooted", "policy ladder").await?;
        let machine = has_phase(lab, "one", "Failed").await?;
        let annotations = machine.metadata.annotations.context("it has annotations")?;
        ensure!(annotations.contains_key("machinist.dev/reboots"), "{annotations:?}");
        ensure!(lab.cloud.stats().calls_of("vm.reboot") == 1, "one reboot is asked for");
        is_running(lab, "two").await?;

        // One Machine of a deployment is rebooted at a time.
        lab.create_machine("three", "small").await?;
        is_running(lab, "three").await?;
        for name in ["two", "three"] {
            patch_machine(lab, name, &json!({ "metadata": { "labels": { "name": "pool" } } })).await?;
        }
        ensure!(lab.nodes.set_ready("two", false), "the Node is there");
        lab.event("Machine", "two", "VmRebooted", "it does not recover by itself").await?;
        ensure!(lab.nodes.set_ready("three", false), "the Node is there");
        lab.event(
            "Machine",
            "three",
            "RebootHeld",
            "others of its deployment are being replaced or rebooted",
        )
        .await?;
        ensure!(lab.cloud.stats().calls_of("vm.reboot") == 2, "the third waits for its turn");

        for name in ["one", "two", "three"] {
            lab.delete_machine(name).await?;
        }
        lab.no_machines().await
    })
    .await;
}
