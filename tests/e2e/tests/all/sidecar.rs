//! The host in a pod that was made for machine-controller-manager: its arguments alone, its rights, its definitions
//! of the kinds.

use anyhow::{Context, Result, ensure};
use e2e::{Host, HostOptions, Kinds, Lab, LabOptions, eventually, manifests, within};
use std::path::Path;
use std::time::Duration;

use crate::scene::{SIM, has_phase, turn};

/// As the pod has them, in its order, and without a subcommand.
fn options(lab: &Lab, kubeconfig: &Path, own: &[String]) -> HostOptions {
    let mut options = lab.host_options();
    let kubeconfig = kubeconfig.display();
    options.flags = vec![
        format!("--control-kubeconfig={kubeconfig}"),
        "--machine-creation-timeout=20m".to_owned(),
        "--machine-drain-timeout=2h".to_owned(),
        "--machine-health-timeout=10m".to_owned(),
        "--machine-safety-apiserver-statuscheck-timeout=30s".to_owned(),
        "--machine-safety-apiserver-statuscheck-period=1m".to_owned(),
        "--machine-safety-orphan-vms-period=30m".to_owned(),
        format!("--namespace={}", manifests::NAMESPACE),
        format!("--target-kubeconfig={kubeconfig}"),
        "--v=3".to_owned(),
    ];
    options.flags.extend(own.iter().cloned());
    // Root may write the folder that is the default; nobody else may, and finds another one.
    if is_root() {
        options.flags.push(format!("--cache-dir={}", options.cache.display()));
    }
    options
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
}

async fn in_its_place(lab: &Lab) -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.plane.apply_path(here.join("src/manifests/mcm-rbac.yaml")).await?;
    let account = format!("system:serviceaccount:{}:mcm", manifests::NAMESPACE);
    for (verb, resource) in [("patch", "nodes"), ("list", "nodes")] {
        lab.plane.wait_until_allowed(&account, &[], verb, resource).await?;
    }
    let kubeconfig = lab.plane.kubeconfig_for_service_account(manifests::NAMESPACE, "mcm").await?;

    // It may not read the namespace: it ends, and says which flag is missing.
    let mut nameless = Host::start_as("machinist", &options(lab, &kubeconfig, &[]))?;
    within(Duration::from_secs(60), "it ends", async || Ok((!nameless.is_running()).then_some(()))).await?;
    let said = nameless.log_end();
    ensure!(said.contains("--cluster-id") && said.contains("failed to read namespace"), "{said}");
    drop(nameless);

    let mut host =
        Host::start_as("machinist", &options(lab, &kubeconfig, &["--cluster-id=mark".to_owned()]))?;
    host.ready().await?;
    let leads = eventually("it leads", async || {
        Ok((host.metrics().await?.sum("machinist_leader", &[]) == 1.0).then_some(()))
    });
    leads.await.with_context(|| host.log_end())?;
    let lines = host.log_lines("INFO");
    let servers = lines.iter().find(|line| line.contains("API servers")).context("it names the servers")?;
    ensure!(servers.matches(&lab.plane.server()).count() == 2, "{servers}");
    ensure!(lines.iter().any(|line| line.contains("program=\"machine-controller\"")), "{}", host.log_end());
    lab.install_driver(&SIM).await?;
    lab.create_machine("worker", "small").await?;
    has_phase(lab, "worker", "Running").await?;
    lab.clear().await?;
    ensure!(host.terminate().await?.success(), "SIGTERM ends in order");
    Ok(())
}

#[tokio::test]
async fn with_the_arguments_rights_and_kinds_of_machine_controller_manager_machines_come_and_go() {
    let _turn = turn().await;
    let options = LabOptions { kinds: Kinds::Known, ..LabOptions::default() };
    let lab = Lab::start(options).await.expect("the lab starts");
    in_its_place(&lab).await.unwrap_or_else(|error| panic!("{error:#}"));
}
