//! The host in the place of machine-controller-manager's binaries: by their names, with the arguments with which they
//! are deployed.

use anyhow::{Context, Result, ensure};
use e2e::{Host, HostOptions, Lab, LabOptions, eventually, manifests};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use machinist_api::MachineSet;
use machinist_api::names::leases::{MACHINE_CONTROLLER, MACHINE_CONTROLLER_MANAGER};
use serde_json::json;

use crate::scene::{SIM, in_lab, runs};

const MANAGER: &str = "machine-controller-manager";
const MACHINES: &str = "machine-controller";

/// The holder of a Lease; none where there is no Lease.
async fn holder(lab: &Lab, name: &str) -> Result<Option<String>> {
    let api: Api<Lease> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    Ok(api.get_opt(name).await?.and_then(|lease| lease.spec?.holder_identity))
}

/// Arguments as in the pods of machine-controller-manager, beside those that only the lab needs.
fn options(lab: &Lab, own: &[&str]) -> HostOptions {
    let mut options = lab.host_options();
    let kubeconfig = options.kubeconfig.display().to_string();
    let shared = [
        format!("--control-kubeconfig={kubeconfig}"),
        format!("--target-kubeconfig={kubeconfig}"),
        format!("--namespace={}", manifests::NAMESPACE),
        "--kube-api-qps=100".to_owned(),
        "--kube-api-burst=200".to_owned(),
        "--v=3".to_owned(),
    ];
    options.flags.extend(shared);
    options.flags.extend(own.iter().map(|flag| (*flag).to_owned()));
    options
}

fn of_sets(lab: &Lab) -> Result<Host> {
    let own = ["--safety-up=2", "--safety-down=1", "--machine-safety-overshooting-period=1m"];
    Host::start_as(MANAGER, &options(lab, &own))
}

fn of_machines(lab: &Lab) -> Result<Host> {
    let own = [
        "--machine-creation-timeout=20m",
        "--machine-drain-timeout=2h",
        "--machine-health-timeout=10m",
        "--machine-safety-apiserver-statuscheck-timeout=30s",
        "--machine-safety-apiserver-statuscheck-period=1m",
        "--machine-safety-orphan-vms-period=30m",
    ];
    let mut options = options(lab, &own);
    options.flags.push(format!("--cache-dir={}", options.cache.display()));
    Host::start_as(MACHINES, &options)
}

fn set(name: &str, replicas: i32) -> Result<MachineSet> {
    let labels = json!({ "set": name });
    Ok(serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": manifests::NAMESPACE },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "class": { "kind": "MachineClass", "name": "small" } },
            },
        },
    }))?)
}

/// Requests of a host by these labels.
async fn requests(host: &Host, labels: &[&str]) -> Result<f64> {
    Ok(host.metrics().await?.sum("machinist_api_requests_total", labels))
}

async fn shows(host: &Host, metric: &str) -> Result<bool> {
    Ok(host.metrics().await?.matching(metric, &[]).next().is_some())
}

async fn leads(host: &Host) -> Result<()> {
    eventually("it leads", async || {
        Ok((host.metrics().await?.sum("machinist_leader", &[]) == 1.0).then_some(()))
    })
    .await
}

async fn together(lab: &Lab) -> Result<()> {
    let mut machines = of_machines(lab)?;
    machines.ready().await?;
    leads(&machines).await?;
    lab.install_driver(&SIM).await?;
    let sets: Api<MachineSet> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    sets.create(&PostParams::default(), &set("workers", 2)?).await?;
    runs(lab, "alone").await?;
    ensure!(lab.machines().list(&Default::default()).await?.items.len() == 1, "nobody looks after the set");
    ensure!(
        holder(lab, MACHINE_CONTROLLER_MANAGER).await?.is_none(),
        "the other binary's Lease is left alone"
    );
    ensure!(shows(&machines, "mcm_machine_items_total").await?, "Machines are its own");
    ensure!(!shows(&machines, "mcm_machine_set_items_total").await?, "sets are shown by whoever runs them");
    ensure!(requests(&machines, &["resource=\"machinesets\""]).await? == 0.0, "nor are they looked at");

    let mut manager = of_sets(lab)?;
    manager.ready().await?;
    leads(&manager).await?;
    lab.machines_in_phase("Running", 3).await?;
    eventually("the set has its Machines", async || {
        let status = sets.get("workers").await?.status.unwrap_or_default();
        Ok((status.ready_replicas == Some(2)).then_some(()))
    })
    .await?;
    let held = [holder(lab, MACHINE_CONTROLLER_MANAGER).await?, holder(lab, MACHINE_CONTROLLER).await?];
    ensure!(held[0].is_some() && held[1].is_some() && held[0] != held[1], "each has its own: {held:?}");
    ensure!(shows(&manager, "mcm_machine_set_info").await?, "sets are its own");
    ensure!(!shows(&manager, "mcm_machine_items_total").await?, "Machines are not");
    // Of ConfigMaps it follows an operator's freeze alone; a life of the runtime checks the name.
    for resource in ["secrets", "volumeattachments", "poddisruptionbudgets"] {
        let labels = ["verb=\"WATCH\"", &format!("resource=\"{resource}\"")];
        ensure!(requests(&manager, &labels).await? == 0.0, "{resource} are none of its business");
    }
    let idle = manager.log_lines("INFO").into_iter().find(|line| line.contains("flags without effect"));
    let idle = idle.context("it says which flags do nothing")?;
    ensure!(idle.contains("--machine-safety-overshooting-period") && !idle.contains("--safety-up"), "{idle}");

    // All in one wants both Leases.
    let mut all = lab.start_host().await?;
    ensure!(all.metrics().await?.sum("machinist_leader", &[]) == 0.0, "it waits for both");
    ensure!(manager.terminate().await?.success(), "SIGTERM ends in order");
    ensure!(machines.is_running(), "one binary's end is not the other's");
    ensure!(machines.terminate().await?.success(), "SIGTERM ends in order");
    leads(&all).await?;
    let held = [holder(lab, MACHINE_CONTROLLER_MANAGER).await?, holder(lab, MACHINE_CONTROLLER).await?];
    ensure!(held[0] == held[1], "one process holds both: {held:?}");
    ensure!(shows(&all, "mcm_machine_set_items_total").await?, "it shows all");
    ensure!(shows(&all, "mcm_machine_items_total").await?, "it shows all");
    sets.delete("workers", &DeleteParams::background()).await?;
    eventually("the set goes with its Machines", async || {
        Ok(sets.get_opt("workers").await?.is_none().then_some(()))
    })
    .await?;
    ensure!(!shows(&all, "mcm_machine_set_info").await?, "series end with their objects");
    lab.clear().await?;
    ensure!(all.is_running() && lab.cloud.stats().created == 3, "{:?}", lab.cloud.stats());
    Ok(())
}

#[tokio::test]
async fn by_the_names_of_two_binaries_each_does_its_part_under_its_lease_and_one_host_follows_both() {
    in_lab(LabOptions::default(), together).await;
}

async fn picked(lab: &Lab) -> Result<()> {
    let mut options = lab.host_options();
    options.cache = options.cache.with_file_name("nothing");
    options.flags.push("--controllers=*,-machine".into());
    let host = Host::start_ready(&options).await?;
    leads(&host).await?;
    ensure!(holder(lab, MACHINE_CONTROLLER).await?.is_none(), "that Lease is for who looks after Machines");
    ensure!(!options.cache.exists(), "who loads no driver needs no place for them");
    let mut options = lab.host_options();
    options.flags.push("--controllers=machine".into());
    let other = Host::start_ready(&options).await?;
    leads(&other).await?;
    lab.install_driver(&SIM).await?;
    let sets: Api<MachineSet> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    sets.create(&PostParams::default(), &set("few", 1)?).await?;
    lab.machines_in_phase("Running", 1).await?;
    sets.delete("few", &DeleteParams::background()).await?;
    lab.no_machines().await?;
    Ok(())
}

#[tokio::test]
async fn controllers_that_are_picked_run_and_the_others_do_not() {
    in_lab(LabOptions::default(), picked).await;
}
