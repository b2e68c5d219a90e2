//! The command `machinist rollout`.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use e2e::{Kinds, Lab, LabOptions};
use machinist_api::MachineDeployment;
use machinist_api::names::annotations::{RESTARTED_AT, REVISION};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::fleet::{api, deployment, patch, set, status};
use super::{refused, refuses, run, says};
use crate::scene::in_lab;

const READER: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader, namespace: machinist-system }
rules:
- { apiGroups: [machine.sapcloud.io], resources: [machinedeployments, machinesets], verbs: [get, list] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader, namespace: machinist-system }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: reader }]
";

/// Under the definitions that a cluster has where machine-controller-manager was before: nothing is needed beyond them.
#[tokio::test]
async fn rollouts_are_followed_listed_undone_held_and_restarted() {
    in_lab(LabOptions { kinds: Kinds::Known, ..LabOptions::default() }, story).await;
}

async fn story(lab: &Lab) -> Result<()> {
    let uid = deployment(lab, "workers", "large", 3).await?;
    let revision = json!({ "metadata": { "annotations": { REVISION: "2" } } });
    patch::<MachineDeployment>(lab, "workers", &revision).await?;
    refuses(lab, &["rollout", "undo", "workers"], "no rollout history found").await?;
    says(lab, &["rollout", "history", "workers"], &["No rollout history found."]).await?;
    for (class, revision) in [("small", 1), ("large", 2)] {
        set(lab, ("workers", &uid), class, (revision, 0)).await?;
    }
    followed(lab).await?;
    ended(lab).await?;
    history(lab).await?;
    undone(lab).await?;
    held(lab).await?;
    restarted(lab).await?;
    refused_to_some(lab).await
}

/// The generation that the status is about is that of the spec.
async fn counted(lab: &Lab, numbers: [i32; 3], conditions: &[serde_json::Value]) -> Result<()> {
    let generation = api::<MachineDeployment>(lab).get("workers").await?.metadata.generation;
    let [updated, replicas, available] = numbers;
    let said = json!({
        "observedGeneration": generation, "updatedReplicas": updated, "replicas": replicas,
        "availableReplicas": available, "conditions": conditions,
    });
    status::<MachineDeployment>(lab, "workers", &said).await
}

/// It prints each step, and ends with the rollout.
async fn followed(lab: &Lab) -> Result<()> {
    let mut child = Command::new(e2e::binary()?)
        .args(["rollout", "status", "mcd/workers", "--timeout", "2m"])
        .env("KUBECONFIG", lab.plane.admin_kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
    let mut next = async || lines.next_line().await?.context("it goes on");
    ensure!(next().await? == "Waiting for machinedeployment spec update to be observed...");
    let head = "Waiting for machinedeployment \"workers\" rollout to finish:";
    counted(lab, [1, 4, 3], &[]).await?;
    ensure!(next().await? == format!("{head} 1 out of 3 new replicas have been updated..."));
    counted(lab, [3, 4, 3], &[]).await?;
    ensure!(next().await? == format!("{head} 1 old replicas are pending termination..."));
    counted(lab, [3, 3, 2], &[]).await?;
    ensure!(next().await? == format!("{head} 2 of 3 updated replicas are available..."));
    counted(lab, [3, 3, 3], &[]).await?;
    ensure!(next().await? == "machinedeployment \"workers\" successfully rolled out");
    ensure!(child.wait().await?.success(), "a rollout that is done is a success");
    Ok(())
}

async fn ended(lab: &Lab) -> Result<()> {
    says(lab, &["rollout", "status", "workers", "--revision=2"], &["successfully rolled out"]).await?;
    let other = "desired revision (1) is different from the running revision (2)";
    refuses(lab, &["rollout", "status", "workers", "--revision=1"], other).await?;
    counted(lab, [1, 4, 3], &[]).await?;
    let waiting = "1 out of 3 new replicas have been updated";
    says(lab, &["rollout", "status", "workers", "--watch=false"], &[waiting]).await?;
    refuses(lab, &["rollout", "status", "workers", "--timeout=1s"], "timed out after 1s").await?;
    let late = json!({
        "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "no progress since: x",
    });
    counted(lab, [1, 4, 3], &[late]).await?;
    let failed = "machinedeployment \"workers\" exceeded its progress deadline: no progress since: x";
    refuses(lab, &["rollout", "status", "workers"], failed).await
}

async fn history(lab: &Lab) -> Result<()> {
    let all = says(lab, &["rollout", "history", "machinedeployment", "workers"], &[]).await?;
    let lines: Vec<Vec<&str>> = all.lines().map(|line| line.split_whitespace().collect()).collect();
    ensure!(
        lines.first().is_some_and(|title| title == &["machinedeployment.machine.sapcloud.io/workers"]),
        "{all}"
    );
    ensure!(
        lines[2..]
            == [
                vec!["1", "workers-small", "small", "0", "to", "small"],
                vec!["2", "(current)", "workers-large", "large", "0", "to", "large"],
            ],
        "{all}"
    );
    let one = ["rollout", "history", "workers", "--revision=1"];
    says(lab, &one, &["with revision #1", "    name: small\n", "spec.class.name: large instead of small"])
        .await?;
    refuses(lab, &["rollout", "history", "workers", "--revision=7"], "kept are 1, 2").await
}

async fn undone(lab: &Lab) -> Result<()> {
    let wish = async || {
        let deployment = api::<MachineDeployment>(lab).get("workers").await?;
        anyhow::Ok(deployment.spec.rollback_to.and_then(|wish| wish.revision))
    };
    refuses(lab, &["rollout", "undo", "workers", "--to-revision=7"], "unable to find revision 7").await?;
    let same = ["rollout", "undo", "workers", "--to-revision=2"];
    says(lab, &same, &["skipped rollback (current template already matches revision 2)"]).await?;
    ensure!(wish().await?.is_none(), "nothing was written");
    let back = "machinedeployment.machine.sapcloud.io/workers rolls back to revision 1";
    says(lab, &["rollout", "undo", "workers"], &[back]).await?;
    ensure!(wish().await? == Some(1), "{:?}", wish().await?);
    patch::<MachineDeployment>(lab, "workers", &json!({ "spec": { "rollbackTo": null } })).await
}

async fn held(lab: &Lab) -> Result<()> {
    let is_paused =
        async || anyhow::Ok(api::<MachineDeployment>(lab).get("workers").await?.spec.paused == Some(true));
    refuses(lab, &["rollout", "resume", "workers"], "machinedeployment \"workers\" is not paused").await?;
    says(lab, &["rollout", "pause", "workers"], &["machinedeployment.machine.sapcloud.io/workers paused"])
        .await?;
    ensure!(is_paused().await?);
    refuses(lab, &["rollout", "pause", "workers"], "is already paused").await?;
    refuses(lab, &["rollout", "restart", "workers"], "run `machinist rollout resume workers` first").await?;
    refuses(lab, &["rollout", "undo", "workers"], "you cannot roll back a paused machinedeployment").await?;
    says(
        lab,
        &["rollout", "status", "workers", "--watch=false"],
        &["spec update to be observed", "it is paused"],
    )
    .await?;
    says(lab, &["rollout", "resume", "workers"], &["machinedeployment.machine.sapcloud.io/workers resumed"])
        .await?;
    ensure!(!is_paused().await?);
    Ok(())
}

async fn restarted(lab: &Lab) -> Result<()> {
    says(
        lab,
        &["rollout", "restart", "workers"],
        &["machinedeployment.machine.sapcloud.io/workers restarted"],
    )
    .await?;
    let template = api::<MachineDeployment>(lab).get("workers").await?.spec.template;
    let metadata = template.metadata.context("it has metadata")?;
    ensure!(metadata.labels().contains_key("name"), "the rest of the template stays: {metadata:?}");
    let at = metadata.annotations().get(RESTARTED_AT).cloned().context("it is annotated")?;
    ensure!(at.parse::<jiff::Timestamp>().is_ok(), "{at}");
    // The template is none of those that are kept, so the one before is the last of them.
    says(lab, &["rollout", "undo", "workers"], &["rolls back to revision 2"]).await?;
    Ok(())
}

async fn refused_to_some(lab: &Lab) -> Result<()> {
    refuses(lab, &["rollout", "status", "worker"], "did you mean workers?").await?;
    let elsewhere = ["rollout", "pause", "workers", "-n", "default"];
    refuses(lab, &elsewhere, "there is no MachineDeployment workers in namespace default").await?;
    refuses(lab, &["rollout", "status", "deployment/workers"], "`kubectl rollout status deployment/workers`")
        .await?;
    let nobody = lab.plane.kubeconfig_for("nobody", &[])?;
    let words = ["rollout", "status", "workers"];
    let done = run(e2e::binary()?, &nobody, &words).await?;
    refused(&words, &done, "ask an administrator for get on machinedeployments in this namespace")?;
    lab.plane.apply(READER).await?;
    let reader = lab.plane.kubeconfig_for("reader", &[])?;
    let words = ["rollout", "pause", "workers"];
    e2e::eventually("a reader may read", async || {
        let done = run(e2e::binary()?, &reader, &words).await?;
        Ok(refused(&words, &done, "ask an administrator for patch on machinedeployments in this namespace")
            .ok())
    })
    .await
}
