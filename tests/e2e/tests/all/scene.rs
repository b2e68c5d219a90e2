//! A lab with a host for each test, a few at a time, and what the tests ask of it.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use e2e::{Cloud, Host, HostOptions, Lab, LabOptions, within};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use machinist_api::Machine;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A lab needs half a gigabyte, and most of two cores while it starts. Then it waits, mostly: six leave a third of two
/// cores idle.
static LABS: Semaphore = Semaphore::const_new(8);

pub(crate) static SIM: LazyLock<Vec<u8>> = LazyLock::new(|| guests::bytes("sim-driver").expect("builds"));
pub(crate) static PLAIN: LazyLock<Vec<u8>> = LazyLock::new(|| guests::bytes("plain-driver").expect("builds"));
pub(crate) static HOSTILE: LazyLock<Vec<u8>> =
    LazyLock::new(|| guests::bytes("hostile-driver").expect("builds"));

/// Waits until one more lab may start.
pub(crate) async fn turn() -> SemaphorePermit<'static> {
    LABS.acquire().await.expect("the semaphore is never closed")
}

/// Runs a test in a lab without a host.
pub(crate) async fn in_lab(options: LabOptions, test: impl AsyncFnOnce(&Lab) -> Result<()>) {
    let _turn = turn().await;
    let lab = Lab::start(options).await.expect("the lab starts");
    test(&lab).await.unwrap_or_else(|error| panic!("{error:#}"));
}

/// Runs a test in a lab with a host that has these flags too.
pub(crate) async fn flagged(flags: &[impl AsRef<str>], test: impl AsyncFnOnce(&Lab, &Host) -> Result<()>) {
    let _turn = turn().await;
    let lab = Lab::start(LabOptions::default()).await.expect("the lab starts");
    hosted(&lab.host_options().with(flags), async |host| test(&lab, host).await).await;
}

/// Runs a test with a host. When it fails, the complaint ends with the host's log.
pub(crate) async fn hosted(options: &HostOptions, test: impl AsyncFnOnce(&Host) -> Result<()>) {
    let host = Host::start_ready(options).await.expect("the host starts");
    if let Err(error) = test(&host).await {
        panic!("{error:#}\n\nthe host's log ends with:\n{}", host.log_end());
    }
}

/// Runs a test in a lab with a host. When it fails, the complaint ends with the host's log.
pub(crate) async fn scene(options: LabOptions, test: impl AsyncFnOnce(&Lab, &Host) -> Result<()>) {
    let _turn = turn().await;
    played(Lab::start(options).await.expect("the lab starts"), test).await;
}

/// Starts a host in a lab and runs a test there.
pub(crate) async fn played<C: Cloud>(lab: Lab<C>, test: impl AsyncFnOnce(&Lab<C>, &Host) -> Result<()>) {
    hosted(&lab.host_options(), async |host| test(&lab, host).await).await;
}

/// As [`scene`], with the driver of the simulated cloud serving, a Secret `sim` and a class `small`. In the end
/// everything is deleted, and nothing may be left.
pub(crate) async fn installed(options: LabOptions, test: impl AsyncFnOnce(&Lab, &Host) -> Result<()>) {
    scene(options, async |lab, host| {
        lab.install_driver(&SIM).await?;
        test(lab, host).await?;
        lab.clear().await
    })
    .await;
}

/// The time limit of an immediate reaction, on a machine that is busy with other things too.
pub(crate) async fn soon<T>(what: &str, ask: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    within(Duration::from_secs(4), what, ask).await
}

/// Creates a Machine and waits until it runs.
pub(crate) async fn runs(lab: &Lab<impl Cloud>, name: &str) -> Result<Machine> {
    lab.create_machine(name, "small").await?;
    is_running(lab, name).await
}

/// Waits until a Machine runs.
pub(crate) async fn is_running(lab: &Lab<impl Cloud>, name: &str) -> Result<Machine> {
    lab.machine_reason(name, "NodeHealthy", "").await?;
    has_phase(lab, name, "Running").await
}

/// Waits until a Machine is in a phase.
pub(crate) async fn has_phase(lab: &Lab<impl Cloud>, name: &str, phase: &str) -> Result<Machine> {
    e2e::eventually(&format!("Machine {name} is {phase}"), async || {
        let machine = lab.machines().get(name).await?;
        Ok((machine.phase().as_str() == phase).then_some(machine))
    })
    .await
}

/// Waits until a Machine is gone.
pub(crate) async fn is_gone(lab: &Lab<impl Cloud>, name: &str) -> Result<()> {
    e2e::eventually(&format!("Machine {name} is gone"), async || {
        Ok(lab.machines().get_opt(name).await?.is_none().then_some(()))
    })
    .await
}

/// Merges into a Machine.
pub(crate) async fn patch_machine(lab: &Lab<impl Cloud>, name: &str, patch: &Value) -> Result<()> {
    lab.machines().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// Edits a Machine in a way that changes nothing for it: the host tries again at once, whatever its back-off has come
/// to.
pub(crate) async fn nudge(lab: &Lab<impl Cloud>, name: &str) -> Result<()> {
    patch_machine(lab, name, &serde_json::json!({ "spec": { "creationTimeout": "21m" } })).await
}

/// Merges into a class.
pub(crate) async fn patch_class(lab: &Lab<impl Cloud>, name: &str, patch: &Value) -> Result<()> {
    lab.classes().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// The Secrets of the lab's namespace.
pub(crate) fn secrets(lab: &Lab<impl Cloud>) -> Api<Secret> {
    Api::namespaced(lab.client.clone(), e2e::manifests::NAMESPACE)
}

/// Deletes a plugin's ConfigMap.
pub(crate) async fn delete_plugin(lab: &Lab<impl Cloud>, name: &str) -> Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(lab.client.clone(), e2e::manifests::NAMESPACE);
    api.delete(name, &DeleteParams::default())
        .await
        .with_context(|| format!("failed to delete ConfigMap {name}"))?;
    Ok(())
}
