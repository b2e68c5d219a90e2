//! `machinist explain` against a real control plane: the whole chain, by port-forward and at an address, and
//! what is said when the leader cannot be asked.

use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use e2e::kubelet::PortForwards;
use e2e::{Host, Lab, eventually, manifests};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::plugins::push::Shell;
use crate::scene::{SIM, flagged, runs};

/// An account that may see everything and forward nothing.
const VIEWERS: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: viewers }
rules:
  - { apiGroups: ['*'], resources: [machines, machineclasses, leases, nodes, configmaps], verbs: [get, list] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: viewers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewers }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: viewers }]
";

async fn explain(lab: &Lab, arguments: &[&str]) -> Result<Output> {
    explain_as(arguments, &lab.plane.admin_kubeconfig()).await
}

pub(crate) async fn explain_as(arguments: &[&str], kubeconfig: &Path) -> Result<Output> {
    let done = Command::new(e2e::binary()?)
        .arg("explain")
        .args(arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .output()
        .await?;
    Ok(done)
}

/// The explanation has all of these parts.
pub(crate) async fn says(lab: &Lab, arguments: &[&str], parts: &[&str]) -> Result<()> {
    let done = explain(lab, arguments).await?;
    let said = String::from_utf8_lossy(&done.stdout);
    let complaint = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{arguments:?}: {complaint}");
    for part in parts {
        ensure!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    ensure!(!said.contains(lab.cloud.token()), "no secret is told:\n{said}");
    Ok(())
}

pub(crate) async fn refuses(lab: &Lab, arguments: &[&str], part: &str) -> Result<()> {
    let done = explain(lab, arguments).await?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(
        !done.status.success() && said.contains(part),
        "{arguments:?} should complain of {part:?}: {said}"
    );
    Ok(())
}

pub(crate) async fn json_of(lab: &Lab, arguments: &[&str]) -> Result<Value> {
    let done = explain(lab, &[arguments, &["-o", "json"]].concat()).await?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(serde_json::from_slice(&done.stdout)?)
}

/// The Node on which the host would run, whose kubelet is this one.
const NODE: &str = "of-the-host";

async fn show_kubelet(lab: &Lab, kubelet: &PortForwards) -> Result<()> {
    let nodes: Api<Node> = Api::all(lab.client.clone());
    let node = serde_json::from_value(json!({ "metadata": { "name": NODE } }))?;
    nodes.create(&PostParams::default(), &node).await.context("failed to create the Node")?;
    let status = json!({ "status": {
        "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
        "daemonEndpoints": { "kubeletEndpoint": { "Port": kubelet.port() } },
    } });
    nodes.patch_status(NODE, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// Shows the host as the pod that it would be in a cluster: with its host name, on that Node.
async fn show_as_pod(lab: &Lab, name: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    let pod = json!({
        "metadata": { "name": name },
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": false,
            "securityContext": { "runAsNonRoot": true, "runAsUser": 1, "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "name": "host",
                "image": "none",
                "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
            }],
        },
    });
    // Accounts of pods are made by a controller that does not run here.
    let account: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    let default = serde_json::from_value(json!({ "metadata": { "name": "default" } }))?;
    account.create(&PostParams::default(), &default).await.ok();
    pods.create(&PostParams::default(), &serde_json::from_value(pod)?)
        .await
        .context("failed to create the pod")?;
    let status = json!({ "status": { "phase": "Running" } });
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

#[tokio::test]
async fn a_machine_is_explained_from_its_class_to_its_node() {
    flagged(&["--profiling"], story).await;
}

async fn story(lab: &Lab, host: &Host) -> Result<()> {
    lab.install_driver(&SIM).await?;
    let address = host.url().trim_start_matches("http://").to_owned();
    let port = address.rsplit_once(':').map(|(_, port)| port.to_owned()).context("an address has a port")?;

    // A Machine that waits says for what.
    lab.create_machine("waits", "nowhere").await?;
    lab.machine_reason("waits", "ClassMissing", "").await?;
    let waiting = ["machine/waits", "--address", &address];
    says(
        lab,
        &waiting,
        &[
            "Awaited:   ClassMissing, since", "!! class   nowhere does not exist", "looks again in",
            "none since it started",
        ],
    )
    .await?;

    // One that runs has a chain that is whole, and calls.
    let machine = runs(lab, "m").await?;
    let id = machine.provider_id().context("it has a VM")?.to_owned();
    let whole = [
        "State:     Running since",
        "Awaited:   nothing",
        "ok class   small of provider \"sim\"",
        "is Ready",
        &format!("ok VM      {id}"),
        "ok Node",
        "CreateMachine",
    ];
    says(lab, &["mc/m", "--address", &address], &whole).await?;
    let explained = json_of(lab, &["machines/m", "--address", &address]).await?;
    let calls = explained["queue"]["calls"].as_array().cloned().unwrap_or_default();
    let create =
        calls.iter().find(|call| call["operation"] == "CreateMachine").context("the create is told")?;
    ensure!(create["outcome"] == "ok" && create["provider"] == "sim", "{create}");
    ensure!(create["machineUid"] == json!(machine.metadata.uid), "{create}");
    ensure!(explained["queue"]["timeouts"]["creation"] == "20m0s", "{explained}");

    by_port_forward(lab, &port).await?;

    // An unreachable host is named, and the rest is printed all the same.
    says(
        lab,
        &["machine/m", "--address", "127.0.0.1:1"],
        &["State:     Running", "not known", "--address is HOST:PORT"],
    )
    .await?;
    says(
        lab,
        &["machine/m", "--host-namespace", "default"],
        &["State:     Running", "not known", "--host-namespace"],
    )
    .await?;
    refuses(
        lab,
        &["machine/n", "--address", &address],
        "there is no Machine n in namespace machinist-system",
    )
    .await?;
    refuses(lab, &["machine/m", "-n", "default"], "it has no Machines at all").await?;
    refuses(lab, &["pod/m"], "only Machines").await?;

    // A deletion that others hold up.
    let patch = json!({ "metadata": { "finalizers": ["machine.sapcloud.io/machine-controller-manager", "example.com/mine"] } });
    lab.machines().patch("m", &PatchParams::default(), &Patch::Merge(patch)).await?;
    lab.delete_machine("m").await?;
    eventually("only the finalizer of others is left", async || {
        let left = lab.machines().get("m").await?.metadata.finalizers.unwrap_or_default();
        Ok((left == ["example.com/mine"]).then_some(()))
    })
    .await?;
    says(
        lab,
        &["machine/m", "--address", &address],
        &["Deletion:  asked for", "take their finalizers off: example.com/mine", "DeleteMachine"],
    )
    .await?;
    let patch = json!({ "metadata": { "finalizers": null } });
    lab.machines().patch("m", &PatchParams::default(), &Patch::Merge(patch)).await?;
    lab.clear().await?;
    profiles(host).await
}

async fn by_port_forward(lab: &Lab, port: &str) -> Result<()> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    let kubelet = PortForwards::start().await?;
    show_kubelet(lab, &kubelet).await?;
    show_as_pod(lab, name.trim()).await?;
    let leader = format!("as pod {} remembers them", name.trim());
    says(lab, &["machine", "m", "--port", port], &["CreateMachine", &leader]).await?;
    // Log lines of plugins come the same way.
    let shell = Shell::new(lab)?;
    let said = shell.does(&["logs", "sim", "--port", port]).await?;
    ensure!(said.contains("sim has logged nothing"), "{said}");
    shell.fails(&["logs", "smi", "--port", port], "there is no plugin smi; there are: sim").await?;
    shell.fails(&["logs", "sim", "--port", "1"], "--url where").await?;
    shell.fails(&["logs", "sim", "-n", "default"], "nobody leads").await?;
    // A user who may not forward ports reads which permission to request, and all the rest.
    let viewer = lab.plane.kubeconfig_for("viewer", &["viewers"])?;
    lab.plane.apply(VIEWERS).await?;
    lab.plane.wait_until_allowed("viewer", &["viewers"], "get", "machine.sapcloud.io/machines").await?;
    let done = explain_as(&["machine/m", "--port", port], &viewer).await?;
    let said = String::from_utf8_lossy(&done.stdout);
    let right = "`create` and `get` on pods/portforward";
    ensure!(done.status.success() && said.contains("Running") && said.contains(right), "{said}");
    let parts = ["State:     Running", "cannot be asked", "failed to connect to port 1", "--port says"];
    says(lab, &["machine/m", "--port", "1"], &parts).await?;
    let nodes: Api<Node> = Api::all(lab.client.clone());
    nodes.delete(NODE, &DeleteParams::default()).await?;
    Ok(())
}

async fn profiles(host: &Host) -> Result<()> {
    ensure!(host.page("/configz").await? == "{}", "as the other controller answers");
    ensure!(host.page("/debug/pprof/").await?.contains("go tool pprof"), "the index says what to do");
    let url = format!("{}/debug/pprof/profile?seconds=1", host.url());
    let bytes = reqwest::Client::builder()
        .no_proxy()
        .build()?
        .get(url)
        .send()
        .await?
        .error_for_status()?
        .bytes()
        .await?;
    ensure!(bytes.starts_with(&[0x1f, 0x8b]), "a profile is gzip: {:?}", bytes.get(..8));
    Ok(())
}
