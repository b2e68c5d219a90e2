//! A new version on trial, promoted and taken back, with the commands of an administrator.

use anyhow::{Result, ensure};
use e2e::{Host, Lab, LabOptions, eventually, manifests};

use crate::plugins::push::{Shell, maps};
use crate::scene::{SIM, in_lab, runs, scene};

const FIRST: [&str; 8] =
    ["push", "sim.wasm", "--configmap", "sim", "--grants", "grants.yaml", "--settings", "settings.json"];
const SECOND: [&str; 12] = [
    "push", "sim-2.wasm", "--configmap", "sim-2", "--plugin-name", "sim", "--grants", "grants.yaml",
    "--settings", "settings.json", "--rollout", "rollout.yaml",
];

#[tokio::test]
async fn a_version_is_tried_promoted_and_taken_back_and_the_next_host_remembers() {
    in_lab(LabOptions::default(), async |lab| story(lab, lab.start_host().await?).await).await;
}

async fn story(lab: &Lab, host: Host) -> Result<()> {
    lab.put_secret(&manifests::secret("sim", lab.cloud.token())).await?;
    lab.put_class(&manifests::class("small", "sim")).await?;
    let shell = Shell::new(lab)?;
    shell.does(&FIRST).await?;
    shell.fails(&["promote", "sim"], "no version of sim is on trial").await?;
    shell.fails(&["rollback", "aws"], "there is no driver aws here").await?;
    shell.fails(&["rollback", "sim"], "is the only version that is loaded").await?;
    shell.does(&["promote", "sim"]).await?;

    shell.file("rollout.yaml", b"{mode: canary, share: ten}")?;
    shell.fails(&SECOND, "share is \"ten\": per cent").await?;
    shell.file("rollout.yaml", b"{mode: canary, share: 10%}")?;
    let said = shell.does(&SECOND).await?;
    ensure!(said.contains("is on trial beside the version that serves"), "{said}");
    let said = shell.does(&["list"]).await?;
    ensure!(said.contains("Trial"), "{said}");

    let said = shell.does(&["promote", "sim"]).await?;
    ensure!(said.contains(" serves"), "{said}");
    serves_alone(lab, "sim-2").await?;
    let said = shell.does(&["rollback", "sim"]).await?;
    ensure!(said.contains("answers no call any more"), "{said}");
    serves_alone(lab, "sim").await?;

    // The decision is on the ConfigMap: the next process keeps it.
    host.kill();
    let _next = lab.start_host().await?;
    let said = shell.does(&["push", "sim.wasm", "--configmap", "sim"]).await?;
    ensure!(said.contains("sim"), "{said}");
    serves_alone(lab, "sim").await?;

    let said = shell.does(&["diff", "configmap/sim", "configmap/sim-2"]).await?;
    ensure!(
        said.contains("-Digest:") && said.contains("+Digest:") && !said.contains("Granted hosts"),
        "{said}"
    );
    let said = shell.does(&["diff", "configmap/sim", "sim.wasm", "--settings", "settings.json"]).await?;
    ensure!(said.contains(" Granted hosts:"), "{said}");
    lab.clear().await
}

/// The host writes the statuses of both versions, one after the other.
async fn serves_alone(lab: &Lab, configmap: &str) -> Result<()> {
    let what = format!("{configmap} serves alone");
    eventually(&what, async || Ok((serving(lab).await? == [configmap]).then_some(()))).await
}

#[tokio::test]
async fn a_shadow_is_asked_beside_the_version_that_serves_and_makes_no_second_vm() {
    scene(LabOptions::default(), shadowed).await;
}

async fn shadowed(lab: &Lab, host: &Host) -> Result<()> {
    lab.put_secret(&manifests::secret("sim", lab.cloud.token())).await?;
    lab.put_class(&manifests::class("small", "sim")).await?;
    let shell = Shell::new(lab)?;
    shell.does(&FIRST).await?;
    let said = shell.does(&["trial", "sim"]).await?;
    ensure!(said.contains("no version of sim is or was on trial"), "{said}");
    // It asks another place of the cloud, which has nothing there.
    shell.file("sim-2.wasm", &other())?;
    shell.file("rollout.yaml", b"{mode: shadow, share: 100%}")?;
    shell.does(&SECOND).await?;
    let said = shell.does(&["trial", "sim"]).await?;
    ensure!(
        said.contains("mode shadow: on trial") && said.contains("no call has been compared yet"),
        "{said}"
    );

    runs(lab, "one").await?;
    let said = eventually("the differences are told", async || {
        let said = shell.does(&["trial", "sim"]).await?;
        Ok(said.contains("CreateMachine, ").then_some(said))
    })
    .await?;
    for part in ["DIFFERS", "the last of", "/one:", "request missing: ", "request additional: ", "/v2/vms"] {
        ensure!(said.contains(part), "{part} is missing in\n{said}");
    }
    lab.event(
        "ConfigMap",
        "sim-2",
        "PluginTrial",
        "is the shadow of 100% of the Machines, and answers no call",
    )
    .await?;
    lab.event("ConfigMap", "sim-2", "PluginTrial", "calls would have been otherwise").await?;
    let differs = ["plugin=\"sim\"", "operation=\"CreateMachine\"", "result=\"differs\""];
    ensure!(host.metrics().await?.sum("machinist_plugin_shadow_calls_total", &differs) >= 1.0);
    let page = host.page("/debug/plugins").await?;
    ensure!(page.contains("/v2/vms"), "{page}");
    let stats = lab.cloud.stats();
    ensure!((stats.created, stats.duplicates_ever) == (1, 0), "one VM, whoever was asked: {stats:?}");
    serves_alone(lab, "sim").await?;

    let said = shell.does(&["rollback", "sim"]).await?;
    ensure!(said.contains("answers no call any more"), "{said}");
    lab.event("ConfigMap", "sim-2", "PluginWithdrawn", "somebody has withdrawn it").await?;
    shell.does(&["promote", "sim"]).await?;
    serves_alone(lab, "sim-2").await?;
    shell.does(&["rollback", "sim"]).await?;
    serves_alone(lab, "sim").await?;
    lab.clear().await
}

/// The driver of the simulated cloud as it would be for another version of the cloud's API.
fn other() -> Vec<u8> {
    let (mut component, from, to) = (SIM.clone(), b"/v1/vms", b"/v2/vms");
    let places: Vec<usize> = component
        .windows(from.len())
        .enumerate()
        .filter(|(_, at)| at == from)
        .map(|(place, _)| place)
        .collect();
    for place in places {
        component[place..place + to.len()].copy_from_slice(to);
    }
    component
}

/// ConfigMaps whose version serves, by what the host wrote onto them.
async fn serving(lab: &Lab) -> Result<Vec<String>> {
    let drivers = kube::api::ListParams::default().labels("machinist.dev/plugin=driver");
    let maps = maps(lab).list_metadata(&drivers).await?;
    let serves = |map: &kube::api::PartialObjectMeta<_>| {
        let status = map.metadata.annotations.as_ref()?.get("machinist.dev/status")?;
        let status: serde_json::Value = serde_json::from_str(status).ok()?;
        (status["serving"] == true).then(|| map.metadata.name.clone())?
    };
    Ok(maps.items.iter().filter_map(serves).collect())
}
