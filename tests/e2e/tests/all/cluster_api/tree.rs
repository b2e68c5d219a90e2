//! `machinist tree` with the kinds of both APIs. Nobody works on them: the test writes each state itself.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use e2e::{Lab, LabOptions};
use kube::api::DeleteParams;
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::core_kinds::{CoreCluster, CoreDeployment, CoreMachine, CoreSet};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::played_core::{TEAM, all, create, install, install_core, meta, provide_cluster, report};
use crate::commands::{output_of, refuses, run, says};
use crate::scene::in_lab;

/// An account that may read the kinds of machine-controller-manager alone.
const OPERATORS: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: operators }
rules:
  - { apiGroups: [machine.sapcloud.io], resources: [machinedeployments, machinesets, machines], verbs: [list, watch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: operators }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: operators }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: operators }]
";

/// A MachineDeployment of machine-controller-manager's kind.
const WORKERS: &str = r"
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: { name: workers, namespace: team }
spec:
  replicas: 1
  selector: { matchLabels: { name: workers } }
  strategy: { type: RollingUpdate, rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } }
  template:
    metadata: { labels: { name: workers } }
    spec: { class: { kind: MachineClass, name: small } }
";

#[tokio::test]
async fn clusters_are_shown_as_trees_beside_deployments() {
    in_lab(LabOptions::default(), story).await;
}

async fn story(lab: &Lab) -> Result<()> {
    let operator = lab.plane.kubeconfig_for("operator", &["operators"])?;
    lab.plane.apply(OPERATORS).await?;
    lab.plane.wait_until_allowed("operator", &["operators"], "list", "machine.sapcloud.io/machines").await?;
    let as_operator = async || -> Result<String> {
        let words = ["tree", "-n", TEAM];
        output_of(&words, &run(e2e::binary()?, &operator, &words).await?)
    };

    // Without Cluster API all is as ever, also for an account without rights to it.
    let empty = "No MachineDeployments, MachineSets or Machines in namespace team: choose another with -n.\n";
    ensure!(as_operator().await? == empty, "{}", as_operator().await?);
    let all_of_none = says(lab, &["tree", "-n", TEAM], &[]).await?;
    ensure!(all_of_none == empty, "{all_of_none}");
    refuses(lab, &["tree", "cluster/c", "-n", TEAM], "install the CRDs of deploy/clusterctl/crds").await?;

    install(lab).await?;
    create::<MachinistMachine>(
        &lab.client,
        json!({ "metadata": meta("left-over"), "spec": { "provider": "sim" } }),
    )
    .await?;
    says(
        lab,
        &["tree", "-n", TEAM],
        &["MachinistMachines without a Machine\n└─ machinistmachine/left-over  Pending "],
    )
    .await?;
    install_core(lab, &[("machinedeployments", "MachineDeployment"), ("machinesets", "MachineSet")]).await?;
    pool(lab).await?;
    lab.plane.apply(WORKERS).await?;
    let parts = [
        "machinedeployment/workers  not looked at",
        "cluster/c  provisioned\n",
        "└─ machinedeployment/pool  rolling: 1 of 2 updated, 1 available, 2 there; revision 2; RollingUpdate\n",
        "   ├─ machineset/pool-large  new  revision 2  template large  2 wanted, 0 available\n",
        "machine/pool-large-1  Provisioning ",
        "machinistmachine/pool-large-1  Provisioning",
        "InsufficientCapacity (",
        "   └─ machineset/pool-small  old  revision 1  template small  1 wanted, 1 available\n",
        "machine/pool-small-1  Running ",
        "machinistmachine/pool-small-1  Provisioned ",
        "  VM sim:///1  Node n1\n",
        "MachinistMachines without a Machine\n",
    ];
    says(lab, &["tree", "-n", TEAM], &parts).await?;

    let one = says(lab, &["tree", "machinesets.cluster.x-k8s.io/pool-small", "-n", TEAM], &["  VM sim:///1"])
        .await?;
    ensure!(!one.contains("large") && !one.contains("left-over"), "only what was asked for is shown:\n{one}");
    for name in ["pool", "machinedeployments.cluster.x-k8s.io/pool", "cluster/c"] {
        let said = says(lab, &["tree", name, "-n", TEAM], &["machineset/pool-large"]).await?;
        ensure!(!said.contains("workers") && !said.contains("left-over"), "{name}:\n{said}");
    }
    let help = "write machinedeployments.cluster.x-k8s.io/pool";
    refuses(lab, &["tree", "machinedeployment/pool", "-n", TEAM], help).await?;
    refuses(lab, &["tree", "cluster/d", "-n", TEAM], "its only Cluster c").await?;
    refuses(lab, &["tree", "mim/left-over"], "`machinist explain machinistmachine/left-over`").await?;
    let json: Value =
        serde_json::from_str(&says(lab, &["tree", "cluster/c", "-n", TEAM, "-o", "json"], &[]).await?)?;
    let waits =
        &json["clusterApi"]["clusters"][0]["deployments"][0]["sets"][0]["machines"][0]["infrastructure"];
    ensure!(waits["machinistMachine"]["notes"][0]["reason"] == "InsufficientCapacity", "{json}");

    completed(lab).await?;

    // A missing right is one line, and hides nothing else.
    let said = as_operator().await?;
    let line =
        "The objects of Cluster API's kinds are left out: failed to list MachinistMachines of namespace team";
    ensure!(
        said.contains("machinedeployment/workers")
            && said.lines().last().is_some_and(|last| last.starts_with(line)),
        "{said}"
    );
    let help = "ask an administrator for list (and for --watch watch) on clusters";
    ensure!(said.contains(help), "{said}");
    followed(lab).await
}

/// Names of both APIs are completed.
async fn completed(lab: &Lab) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let completer = folder.path().join("kubectl_complete-machinist");
    std::os::unix::fs::symlink(e2e::binary()?, &completer)?;
    let offers = async |command: &str, begun: &str, expected: &str| -> Result<()> {
        let words = [command, "-n", TEAM, begun];
        let offered = output_of(&words, &run(&completer, &lab.plane.admin_kubeconfig(), &words).await?)?;
        ensure!(offered == expected, "{words:?}: {offered}");
        Ok(())
    };
    offers("tree", "", "cluster/c\npool\nworkers\n:4\n").await?;
    offers("tree", "machinesets.cluster.x-k8s.io/pool-s", "machinesets.cluster.x-k8s.io/pool-small\n:4\n")
        .await?;
    offers(
        "explain",
        "machini",
        "machinistmachine/left-over\nmachinistmachine/pool-large-1\nmachinistmachine/pool-small-1\n:4\n",
    )
    .await?;
    offers("explain", "left", "left-over\n:4\n").await
}

/// A deployment `pool` in the middle of a rollout.
async fn pool(lab: &Lab) -> Result<()> {
    let client = &lab.client;
    create::<CoreCluster>(client, json!({ "metadata": meta("c") })).await?;
    provide_cluster(client).await?;
    let revision = |metadata: Value, revision: &str| {
        let mut metadata = metadata;
        metadata["annotations"] = json!({ "machinedeployment.clusters.x-k8s.io/revision": revision });
        metadata
    };
    let spec =
        json!({ "clusterName": "c", "replicas": 2, "rollout": { "strategy": { "type": "RollingUpdate" } } });
    let deployment =
        create::<CoreDeployment>(client, json!({ "metadata": revision(meta("pool"), "2"), "spec": spec }))
            .await?;
    let observed = json!({ "observedGeneration": deployment.metadata.generation });
    report::<CoreDeployment>(client, "pool", &observed).await?;
    for (template, number, replicas) in [("small", "1", 1), ("large", "2", 2)] {
        let name = format!("pool-{template}");
        let mut metadata = revision(meta(&name), number);
        metadata["ownerReferences"] =
            controlled_by("MachineDeployment", "pool", deployment.metadata.uid.as_deref());
        let reference = json!({ "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistMachineTemplate", "name": template });
        let spec = json!({
            "clusterName": "c", "replicas": replicas, "template": { "spec": { "infrastructureRef": reference } },
        });
        let set = create::<CoreSet>(client, json!({ "metadata": metadata, "spec": spec })).await?;
        machine(lab, &name, set.metadata.uid.as_deref()).await?;
    }
    report::<CoreMachine>(
        client,
        "pool-small-1",
        &json!({ "phase": "Running", "nodeRef": { "name": "n1" } }),
    )
    .await?;
    runs(lab, "pool-small-1", "sim:///1").await?;
    report::<CoreMachine>(client, "pool-large-1", &json!({ "phase": "Provisioning" })).await?;
    let waits = json!({ "conditions": [ready("False", "InsufficientCapacity", "no more")] });
    report::<MachinistMachine>(client, "pool-large-1", &waits).await
}

fn controlled_by(kind: &str, name: &str, uid: Option<&str>) -> Value {
    json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "name": name, "uid": uid, "controller": true,
    }])
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// The first Machine of a set, with its MachinistMachine.
async fn machine(lab: &Lab, set: &str, uid: Option<&str>) -> Result<()> {
    let name = format!("{set}-1");
    let mut metadata = meta(&name);
    metadata["ownerReferences"] = controlled_by("MachineSet", set, uid);
    let reference =
        json!({ "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistMachine", "name": name });
    let spec = json!({ "clusterName": "c", "infrastructureRef": reference });
    let machine = create::<CoreMachine>(&lab.client, json!({ "metadata": metadata, "spec": spec })).await?;
    let mut metadata = meta(&name);
    metadata["ownerReferences"] = controlled_by("Machine", &name, machine.metadata.uid.as_deref());
    metadata["annotations"] = json!({ "machinist.dev/machine-key": "k" });
    create::<MachinistMachine>(&lab.client, json!({ "metadata": metadata, "spec": { "provider": "sim" } }))
        .await?;
    Ok(())
}

/// Writes that its VM runs.
async fn runs(lab: &Lab, name: &str, id: &str) -> Result<()> {
    let patch = kube::api::Patch::Merge(json!({ "spec": { "providerID": id } }));
    all::<MachinistMachine>(&lab.client).patch(name, &kube::api::PatchParams::default(), &patch).await?;
    let status = json!({
        "initialization": { "provisioned": true },
        "conditions": [ready("True", "InstanceRunning", "the VM runs")],
    });
    report::<MachinistMachine>(&lab.client, name, &status).await
}

/// Changes of both APIs are printed when they come.
async fn followed(lab: &Lab) -> Result<()> {
    let mut child = Command::new(e2e::binary()?)
        .args(["tree", "-n", TEAM, "--watch", "-o", "json"])
        .env("KUBECONFIG", lab.plane.admin_kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
    let mut next = async || -> Result<Value> {
        Ok(serde_json::from_str(&lines.next_line().await?.context("it prints a tree")?)?)
    };
    let deployment = "/clusterApi/clusters/0/deployments/0/rollout/available";
    let first = next().await?;
    ensure!(
        first.pointer(deployment) == Some(&json!(1)) && first["deployments"][0]["name"] == "workers",
        "{first}"
    );
    report::<CoreMachine>(&lab.client, "pool-large-1", &json!({ "phase": "Running" })).await?;
    let second = next().await?;
    ensure!(second.pointer(deployment) == Some(&json!(2)), "{second}");
    all::<machinist_api::MachineDeployment>(&lab.client).delete("workers", &DeleteParams::default()).await?;
    let third = next().await?;
    ensure!(third["deployments"] == json!([]) && third.pointer(deployment) == Some(&json!(2)), "{third}");
    child.kill().await?;
    Ok(())
}
