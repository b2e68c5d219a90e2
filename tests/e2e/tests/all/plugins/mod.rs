//! Where the state of plugins shows, and what a change of a ConfigMap does.
//!
//! | module | content |
//! | --- | --- |
//! | `swaps` | a driver is swapped while it is called, and no call notices |
//! | `side_by_side` | several drivers in one host, several versions of one, and classes that pin theirs |
//! | `trial` | a new version on trial, promoted and withdrawn, with an administrator's commands |
//! | `sources` | plugins from a directory and a registry, and the signers that are trusted there |
//! | `push` | `machinist plugin push` and `inspect` against a real control plane |
//! | `parts` | missing, doubled or mixed parts are rejected, and the version before serves on |
//! | `compiling` | a slow compilation costs the host neither its memory nor its leadership |
//! | `policies` | health policies: from a ConfigMap to an opinion, a reboot and a replacement |
//! | `record` | calls that a host records, and `machinist driver replay` of them |
//! | `egress` | requests that a driver may not send: refused, counted, reported on its ConfigMap |
//! | `bad_plugins` | bad content in a plugin's ConfigMap is rejected with its reason |
//! | `hostile` | drivers that break: each call ends at its limit, and no other driver notices |
//! | `hostile_servers` | servers that no driver should trust |

pub(crate) mod bad_plugins;
pub(crate) mod compiling;
pub(crate) mod egress;
pub(crate) mod hostile;
pub(crate) mod hostile_servers;
pub(crate) mod parts;
pub(crate) mod policies;
pub(crate) mod push;
pub(crate) mod record;
pub(crate) mod side_by_side;
pub(crate) mod sources;
pub(crate) mod swaps;
pub(crate) mod trial;

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use e2e::{Lab, LabOptions, eventually, manifests};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::scene::{SIM, delete_plugin, installed, is_running, runs, soon};

/// `machinist plugin list` under the host's own account.
async fn list(lab: &Lab, output: &str) -> Result<String> {
    let done = Command::new(e2e::binary()?)
        .args(["plugin", "list", "--output", output, "--kubeconfig"])
        .arg(lab.host_kubeconfig())
        .stdin(Stdio::null())
        .output()
        .await?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

#[tokio::test]
async fn a_plugins_state_shows_as_event_annotation_metric_and_in_the_list() {
    installed(LabOptions::default(), async |lab, host| {
        let good = manifests::plugin("sim", &SIM, &lab.cloud.url())?;
        let digest = good.data.as_ref().and_then(|data| data.get("sha256")).context("it has a digest")?;
        lab.event("ConfigMap", "sim", "PluginReady", "serves sim").await?;
        let status = lab.plugin_status("sim").await?.context("there is a status")?;
        ensure!(status["plugin"] == "sim" && status["serving"] == true, "{status}");
        ensure!(status["held"]["providers"] == json!(["sim"]), "{status}");
        ensure!(status["digest"].as_str().is_some_and(|shown| shown.ends_with(digest)), "{status}");
        let state = async |source: &str, state: &str| {
            let labels =
                [format!("source=\"{}/{source}\"", manifests::NAMESPACE), format!("state=\"{state}\"")];
            anyhow::Ok(host.metrics().await?.sum("machinist_plugin_state", &[&labels[0], &labels[1]]))
        };
        let metrics = host.metrics().await?;
        let seen: Vec<_> = metrics.matching("machinist_plugin_state", &[]).collect();
        ensure!(state("sim", "Ready").await? == 1.0, "{seen:?}");

        lab.put_plugin(&manifests::plugin_with("broken", "plugin.wasm", b"none".to_vec())).await?;
        lab.plugin_state("broken", "Rejected").await?;
        ensure!(state("broken", "Rejected").await? == 1.0, "the metric follows");
        let table = list(lab, "table").await?;
        let row = |name: &str| {
            table.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default().to_owned()
        };
        for part in ["sim", "Ready", "yes", &digest[..12]] {
            ensure!(row("sim").contains(part), "{part} is missing in\n{table}");
        }
        for part in ["Rejected", "no", "it is not WebAssembly"] {
            ensure!(row("broken").contains(part), "{part} is missing in\n{table}");
        }
        let rows: Value = serde_json::from_str(&list(lab, "json").await?)?;
        let of = |name: &str| {
            rows.as_array().and_then(|rows| rows.iter().find(|row| row["config_map"] == name)).cloned()
        };
        ensure!(of("sim").is_some_and(|row| row["state"] == "Ready"), "{rows}");
        ensure!(of("broken").is_some_and(|row| row["state"] == "Rejected"), "{rows}");
        delete_plugin(lab, "broken").await?;
        eventually("a ConfigMap that is gone leaves no metric", async || {
            Ok((state("broken", "Rejected").await? == 0.0).then_some(()))
        })
        .await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn machines_wait_for_a_driver_that_is_taken_away_and_go_on_when_it_is_back() {
    installed(LabOptions::default(), async |lab, _| {
        runs(lab, "before").await?;
        delete_plugin(lab, "sim").await?;
        lab.create_machine("meanwhile", "small").await?;
        lab.machine_reason("meanwhile", "DriverNotReady", "no plugin serves provider \"sim\"").await?;
        lab.event("Machine", "meanwhile", "DriverNotReady", "sim").await?;
        is_running(lab, "before").await?;
        lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
        lab.plugin_state("sim", "Ready").await?;
        soon("the Machine goes on at once", async || {
            Ok(lab.machines().get("meanwhile").await?.provider_id().map(drop))
        })
        .await?;
        is_running(lab, "meanwhile").await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn settings_and_grants_take_effect_with_the_next_call() {
    installed(LabOptions::default(), async |lab, host| {
        let mut denied = manifests::plugin("sim", &SIM, &lab.cloud.url())?;
        let elsewhere = manifests::grants("http://127.0.0.1:1");
        denied.data.get_or_insert_default().insert("grants.yaml".into(), elsewhere);
        let swaps = async || anyhow::Ok(host.metrics().await?.sum("machinist_plugin_swaps_total", &[]));
        let before = swaps().await?;
        lab.put_plugin(&denied).await?;
        eventually("the change serves", async || Ok((swaps().await? > before).then_some(()))).await?;
        lab.create_machine("m", "small").await?;
        lab.machine_reason("m", "CreationFailed", "").await?;
        lab.event("ConfigMap", "sim", "EgressRefused", "grant-port").await?;
        ensure!(lab.cloud.stats().created == 0, "nothing reached the cloud");
        lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
        eventually("the change serves", async || Ok((swaps().await? > before + 1.0).then_some(()))).await?;
        soon("the Machine goes on at once", async || {
            Ok(lab.machines().get("m").await?.provider_id().map(drop))
        })
        .await?;
        is_running(lab, "m").await.map(drop)
    })
    .await;
}
