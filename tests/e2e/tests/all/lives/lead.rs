//! Hosts that take leadership, hand it over and end.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Host, Lab, LabOptions, eventually, within};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use machinist_api::names::leases::{MACHINE_CONTROLLER, MACHINE_CONTROLLER_MANAGER};

use crate::scene::{SIM, in_lab, is_running};

/// The holders of both Leases; an empty text is nobody.
async fn holders(lab: &Lab) -> Result<[String; 2]> {
    let api: Api<Lease> = Api::namespaced(lab.client.clone(), e2e::manifests::NAMESPACE);
    let mut holders = [String::new(), String::new()];
    for (holder, name) in holders.iter_mut().zip([MACHINE_CONTROLLER_MANAGER, MACHINE_CONTROLLER]) {
        let spec = api.get(name).await?.spec.context("the Lease has a spec")?;
        *holder = spec.holder_identity.unwrap_or_default();
    }
    Ok(holders)
}

async fn leads(host: &Host) -> Result<bool> {
    Ok(host.metrics().await?.sum("machinist_leader", &[]) == 1.0)
}

async fn start(lab: &Lab, cache: &str) -> Result<Host> {
    let mut options = lab.host_options();
    options.cache = options.cache.with_file_name(cache);
    let times = [
        "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
        "--leader-elect-retry-period=500ms",
    ];
    options.flags.extend(times.map(str::to_owned));
    Host::start_ready(&options).await
}

async fn story(lab: &Lab) -> Result<()> {
    let first = start(lab, "first").await?;
    eventually("the first host leads", async || Ok(leads(&first).await?.then_some(()))).await?;
    let held = holders(lab).await?;
    ensure!(!held[0].is_empty() && held[0] == held[1], "one process holds both Leases: {held:?}");
    ensure!(first.page("/healthz").await? == "OK", "the leader is healthy");
    lab.install_driver(&SIM).await?;

    let second = start(lab, "second").await?;
    ensure!(!leads(&second).await?, "the second host is ready and waits");
    lab.create_machine("a", "small").await?;
    is_running(lab, "a").await?;
    ensure!(holders(lab).await? == held, "the first host goes on leading");
    let passes = second.metrics().await?.sum("machinist_passes_total", &[]);
    ensure!(passes == 0.0, "who does not lead does nothing: {passes} passes");

    // Given back, not run out: far below the 4 s of a Lease.
    let ended = first.terminate().await?;
    ensure!(ended.success(), "SIGTERM ends in order: {ended}");
    within(Duration::from_millis(2_500), "the second host takes over", async || {
        Ok(leads(&second).await?.then_some(()))
    })
    .await?;
    let taken = holders(lab).await?;
    ensure!(taken[0] == taken[1] && taken[0] != held[0], "{taken:?}");
    lab.create_machine("b", "small").await?;
    is_running(lab, "b").await?;

    let third = start(lab, "first").await?;
    second.kill();
    eventually("the third host takes over from the one that was killed", async || {
        Ok(leads(&third).await?.then_some(()))
    })
    .await?;
    lab.clear().await?;
    let ended = third.terminate().await?;
    ensure!(ended.success(), "SIGTERM ends in order: {ended}");
    let held = holders(lab).await?;
    ensure!(held == ["", ""], "the Leases are given back: {held:?}");
    ensure!(lab.cloud.stats().created == 2, "{:?}", lab.cloud.stats());
    Ok(())
}

#[tokio::test]
async fn one_host_leads_with_both_leases_and_another_takes_over() {
    in_lab(LabOptions::default(), story).await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn without_a_target_cluster_a_machine_is_available_as_soon_as_its_vm_is_there() {
    in_lab(LabOptions::default(), async |lab| {
        let mut options = lab.host_options();
        options.flags.extend(["--control-kubeconfig".into(), options.kubeconfig.display().to_string()]);
        options.kubeconfig = "none".into();
        let host = Host::start_ready(&options).await?;
        lab.install_driver(&SIM).await?;
        lab.create_machine("m", "small").await?;
        lab.machines_in_phase("Available", 1).await?;
        let status = lab.machines().get("m").await?.status.unwrap_or_default();
        ensure!(status.addresses.iter().any(|address| address.type_ == "InternalIP"), "{status:?}");
        ensure!(lab.left_in_target().await?.1.is_empty(), "there is nothing to join, so there is no token");
        lab.delete_machine("m").await?;
        lab.no_machines().await?;
        ensure!(lab.cloud.live_vms().is_empty(), "the VM is gone");
        host.terminate().await?;
        Ok(())
    })
    .await;
}
