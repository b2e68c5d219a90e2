//! The command `machinist tree`.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use e2e::{Lab, LabOptions, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;
use machinist_api::{Machine, MachineDeployment, MachineSet};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::fleet::{deployment, machine, ready, set, status};
use super::{plugin, refused, refuses, run, says};
use crate::scene::in_lab;

#[tokio::test]
async fn deployments_are_shown_as_trees_also_by_kubectl() {
    in_lab(LabOptions::default(), story).await;
}

async fn story(lab: &Lab) -> Result<()> {
    says(lab, &["tree"], &["No MachineDeployments, MachineSets or Machines in namespace machinist-system"])
        .await?;
    rollout(lab).await?;
    says(
        lab,
        &["tree"],
        &[
            "machinedeployment/workers  rolling: 2 of 3 updated, 3 available, 4 there; revision 2; RollingUpdate\n",
            "│  WaitingForMachines (",
            "├─ machineset/workers-large  new  revision 2  class large  2 wanted, 1 available\n",
            "│  ├─ machine/workers-large-1  Running ",
            "│  └─ machine/workers-large-2  Pending ",
            "n2 has not joined yet\n",
            "└─ machineset/workers-small  old  revision 1  class small  2 wanted, 2 available\n",
            "   └─ 2 × Running\n",
        ],
    )
    .await?;
    let one = says(lab, &["tree", "mcs/workers-small"], &["machineset/workers-small", "2 × Running"]).await?;
    ensure!(!one.contains("large"), "only what was asked for is shown:\n{one}");
    let json: Value = serde_json::from_str(&says(lab, &["tree", "workers", "-o", "json"], &[]).await?)?;
    let waits = &json["deployments"][0]["sets"][0]["machines"][1]["notes"][0];
    ensure!(waits["reason"] == "WaitingForNode", "{json}");

    refuses(lab, &["tree", "worker"], "did you mean workers?").await?;
    refuses(lab, &["tree", "mcs/x"], "there is no MachineSet x in namespace machinist-system").await?;
    refuses(lab, &["tree", "workers", "-n", "default"], "it has no MachineDeployments at all").await?;
    refuses(lab, &["tree", "pod/x"], "only MachineDeployments, MachineSets and Clusters have trees").await?;
    let nobody = lab.plane.kubeconfig_for("nobody", &[])?;
    let words = ["tree"];
    let done = run(e2e::binary()?, &nobody, &words).await?;
    refused(&words, &done, "ask an administrator for list (and for --watch watch) on machinedeployments")?;

    followed(lab).await?;
    plugin::story(lab).await?;
    without_kinds(lab).await
}

/// Half of a rollout from class small to class large.
async fn rollout(lab: &Lab) -> Result<()> {
    let uid = deployment(lab, "workers", "large", 3).await?;
    let workers = ("workers", uid.as_str());
    let small = set(lab, workers, "small", (1, 2)).await?;
    let large = set(lab, workers, "large", (2, 2)).await?;
    for number in 1..=2 {
        machine(lab, ("workers-small", &small), number, "Running", None).await?;
    }
    machine(lab, ("workers-large", &large), 1, "Running", None).await?;
    let waits = Some(("WaitingForNode", "n2 has not joined yet"));
    machine(lab, ("workers-large", &large), 2, "Pending", waits).await?;
    let said = json!({
        "observedGeneration": 1, "replicas": 4, "updatedReplicas": 2, "availableReplicas": 3,
        "machinist": { "conditions": [ready("WaitingForMachines", "waits for 1 Machines")] },
    });
    status::<MachineDeployment>(lab, "workers", &said).await
}

/// A change is printed when it comes, and the end when what is followed is gone.
async fn followed(lab: &Lab) -> Result<()> {
    let mut child = Command::new(e2e::binary()?)
        .args(["tree", "workers", "--watch", "-o", "json"])
        .env("KUBECONFIG", lab.plane.admin_kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
    let first: Value = serde_json::from_str(&lines.next_line().await?.context("it prints at once")?)?;
    ensure!(first["deployments"][0]["rollout"]["available"] == 3, "{first}");
    let running = json!({ "currentStatus": { "phase": "Running" }, "machinist": null });
    status::<Machine>(lab, "workers-large-2", &running).await?;
    let second: Value = serde_json::from_str(&lines.next_line().await?.context("it prints the change")?)?;
    ensure!(second["deployments"][0]["rollout"]["available"] == 4, "{second}");
    super::fleet::api::<MachineDeployment>(lab).delete("workers", &DeleteParams::default()).await?;
    ensure!(lines.next_line().await?.is_none(), "there is nothing more to show");
    let done = child.wait_with_output().await?;
    refused(&["tree", "--watch"], &done, "there is no MachineDeployment workers")?;
    // Its former Machines belong to nobody, and are shown.
    says(
        lab,
        &["tree"],
        &["machineset/workers-large  of MachineDeployment workers, which is not there  revision 2"],
    )
    .await?;
    let sets = super::fleet::api::<MachineSet>(lab);
    sets.delete("workers-large", &DeleteParams::default()).await?;
    says(
        lab,
        &["tree"],
        &[
            "Machines without a MachineSet\n├─ machine/workers-large-1",
            "of MachineSet workers-large, which is not there",
        ],
    )
    .await?;
    Ok(())
}

async fn without_kinds(lab: &Lab) -> Result<()> {
    let kinds: Api<CustomResourceDefinition> = Api::all(lab.client.clone());
    kinds.delete("machinedeployments.machine.sapcloud.io", &DeleteParams::default()).await?;
    eventually("the kind is gone", async || {
        let words = ["rollout", "status", "workers"];
        let done = super::machinist(lab, &words).await?;
        Ok(refused(&words, &done, "this cluster does not know the kind; install the CRDs of deploy/crds")
            .ok())
    })
    .await?;
    refuses(lab, &["tree"], "this cluster does not know the kind; install the CRDs of deploy/crds").await
}
