//! A Machine's life: from its creation over its Node's health to nothing left.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Cloud, Lab, LabOptions, eventually, manifests};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::names;
use serde_json::{Value, json};
use simcloud::{Capacity, Faults};

use crate::scene::{has_phase, installed, is_gone, is_running, patch_machine, runs, secrets};

fn nodes(lab: &Lab) -> Api<Node> {
    Api::all(lab.client.clone())
}

#[tokio::test]
async fn a_machine_becomes_a_vm_and_a_node_and_leaves_nothing_behind() {
    let mut options = LabOptions::default();
    options.kubelets.boot_delay = Duration::from_secs(2);
    installed(options, async |lab, _| {
        lab.create_machine("m", "small").await?;
        lab.machine_reason("m", "WaitingForNode", "has not joined yet").await?;
        has_phase(lab, "m", "Pending").await?;
        let (_, tokens) = lab.left_in_target().await?;
        ensure!(tokens.len() == 1, "one bootstrap token waits for the Node: {tokens:?}");
        let machine = is_running(lab, "m").await?;
        let (names, tokens) = lab.left_in_target().await?;
        ensure!(tokens.is_empty(), "the token is gone once the Node has joined: {tokens:?}");
        ensure!(lab.cloud.live_vms().len() == 1, "{:?}", lab.cloud.live_vms());
        let node = machine.labels().get(names::labels::NODE).context("the Machine names its Node")?;
        ensure!(names == [node.clone()], "{names:?} is not {node}");
        let provider_id = nodes(lab).get(node).await?.spec.and_then(|spec| spec.provider_id);
        ensure!(
            provider_id.as_deref() == machine.provider_id(),
            "Node and Machine have one VM: {provider_id:?}"
        );
        let status = machine.status.clone().unwrap_or_default();
        ensure!(!status.conditions.is_empty(), "the Node's conditions are copied: {status:?}");
        let operation = serde_json::to_value(&status.last_operation)?;
        ensure!(operation["type"] == "Create" && operation["state"] == "Successful", "{operation}");
        let own = status.machinist.unwrap_or_default();
        ensure!(own.conditions[0].status == "True" && own.attempts.is_none(), "{own:?}");
        lab.event("Machine", "m", "NodeHealthy", "").await?;
        lab.delete_machine("m").await?;
        is_gone(lab, "m").await
    })
    .await;
}

#[tokio::test]
async fn class_and_secret_are_held_while_they_are_used() {
    installed(LabOptions::default(), async |lab, _| {
        let held = |finalizers: &[String], name: &str| finalizers.iter().any(|held| held == name);
        eventually("the Secret is held by its class", async || {
            Ok(held(secrets(lab).get("sim").await?.finalizers(), names::finalizers::SECRET).then_some(()))
        })
        .await?;
        ensure!(
            lab.classes().get("small").await?.finalizers().is_empty(),
            "a class without Machines is free"
        );
        let machine = runs(lab, "m").await?;
        ensure!(held(machine.finalizers(), names::finalizers::MACHINE), "{:?}", machine.finalizers());
        eventually("the class is held by its Machine", async || {
            Ok(held(lab.classes().get("small").await?.finalizers(), names::finalizers::MACHINE).then_some(()))
        })
        .await?;
        // In the worst order: the Secret first, then the class, the Machine last.
        secrets(lab).delete("sim", &Default::default()).await?;
        lab.classes().delete("small", &Default::default()).await?;
        ensure!(lab.classes().get("small").await?.metadata.deletion_timestamp.is_some(), "the class waits");
        ensure!(secrets(lab).get("sim").await?.metadata.deletion_timestamp.is_some(), "the Secret waits");
        lab.delete_machine("m").await?;
        is_gone(lab, "m").await?;
        eventually("class and Secret follow", async || {
            let class = lab.classes().get_opt("small").await?;
            Ok((class.is_none() && secrets(lab).get_opt("sim").await?.is_none()).then_some(()))
        })
        .await
    })
    .await;
}

#[tokio::test]
async fn the_nodes_labels_annotations_and_taints_follow_the_template_and_nothing_else_is_touched() {
    installed(LabOptions::default(), async |lab, _| {
        let mut machine = serde_json::to_value(manifests::machine("m", "small"))?;
        machine["spec"]["nodeTemplate"] = json!({
            "metadata": { "labels": { "pool": "workers", "tier": "gold" }, "annotations": { "team": "blue" } },
            "spec": { "taints": [{ "key": "dedicated", "value": "db", "effect": "NoSchedule" }] },
        });
        lab.machines().create(&PostParams::default(), &serde_json::from_value(machine)?).await?;
        let machine = is_running(lab, "m").await?;
        let name = machine.labels()[names::labels::NODE].clone();
        let node = nodes(lab).get(&name).await?;
        let of = |map: &std::collections::BTreeMap<String, String>, key: &str| map.get(key).cloned().unwrap_or_default();
        let labels = [of(node.labels(), "pool"), of(node.labels(), "tier"), of(node.labels(), names::labels::MACHINE_NAME)];
        ensure!(labels == ["workers", "gold", "m"], "{labels:?}");
        ensure!(of(node.annotations(), "team") == "blue", "{:?}", node.annotations());
        let taints = |node: &Node| serde_json::to_string(&node.spec.clone().unwrap_or_default().taints);
        ensure!(taints(&node)?.contains("dedicated"), "{}", taints(&node)?);
        let foreign = json!({ "metadata": { "labels": { "mine": "stays", "tier": "gold" } } });
        nodes(lab).patch(&name, &PatchParams::default(), &Patch::Merge(foreign)).await?;
        patch_machine(lab, "m", &json!({ "spec": { "nodeTemplate": {
            "metadata": { "labels": { "pool": "others", "tier": null }, "annotations": { "team": null } },
            "spec": { "taints": [] },
        } } }))
        .await?;
        eventually("the Node follows", async || {
            let node = nodes(lab).get(&name).await?;
            let follows = of(node.labels(), "pool") == "others"
                && !node.labels().contains_key("tier")
                && !node.annotations().contains_key("team")
                && !taints(&node)?.contains("dedicated");
            Ok(follows.then_some(()))
        })
        .await?;
        ensure!(of(nodes(lab).get(&name).await?.labels(), "mine") == "stays", "labels of others stay");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_unhealthy_node_makes_its_machine_unknown_then_failed_and_it_recovers() {
    let mut options = LabOptions::default();
    options.kubelets.heartbeat = Duration::from_secs(1);
    options.kubelets.unknown_after = Some(Duration::from_secs(4));
    installed(options, async |lab, _| {
        let mut machine = manifests::machine("m", "small");
        machine.spec.health_timeout = Some("6s".into());
        lab.machines().create(&PostParams::default(), &machine).await?;
        let node = is_running(lab, "m").await?.labels()[names::labels::NODE].clone();

        ensure!(lab.nodes.set_ready(&node, false), "{node} is there");
        let condition = lab.machine_reason("m", "NodeUnhealthy", "Ready is False").await?;
        ensure!(condition.status == "False", "{condition:?}");
        let machine = lab.machines().get("m").await?;
        ensure!(machine.phase().as_str() == "Unknown", "{:?}", machine.status);
        lab.nodes.set_ready(&node, true);
        is_running(lab, "m").await?;

        ensure!(lab.nodes.silence(&node), "{node} is there");
        lab.machine_reason("m", "NodeUnhealthy", "Ready is Unknown").await?;
        let machine = has_phase(lab, "m", "Failed").await?;
        let operation = serde_json::to_value(machine.status.unwrap_or_default().last_operation)?;
        ensure!(operation["type"] == "HealthCheck" && operation["state"] == "Failed", "{operation}");
        lab.event("Machine", "m", "HealthTimedOut", "for longer than 6s").await?;
        ensure!(lab.cloud.live_vms().len() == 1, "the VM is left to whoever replaces the Machine");

        lab.nodes.resume(&node);
        is_running(lab, "m").await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_machine_that_never_joins_fails_and_one_whose_node_is_deleted_goes_with_it() {
    installed(LabOptions::default(), async |lab, _| {
        let faults = Faults { boot_failure_probability: 1.0, ..Faults::default() };
        lab.cloud.set_faults(faults).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let mut machine = manifests::machine("late", "small");
        machine.spec.creation_timeout = Some("4s".into());
        lab.machines().create(&PostParams::default(), &machine).await?;
        has_phase(lab, "late", "Failed").await?;
        lab.event("Machine", "late", "JoinTimedOut", "for longer than 4s").await?;
        lab.cloud.clear_faults();
        lab.delete_machine("late").await?;
        is_gone(lab, "late").await?;

        let machine = runs(lab, "lost").await?;
        nodes(lab).delete(&machine.labels()[names::labels::NODE], &Default::default()).await?;
        lab.event("Machine", "lost", "NodeDeletionFollowed", "since its Node is").await?;
        is_gone(lab, "lost").await
    })
    .await;
}

#[tokio::test]
async fn a_machine_gets_its_vm_in_a_zone_of_the_annotation_if_the_class_s_own_is_full() {
    installed(LabOptions::default(), async |lab, _| {
        let capacity = vec![Capacity { zone: "sim-1a".into(), kind: "*".into(), limit: 0 }];
        let faults = Faults { capacity, ..Faults::default() };
        lab.cloud.set_faults(faults).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let mut class = lab.cloud.class("zoned", "sim");
        let zones = (names::annotations::ZONES.to_owned(), "sim-1b, sim-1c".to_owned());
        class.metadata.annotations = Some([zones].into());
        lab.put_class(&class).await?;
        lab.create_machine("m", "zoned").await?;
        is_running(lab, "m").await?;
        let zones: Vec<String> = lab.cloud.live_vms().into_iter().map(|vm| vm.zone).collect();
        ensure!(zones == ["sim-1b"], "{zones:?}");
        lab.cloud.clear_faults();
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn kubectl_shows_status_node_and_provider_id() {
    installed(LabOptions::default(), async |lab, _| {
        let machine = runs(lab, "m").await?;
        let table = table(lab, "machines").await?;
        let row = table["rows"][0]["cells"].as_array().context("one row")?;
        let cell = |column: &str| {
            let columns = table["columnDefinitions"].as_array()?;
            row.get(columns.iter().position(|definition| definition["name"] == column)?)?.as_str()
        };
        ensure!(cell("Name") == Some("m") && cell("Status") == Some("Running"), "{table}");
        ensure!(cell("Node") == machine.labels().get(names::labels::NODE).map(String::as_str), "{table}");
        ensure!(cell("ProviderID") == machine.provider_id() && cell("Age").is_some(), "{table}");
        let by_short_name = lab.machines().list(&ListParams::default()).await?.items.len();
        ensure!(by_short_name == 1, "{by_short_name}");
        Ok(())
    })
    .await;
}

/// As kubectl asks for it.
async fn table(lab: &Lab, plural: &str) -> Result<Value> {
    let path = format!("/apis/{}/namespaces/{}/{plural}", names::API_VERSION, manifests::NAMESPACE);
    let request = http::Request::get(path)
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())?;
    Ok(serde_json::from_str(&lab.client.request_text(request).await?)?)
}
