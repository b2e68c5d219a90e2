//! A missing prerequisite of a Machine: the Machine reports it, and continues at once when it appears.

use anyhow::{Result, ensure};
use e2e::{Kinds, Lab, LabOptions, manifests};
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::scene::{installed, is_running, patch_class, patch_machine, secrets, soon};

/// The Machine waits for this reason, and everyone can see it: condition, Event, phase and operation.
async fn waits(lab: &Lab, name: &str, reason: &str, part: &str) -> Result<()> {
    let condition = lab.machine_reason(name, reason, part).await?;
    ensure!((condition.type_.as_str(), condition.status.as_str()) == ("Ready", "False"), "{condition:?}");
    lab.event("Machine", name, reason, part).await?;
    let machine = lab.machines().get(name).await?;
    let status = machine.status.clone().unwrap_or_default();
    ensure!(machine.phase().as_str() == "CrashLoopBackOff", "{status:?}");
    let operation = serde_json::to_value(&status.last_operation)?;
    ensure!(operation["type"] == "Create" && operation["state"] == "Failed", "{operation}");
    let own = status.machinist.unwrap_or_default();
    ensure!(own.attempts.is_some() && own.next_attempt.is_some(), "it says when it tries again: {own:?}");
    ensure!(lab.cloud.live_vms().is_empty(), "nothing is made");
    Ok(())
}

/// Once it is fixed, the Machine continues at once and not at the end of its back-off; then it runs.
async fn goes_on(lab: &Lab, name: &str) -> Result<()> {
    soon("the Machine goes on at once", async || Ok(lab.machines().get(name).await?.provider_id().map(drop)))
        .await?;
    is_running(lab, name).await?;
    lab.delete_machine(name).await?;
    lab.no_machines().await
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_machine_waits_for_its_class_and_for_the_classs_secret() {
    installed(LabOptions::default(), async |lab, _| {
        lab.create_machine("no-class", "later").await?;
        waits(lab, "no-class", "ClassMissing", "MachineClass later does not exist").await?;
        lab.put_class(&manifests::class("later", "sim")).await?;
        goes_on(lab, "no-class").await?;

        lab.put_class(&manifests::class("keyless", "key")).await?;
        lab.create_machine("no-secret", "keyless").await?;
        waits(lab, "no-secret", "SecretMissing", "/key of the MachineClass does not exist").await?;
        let whole = manifests::secret("key", lab.cloud.token());
        let mut empty = whole.clone();
        empty.data.get_or_insert_default().remove("userData");
        lab.put_secret(&empty).await?;
        waits(lab, "no-secret", "UserDataMissing", "has no key userData").await?;
        let mut there = secrets(lab).get("key").await?;
        there.data = whole.data;
        secrets(lab).replace("key", &PostParams::default(), &there).await?;
        goes_on(lab, "no-secret").await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_class_that_cannot_be_used_is_named_with_what_is_wrong() {
    let spec = json!({ "zone": "sim-1a", "type": "sim.small", "image": "linux-1" });
    let broken: [(&str, Value, Value, &str, &str); 4] = [
        (
            "unknown",
            json!({ "provider": "nowhere" }),
            json!({ "provider": "sim" }),
            "DriverNotReady",
            "no plugin serves provider \"nowhere\"",
        ),
        (
            "none",
            json!({ "provider": null }),
            json!({ "provider": "sim" }),
            "ClassInvalid",
            "provider is required",
        ),
        (
            "typeless",
            json!({ "providerSpec": { "type": null } }),
            json!({ "providerSpec": spec }),
            "ClassInvalid",
            "providerSpec.type is required",
        ),
        (
            "unnamed",
            json!({ "secretRef": null }),
            json!({ "secretRef": { "name": "sim", "namespace": manifests::NAMESPACE } }),
            "SecretMissing",
            "names no Secret",
        ),
    ];
    installed(LabOptions::default(), async move |lab, _| {
        for (name, breaks, repairs, reason, part) in broken {
            let mut class = serde_json::to_value(manifests::class(name, "sim"))?;
            merge(&mut class, &breaks);
            lab.put_class(&serde_json::from_value(class)?).await?;
            lab.create_machine(name, name).await?;
            waits(lab, name, reason, part).await?;
            patch_class(lab, name, &repairs).await?;
            goes_on(lab, name).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_machine_that_cannot_be_understood_says_which_field() {
    // As it was stored before there were rules.
    installed(LabOptions { kinds: Kinds::OwnWithoutRules, ..LabOptions::default() }, async |lab, _| {
        let cases = [
            (
                "timeless",
                json!({ "healthTimeout": "soon" }),
                json!({ "healthTimeout": null }),
                "spec.healthTimeout is no duration",
            ),
            (
                "nameless",
                json!({ "class": { "name": "" } }),
                json!({ "class": { "name": "small" } }),
                "spec.class.name is required",
            ),
        ];
        for (name, breaks, repairs, part) in cases {
            let mut machine = serde_json::to_value(manifests::machine(name, "small"))?;
            merge(&mut machine["spec"], &breaks);
            lab.machines().create(&PostParams::default(), &serde_json::from_value(machine)?).await?;
            waits(lab, name, "InvalidMachine", part).await?;
            patch_machine(lab, name, &json!({ "spec": repairs })).await?;
            goes_on(lab, name).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_wrong_token_is_reported_and_a_right_one_is_used_at_once() {
    installed(LabOptions::default(), async |lab, _| {
        lab.put_secret(&manifests::secret("wrong", "not-the-token")).await?;
        lab.put_class(&manifests::class("locked", "wrong")).await?;
        lab.create_machine("m", "locked").await?;
        waits(lab, "m", "CreationFailed", "Unauthenticated").await?;
        let code = lab.machines().get("m").await?.status.unwrap_or_default().last_operation.error_code;
        ensure!(code.as_deref() == Some("Unauthenticated"), "the autoscaler reads {code:?}");
        let said = serde_json::to_string(&lab.machines().get("m").await?)?
            + &lab.events("Machine", "m").await?.join("\n");
        ensure!(!said.contains("not-the-token"), "the token is told to nobody: {said}");
        let mut there = secrets(lab).get("wrong").await?;
        there.data = manifests::secret("wrong", lab.cloud.token()).data;
        secrets(lab).replace("wrong", &PostParams::default(), &there).await?;
        goes_on(lab, "m").await?;
        lab.classes().delete("locked", &DeleteParams::default()).await?;
        Ok(())
    })
    .await;
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
