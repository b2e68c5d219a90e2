//! The host in a pod that was made for machine-controller-manager: its arguments alone, its rights, its definitions
//! of the kinds.

use anyhow::{Context, Result, anyhow, ensure};
use e2e::{Host, HostOptions, Kinds, Lab, LabOptions, eventually, manifests, within};
use k8s_openapi::api::core::v1::{Event, Secret};
use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use simcloud::Faults;
use std::path::Path;
use std::time::Duration;

use crate::scene::{SIM, has_phase, is_gone, patch_machine, turn};

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

/// The account may write Events of the core group only: they are there, with the fields that belong to that group.
async fn has_an_event(lab: &Lab, host: &Host, machine: &str) -> Result<()> {
    let api: Api<Event> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    let fields = format!("involvedObject.kind=Machine,involvedObject.name={machine}");
    eventually("an Event of the core group is about the Machine", async || {
        let events = api.list(&ListParams::default().fields(&fields)).await?;
        let is_ours = |event: &Event| {
            let writer = event.source.as_ref().and_then(|source| source.component.as_deref());
            writer == Some("machinist.dev/machinist") && event.last_timestamp.is_some()
        };
        Ok(events.items.iter().any(is_ours).then_some(()))
    })
    .await?;
    let lines = host.log_lines("WARN");
    ensure!(lines.iter().any(|line| line.contains("events.k8s.io")), "the other group was tried: {lines:?}");
    Ok(())
}

/// The bootstrap token that is there, if one is.
async fn token(lab: &Lab) -> Result<Option<Secret>> {
    let api: Api<Secret> = Api::namespaced(lab.client.clone(), "kube-system");
    let mut secrets = api.list(&ListParams::default()).await?.items.into_iter();
    Ok(secrets.find(|secret| secret.type_.as_deref() == Some("bootstrap.kubernetes.io/token")))
}

/// The account may not change tokens: one whose Machine gets more time is replaced by one with the same value.
async fn extends_a_token(lab: &Lab) -> Result<()> {
    let joined = eventually("the token of the Machine that has joined is gone", async || {
        Ok(token(lab).await?.is_none().then_some(()))
    });
    joined.await?;
    let faults = Faults { boot_failure_probability: 1.0, ..Faults::default() };
    lab.cloud.set_faults(faults).map_err(|error| anyhow!("{error:?}"))?;
    lab.create_machine("late", "small").await?;
    has_phase(lab, "late", "Pending").await?;
    let before = token(lab).await?.context("a Machine that waits for its Node has a token")?;
    let part = |token: &Secret, key: &str| token.data.as_ref().and_then(|data| data.get(key).cloned());
    patch_machine(lab, "late", &json!({ "spec": { "creationTimeout": "2h" } })).await?;
    let after = eventually("the token ends later", async || {
        let ends_later = |token: &Secret| part(token, "expiration") != part(&before, "expiration");
        Ok(token(lab).await?.filter(ends_later))
    });
    let after = after.await?;
    ensure!(after.metadata.name == before.metadata.name && after.metadata.uid != before.metadata.uid);
    for key in ["token-id", "token-secret"] {
        ensure!(part(&before, key).is_some() && part(&after, key) == part(&before, key), "{key} has changed");
    }
    has_phase(lab, "late", "Pending").await?;
    lab.cloud.clear_faults();
    lab.delete_machine("late").await?;
    is_gone(lab, "late").await
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
    has_an_event(lab, &host, "worker").await?;
    extends_a_token(lab).await.with_context(|| host.log_end())?;
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
