//! Deletion always works, or says what it waits for.

use anyhow::{Context, Result, ensure};
use e2e::{Lab, LabOptions, manifests};
use kube::api::PostParams;
use serde_json::json;

use crate::scene::{
    PLAIN, SIM, delete_plugin, installed, is_gone, patch_class, patch_machine, runs, secrets, soon,
};

async fn is_gone_soon(lab: &Lab, name: &str) -> Result<()> {
    soon(&format!("Machine {name} is gone"), async || {
        Ok(lab.machines().get_opt(name).await?.is_none().then_some(()))
    })
    .await
}

#[tokio::test]
async fn a_machine_whose_creation_never_began_goes_at_once() {
    installed(LabOptions::default(), async |lab, _| {
        lab.create_machine("classless", "nowhere").await?;
        lab.machine_reason("classless", "ClassMissing", "").await?;
        lab.put_class(&manifests::class("keyless", "no-secret")).await?;
        lab.create_machine("keyless", "keyless").await?;
        lab.machine_reason("keyless", "SecretMissing", "").await?;
        lab.put_class(&manifests::class_of("driverless", "sim", "nowhere", &json!({}))).await?;
        lab.create_machine("driverless", "driverless").await?;
        lab.machine_reason("driverless", "DriverNotReady", "").await?;
        let mut invalid = manifests::machine("invalid", "small");
        invalid.spec.health_timeout = Some("soon".into());
        lab.machines().create(&PostParams::default(), &invalid).await?;
        lab.machine_reason("invalid", "InvalidMachine", "").await?;
        for name in ["classless", "keyless", "driverless", "invalid"] {
            let held = lab.machines().get(name).await?.metadata.finalizers;
            ensure!(held.is_none(), "{name} is held by {held:?} before there can be a VM");
            lab.delete_machine(name).await?;
            is_gone_soon(lab, name).await?;
        }
        ensure!(lab.cloud.stats().calls_of("vm.create") == 0, "{:?}", lab.cloud.stats());
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_machine_that_is_stuck_in_its_creation_goes() {
    installed(LabOptions::default(), async |lab, _| {
        let spec = json!({ "zone": "sim-1a", "type": "sim.huge-and-unknown", "image": "linux-1" });
        lab.put_class(&manifests::class_of("wrong", "sim", "sim", &spec)).await?;
        lab.create_machine("stuck", "wrong").await?;
        lab.machine_reason("stuck", "CreationFailed", "sim.huge-and-unknown").await?;
        lab.delete_machine("stuck").await?;
        is_gone(lab, "stuck").await?;
        // A spec that is broken later does not hold what runs.
        runs(lab, "m").await?;
        patch_machine(lab, "m", &json!({ "spec": { "healthTimeout": "soon" } })).await?;
        patch_class(lab, "small", &json!({ "providerSpec": { "type": null, "image": 7 } })).await?;
        lab.delete_machine("m").await?;
        is_gone(lab, "m").await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn deletion_waits_with_a_reason_while_the_class_or_the_secret_of_a_vm_is_gone() {
    installed(LabOptions::default(), async |lab, _| {
        runs(lab, "m").await?;
        // By force: our finalizers hold both.
        patch_class(lab, "small", &json!({ "metadata": { "finalizers": null } })).await?;
        lab.classes().delete("small", &Default::default()).await?;
        e2e::eventually("the class is gone", async || {
            // Finalizers may be added again in between.
            if lab.classes().get_opt("small").await?.is_none() {
                return Ok(Some(()));
            }
            patch_class(lab, "small", &json!({ "metadata": { "finalizers": null } })).await?;
            Ok(None)
        })
        .await?;
        lab.delete_machine("m").await?;
        lab.machine_reason("m", "ClassMissing", "so the VM cannot be removed").await?;
        lab.event("Machine", "m", "ClassMissing", "create it again").await?;
        let machine = lab.machines().get("m").await?;
        ensure!(
            machine.phase().as_str() == "Terminating" && lab.cloud.live_vms().len() == 1,
            "{:?}",
            machine.status
        );
        let operation = serde_json::to_value(machine.status.unwrap_or_default().last_operation)?;
        ensure!(operation["type"] == "Delete" && operation["state"] == "Failed", "{operation}");
        lab.put_class(&manifests::class("small", "other")).await?;
        // The class is there again, its Secret is not: the cloud cannot be asked without a token.
        e2e::eventually("deletion says that something else is missing", async || {
            let machine = lab.machines().get("m").await?;
            let own = machine.status.and_then(|status| status.machinist).unwrap_or_default();
            Ok((own.conditions[0].reason != "ClassMissing").then_some(()))
        })
        .await?;
        ensure!(lab.cloud.live_vms().len() == 1, "the VM waits");
        lab.put_secret(&manifests::secret("other", lab.cloud.token())).await?;
        soon("the VM is removed at once", async || Ok(lab.cloud.live_vms().is_empty().then_some(()))).await?;
        is_gone(lab, "m").await
    })
    .await;
}

#[tokio::test]
async fn deletion_waits_for_its_driver_and_goes_on_when_it_is_back() {
    installed(LabOptions::default(), async |lab, _| {
        runs(lab, "m").await?;
        delete_plugin(lab, "sim").await?;
        // Another driver is no help.
        let plain = manifests::plugin_granted("plain", &PLAIN, &json!({}), &json!({}))?;
        lab.put_plugin(&plain).await?;
        lab.plugin_state("plain", "Ready").await?;
        lab.delete_machine("m").await?;
        lab.machine_reason("m", "DriverNotReady", "no plugin serves provider \"sim\"").await?;
        ensure!(lab.cloud.live_vms().len() == 1, "the VM waits");
        lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
        lab.plugin_state("sim", "Ready").await?;
        soon("the VM is removed at once", async || Ok(lab.cloud.live_vms().is_empty().then_some(()))).await?;
        is_gone(lab, "m").await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_vm_that_somebody_else_removed_does_not_hold_its_machine() {
    installed(LabOptions::default(), async |lab, _| {
        runs(lab, "m").await?;
        let vm = lab.cloud.live_vms().pop().context("there is a VM")?;
        lab.cloud.kill_vm(&vm.id).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        lab.delete_machine("m").await?;
        is_gone(lab, "m").await?;
        ensure!(secrets(lab).get_opt("sim").await?.is_some(), "the Secret stays, its class is there");
        Ok(())
    })
    .await;
}
