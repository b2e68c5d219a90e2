//! `machinist explain machinistmachine/NAME`, with a host, while the test plays Cluster API's core.

use anyhow::{Context, Result, ensure};
use e2e::{Host, Lab, LabOptions, eventually};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use machinist_api::Machine;
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::cluster_api::OwnerCluster;
use machinist_api::infrastructure::core_kinds::CoreMachine;
use serde_json::json;

use super::played::{provider_spec, token};
use super::played_core::{TEAM, add_cluster, add_machine, all, install, provide_cluster, report};
use crate::admin::explain::{explain_as, json_of, refuses, says};
use crate::scene::{SIM, hosted, turn};

/// An account that may read the machines, and nothing that they rest on.
const VIEWERS: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: viewers }
rules:
  - { apiGroups: [infrastructure.machinist.dev], resources: [machinistmachines], verbs: [get] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: viewers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewers }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: viewers }]
";

#[tokio::test]
async fn a_machinist_machine_is_explained_from_its_cluster_to_its_node() {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    install(&lab).await.expect("the kinds are installed");
    hosted(&lab.host_options().with(&["--cluster-api=*"]), async |host| {
        lab.install_driver(&SIM).await?;
        story(&lab, host).await
    })
    .await;
}

async fn story(lab: &Lab, host: &Host) -> Result<()> {
    let address = host.url().trim_start_matches("http://").to_owned();
    let of = |name: &'static str| [name, "-n", TEAM, "--address", &address].map(str::to_owned);
    let explains = async |name: &'static str, parts: &[&str]| {
        let words = of(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        says(lab, &words, parts).await
    };

    // One that waits names the object that it waits for, and the next step.
    add_cluster(&lab.client, &token(lab)?).await?;
    add_machine(&lab.client, "vm", &json!({ "provider": "sim", "providerSpec": provider_spec() })).await?;
    reason(lab, "WaitingForClusterInfrastructureReady").await?;
    let waits = [
        "MachinistMachine team/vm (uid ",
        "State:     Pending since",
        "Awaited:   WaitingForClusterInfrastructureReady, since",
        "looks again in",
        "the VM is created when Cluster c has infrastructure; core takes that over from MachinistCluster c",
        "-- Cluster  c has no infrastructure yet; MachinistCluster c has",
        "ok Machine  vm is without a phase, and its bootstrap data is there",
        "ok spec     provider \"sim\"",
        "ok identity Secret team/account",
        "ok driver   sim ",
        "-- VM       none was asked for",
    ];
    explains("machinistmachine/vm", &waits).await?;

    // One that runs has its VM, Events and calls.
    provide_cluster(&lab.client).await?;
    let id = provided(lab).await?;
    recorded(lab).await?;
    let runs = [
        "State:     Provisioned since",
        "Awaited:   nothing",
        "Cluster API's core waits for a Node whose spec.providerID is",
        "ok Cluster  c has infrastructure",
        &format!("ok VM       {id}, provisioned; its key is "),
        "infrastructure.machinist.dev/machine\n",
        "Ready=True InstanceRunning since",
        "Paused=False NotPaused since",
        "Normal VmRecorded: VM ",
        "CreateMachine",
    ];
    for name in
        ["mim/vm", "vm", "machines.cluster.x-k8s.io/vm", "machinistmachines.infrastructure.machinist.dev/vm"]
    {
        explains(name, &runs).await.with_context(|| format!("as {name}"))?;
    }
    let words = of("machinistmachine/vm");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let explained = json_of(lab, &words).await?;
    ensure!(explained["kind"] == "MachinistMachine" && explained["queue"]["known"] == true, "{explained}");

    // A Machine of the name goes first where no kind is written.
    let help = format!("`machinist explain machinistmachine/vm -n {TEAM}`");
    refuses(lab, &["machine/vm", "-n", TEAM], &help).await?;
    let mcm: Api<Machine> = Api::namespaced(lab.client.clone(), TEAM);
    let machine =
        json!({ "metadata": { "name": "vm" }, "spec": { "class": { "kind": "MachineClass", "name": "x" } } });
    mcm.create(&PostParams::default(), &serde_json::from_value(machine)?).await?;
    says(lab, &["vm", "-n", TEAM], &["Machine team/vm (uid ", "!! class   x does not exist"]).await?;
    mcm.delete("vm", &DeleteParams::default()).await?;
    refuses(lab, &["machinistmachine/v", "-n", TEAM], "did you mean vm?").await?;
    refuses(lab, &["cluster/c", "-n", TEAM], "`machinist tree cluster/c`").await?;

    limited(lab).await?;
    pauses(lab, &explains).await?;
    drains(lab, &explains).await
}

/// Waits until `Ready` has a reason.
async fn reason(lab: &Lab, reason: &str) -> Result<()> {
    eventually(&format!("vm has reason {reason}"), async || {
        let status = all::<MachinistMachine>(&lab.client).get("vm").await?.status.unwrap_or_default();
        Ok(status.conditions.iter().any(|one| one.type_ == "Ready" && one.reason == reason).then_some(()))
    })
    .await
}

/// Waits for the VM, and returns its id.
async fn provided(lab: &Lab) -> Result<String> {
    eventually("vm has its VM", async || {
        let machine = all::<MachinistMachine>(&lab.client).get("vm").await?;
        Ok(machine.provider_id().filter(|_| machine.is_provisioned()).map(str::to_owned))
    })
    .await
}

/// Waits for the Event about the VM.
async fn recorded(lab: &Lab) -> Result<()> {
    let events: Api<Event> = Api::namespaced(lab.client.clone(), TEAM);
    eventually("the VM has its Event", async || {
        let events = events.list(&ListParams::default()).await?.items;
        Ok(events.iter().any(|event| event.reason.as_deref() == Some("VmRecorded")).then_some(()))
    })
    .await
}

/// An account without rights reads which part is missing, and all the rest.
async fn limited(lab: &Lab) -> Result<()> {
    let viewer = lab.plane.kubeconfig_for("viewer", &["viewers"])?;
    lab.plane.apply(VIEWERS).await?;
    let kind = "infrastructure.machinist.dev/machinistmachines";
    lab.plane.wait_until_allowed("viewer", &["viewers"], "get", kind).await?;
    let done = explain_as(&["mim/vm", "-n", TEAM], &viewer).await?;
    let said = String::from_utf8_lossy(&done.stdout);
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for part in
        ["State:     Provisioned", "?? Machine  vm cannot be read", "Events cannot be read", "are not known"]
    {
        ensure!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    Ok(())
}

async fn pauses(lab: &Lab, explains: &impl AsyncFn(&'static str, &[&str]) -> Result<()>) -> Result<()> {
    let pause = async |is_paused: bool| -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": { "paused": is_paused } }));
        all::<OwnerCluster>(&lab.client).patch("c", &PatchParams::default(), &patch).await?;
        eventually("the host has seen it", async || {
            let status = all::<MachinistMachine>(&lab.client).get("vm").await?.status.unwrap_or_default();
            let wanted = if is_paused { "True" } else { "False" };
            Ok(status
                .conditions
                .iter()
                .any(|one| one.type_ == "Paused" && one.status == wanted)
                .then_some(()))
        })
        .await
    };
    pause(true).await?;
    let parts = [
        "State:     Paused since", "take spec.paused off Cluster c", "!! Cluster  c is paused (spec.paused)",
    ];
    explains("mim/vm", &parts).await?;
    pause(false).await
}

/// Core deletes the Machine; it drains the Node before it deletes the MachinistMachine.
async fn drains(lab: &Lab, explains: &impl AsyncFn(&'static str, &[&str]) -> Result<()>) -> Result<()> {
    let machines = all::<CoreMachine>(&lab.client);
    let held = Patch::Merge(json!({ "metadata": { "finalizers": ["machine.cluster.x-k8s.io"] } }));
    machines.patch("vm", &PatchParams::default(), &held).await?;
    machines.delete("vm", &DeleteParams::default()).await?;
    let draining = json!({
        "phase": "Deleting",
        "nodeRef": { "name": "n1" },
        "deletion": { "nodeDrainStartTime": "2026-01-01T00:00:00Z" },
        "conditions": [{
            "type": "Deleting", "status": "True", "reason": "DrainingNode", "message": "Pod shop/a is left",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    });
    report::<CoreMachine>(&lab.client, "vm", &draining).await?;
    let sentence = "Cluster API's core drains its Node since 2026-01-01T00:00:00Z: Pod shop/a is left";
    explains("mim/vm", &[sentence, "then it deletes this object", "ok Node     n1 has joined"]).await?;

    let vms = all::<MachinistMachine>(&lab.client);
    let held =
        json!({ "metadata": { "finalizers": ["infrastructure.machinist.dev/machine", "example.com/mine"] } });
    vms.patch("vm", &PatchParams::default(), &Patch::Merge(held)).await?;
    vms.delete("vm", &DeleteParams::default()).await?;
    eventually("only the finalizer of others is left", async || {
        let left = vms.get("vm").await?.metadata.finalizers.unwrap_or_default();
        Ok((left == ["example.com/mine"]).then_some(()))
    })
    .await?;
    explains("mim/vm", &["Deletion:  asked for", "take their finalizers off: example.com/mine"]).await?;
    let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    vms.patch("vm", &PatchParams::default(), &free).await?;
    machines.patch("vm", &PatchParams::default(), &free).await?;
    ensure!(lab.cloud.live_vms().is_empty(), "no VM is left");
    Ok(())
}
