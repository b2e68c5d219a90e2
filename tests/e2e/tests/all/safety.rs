//! Checks across all Machines: orphan VMs, the operator's freeze, an API server that is unreachable for a while.
//! Periods are short, by flags that users have.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Host, Lab, eventually};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::names;
use serde_json::json;

use crate::scene::{SIM, flagged, has_phase, is_gone, is_running, runs};

/// Flags of a host whose clocks run fast. It leads whether or not it can renew its Leases, so that it is there during
/// an outage.
const QUICK: [&str; 6] = [
    "--leader-elect=false",
    "--machine-safety-orphan-vms-period=3s",
    "--machine-safety-orphan-vm-minimum-age=6s",
    "--machine-safety-apiserver-statuscheck-period=1s",
    "--machine-safety-apiserver-statuscheck-timeout=1s",
    "--machine-health-timeout=15s",
];

async fn played(story: impl AsyncFnOnce(&Lab, &Host) -> Result<()>) {
    flagged(&QUICK, async |lab, host| {
        lab.install_driver(&SIM).await?;
        story(lab, host).await
    })
    .await;
}

/// A VM that no host made, as one that looks like `like`, of this cluster.
async fn plant(lab: &Lab, tags: &BTreeMap<String, String>) -> Result<String> {
    let vms = lab.cloud.live_vms();
    let like = vms.first().context("there is a VM to look at")?;
    let body = json!({
        "name": "lost", "zone": like.zone, "type": like.kind, "image": like.image, "tags": tags,
    });
    let answer = reqwest::Client::new()
        .post(format!("{}/v1/vms", lab.cloud.url()))
        .bearer_auth(lab.cloud.token())
        .header("content-type", "application/json")
        .body(body.to_string())
        .send()
        .await?
        .error_for_status()?
        .text()
        .await?;
    let vm: serde_json::Value = serde_json::from_str(&answer)?;
    Ok(vm["id"].as_str().context("it has an id")?.to_owned())
}

fn lives(lab: &Lab, id: &str) -> bool {
    lab.cloud.live_vms().iter().any(|vm| vm.id == id)
}

#[tokio::test]
async fn a_vm_without_a_machine_goes_and_those_of_machines_and_of_other_clusters_stay() {
    played(async |lab, host| {
        runs(lab, "a").await?;
        let of_machine = lab.cloud.live_vms().first().context("a VM")?.clone();
        let mut tags = of_machine.tags.clone();
        tags.insert("machine-uid".into(), "nobody".into());
        tags.insert("machine-name".into(), "lost".into());
        let began = Instant::now();
        let orphan = plant(lab, &tags).await?;
        tags.insert("cluster".into(), "another".into());
        let foreign = plant(lab, &tags).await?;
        lab.event("MachineClass", "small", "OrphanVmFound", &orphan).await?;
        eventually("the VM is gone", async || Ok((!lives(lab, &orphan)).then_some(()))).await?;
        let age = began.elapsed();
        ensure!(age >= Duration::from_secs(6), "it was only {age:?} old");
        lab.event("MachineClass", "small", "OrphanVmDeleted", &orphan).await?;
        ensure!(lives(lab, &of_machine.id), "the Machine's VM stays");
        ensure!(lives(lab, &foreign), "another cluster's VM stays");
        let deleted = host.metrics().await?.sum("machinist_orphan_vms_deleted_total", &[]);
        ensure!(deleted == 1.0, "{deleted} deleted");
        let audited =
            host.log_lines("INFO").into_iter().filter(|line| line.contains("delete-vm-without-machine"));
        ensure!(audited.count() == 2, "the audit shows the order and its end");
        lab.delete_machine("a").await?;
        is_gone(lab, "a").await
    })
    .await;
}

#[tokio::test]
async fn what_an_operator_holds_waits_and_says_so_and_deletions_go_on() {
    played(async |lab, host| {
        runs(lab, "a").await?;
        let maps: Api<ConfigMap> = Api::namespaced(lab.client.clone(), e2e::manifests::NAMESPACE);
        let mut map = ConfigMap::default();
        map.metadata.name = Some("machinist-freeze".into());
        maps.create(&PostParams::default(), &map).await?;
        let frozen =
            async || anyhow::Ok(host.metrics().await?.sum("mcm_machine_controller_frozen", &[]) == 1.0);
        eventually("all is held", async || Ok(frozen().await?.then_some(()))).await?;
        lab.create_machine("b", "small").await?;
        lab.machine_reason("b", "Frozen", "ConfigMap machinist-freeze").await?;
        lab.delete_machine("a").await?;
        is_gone(lab, "a").await?;
        ensure!(lab.cloud.live_vms().is_empty(), "no VM is made meanwhile");
        maps.delete("machinist-freeze", &DeleteParams::default()).await?;
        is_running(lab, "b").await?;
        ensure!(!frozen().await?, "the gate is open");
        lab.delete_machine("b").await?;
        is_gone(lab, "b").await
    })
    .await;
}

#[tokio::test]
async fn an_api_server_that_comes_back_with_every_node_ill_fails_no_machine() {
    played(async |lab, host| {
        let mut nodes = Vec::new();
        for name in ["a", "b"] {
            nodes.push(runs(lab, name).await?.labels()[names::labels::NODE].clone());
        }
        for node in &nodes {
            ensure!(lab.nodes.set_ready(node, false), "{node} is there");
        }
        for name in ["a", "b"] {
            has_phase(lab, name, "Unknown").await?;
        }
        let ill_since = Instant::now();
        lab.plane.stop_api_server();
        eventually("all is held, and health time-outs are over", async || {
            let frozen = host.metrics().await?.sum("mcm_machine_controller_frozen", &[]) == 1.0;
            Ok((frozen && ill_since.elapsed() > Duration::from_secs(17)).then_some(()))
        })
        .await?;
        lab.plane.start_api_server().await?;
        eventually("work goes on", async || {
            Ok((host.metrics().await?.sum("mcm_machine_controller_frozen", &[]) == 0.0).then_some(()))
        })
        .await?;
        for name in ["a", "b"] {
            lab.event("Machine", name, "HealthTimeoutReset", "outage of an API server").await?;
            let phase = lab.machines().get(name).await?.phase().as_str().to_owned();
            ensure!(phase != "Failed", "{name} was failed for the outage");
        }
        for node in &nodes {
            lab.nodes.set_ready(node, true);
        }
        for name in ["a", "b"] {
            eventually("Running again", async || {
                let phase = lab.machines().get(name).await?.phase().as_str().to_owned();
                ensure!(phase != "Failed", "{name} was failed for the outage");
                Ok((phase == "Running").then_some(()))
            })
            .await?;
            lab.delete_machine(name).await?;
            is_gone(lab, name).await?;
        }
        Ok(())
    })
    .await;
}
