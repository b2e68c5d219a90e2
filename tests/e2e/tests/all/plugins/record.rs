//! Calls that a host records while Machines live, and what `machinist driver replay` makes of them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use e2e::{Host, Lab, LabOptions, eventually, manifests};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::scene::{PLAIN, SIM, is_gone, is_running, turn};

const TOKEN: &str = "canary-token-3f9b2d7c51";

async fn replay(component: &Path, recordings: &Path) -> Result<Output> {
    let mut command = Command::new(e2e::binary()?);
    command.args(["driver", "replay"]).arg(component).arg(recordings).args(["--output", "json"]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    command.output().await.context("the program does not start")
}

fn calls(output: &Output) -> Result<Vec<Value>> {
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no JSON: {}", String::from_utf8_lossy(&output.stderr)))
}

/// All files below a folder, by name.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} is not there", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { all.extend(files(&path)?) } else { all.push(path) }
    }
    all.sort();
    Ok(all)
}

/// The secret parts of bootstrap tokens that wait for their Nodes.
async fn bootstrap_secrets(lab: &Lab) -> Result<Vec<String>> {
    let api: Api<Secret> = Api::namespaced(lab.client.clone(), "kube-system");
    let all = api.list(&ListParams::default().fields("type=bootstrap.kubernetes.io/token")).await?.items;
    let data = all.into_iter().flat_map(|secret| secret.data.unwrap_or_default());
    let secret = data.filter(|(key, _)| key == "token-secret");
    Ok(secret.map(|(_, value)| String::from_utf8_lossy(&value.0).into_owned()).collect())
}

/// Runs Machines of two drivers, of which one is recorded. Answers the values that no recording may hold.
async fn live(lab: &Lab) -> Result<Vec<String>> {
    lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
    lab.put_secret(&manifests::secret("sim", TOKEN)).await?;
    lab.put_class(&manifests::class("small", "sim")).await?;
    lab.plugin_state("sim", "Ready").await?;
    let settings = json!({ "providers": ["plain"] });
    lab.put_plugin(&manifests::plugin_granted("plain", &PLAIN, &settings, &json!({}))?).await?;
    lab.put_class(&manifests::class_of("plain", "sim", "plain", &json!({}))).await?;
    lab.plugin_state("plain", "Ready").await?;

    lab.create_machine("m", "small").await?;
    lab.machine_reason("m", "WaitingForNode", "has not joined yet").await?;
    let bootstrap = bootstrap_secrets(lab).await?;
    ensure!(bootstrap.len() == 1, "one token waits for the Node");
    is_running(lab, "m").await?;
    lab.create_machine("other", "plain").await?;
    eventually("the other driver has made a VM", async || {
        Ok(lab.machines().get("other").await?.provider_id().map(drop))
    })
    .await?;
    lab.delete_machine("m").await?;
    is_gone(lab, "m").await?;
    let mut secrets =
        vec![TOKEN.to_owned(), STANDARD.encode(TOKEN), "/var/lib/kubelet/bootstrap-token".to_owned()];
    secrets.extend(bootstrap);
    Ok(secrets)
}

/// Only the plugin that was named is recorded, and nothing that it recorded holds a secret.
fn only_sim_and_no_secret(folder: &Path, secrets: &[String]) -> Result<Vec<PathBuf>> {
    let files = files(folder)?;
    for file in &files {
        let text = fs::read_to_string(file)?;
        let recording: Value = serde_json::from_str(&text)?;
        ensure!(recording["plugin"] == "sim", "{} is of {}", file.display(), recording["plugin"]);
        for secret in secrets {
            ensure!(!text.contains(secret), "{secret} is in {}", file.display());
        }
    }
    for operation in ["CreateMachine", "GetMachineStatus", "DeleteMachine"] {
        let is_of = |file: &&PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains(operation));
        ensure!(files.iter().any(|file| is_of(&file)), "{operation} is not among {files:?}");
    }
    Ok(files)
}

async fn story(lab: &Lab, folder: &Path) -> Result<()> {
    let recordings = folder.join("recordings");
    let mut options = lab.host_options();
    let into = recordings.to_str().context("a plain path")?.to_owned();
    options.flags.extend(["--record".to_owned(), into, "--record-plugin".to_owned(), "sim".to_owned()]);
    let host = Host::start_ready(&options).await?;
    let secrets = match live(lab).await {
        Ok(secrets) => secrets,
        Err(error) => bail!("{error:#}\n\nthe host's log ends with:\n{}", host.log_end()),
    };
    host.terminate().await?;
    let files = only_sim_and_no_secret(&recordings, &secrets)?;

    let same = folder.join("same.wasm");
    fs::write(&same, SIM.as_slice())?;
    let played = replay(&same, &recordings).await?;
    let replayed = calls(&played)?;
    ensure!(played.status.success() && replayed.len() == files.len(), "{replayed:#?}");
    ensure!(replayed.iter().all(|call| call["same"] == true), "{replayed:#?}");

    // One that asks the cloud at another path.
    let changed = folder.join("changed.wasm");
    fs::write(&changed, changed_driver()?)?;
    let played = replay(&changed, &recordings).await?;
    ensure!(!played.status.success(), "a changed driver is told");
    let replayed = calls(&played)?;
    let create = replayed.iter().find(|call| call["operation"] == "CreateMachine").context("a create")?;
    let differences = create["differences"].as_array().context("differences")?;
    ensure!(create["same"] == false && !differences.is_empty(), "{create:#}");
    ensure!(create["recorded_digest"] != create["played_digest"], "{create:#}");

    cut_off(&same, &files, folder).await
}

/// The driver with another version of the cloud's API in its paths.
fn changed_driver() -> Result<Vec<u8>> {
    let (from, to) = (b"/v1/".as_slice(), b"/v2/".as_slice());
    let mut component = SIM.clone();
    let places: Vec<usize> = (0..component.len()).filter(|&at| component[at..].starts_with(from)).collect();
    ensure!(!places.is_empty(), "the path is in the component");
    for at in places {
        component[at..at + to.len()].copy_from_slice(to);
    }
    Ok(component)
}

/// A recording of which a part was copied is named, with what to do.
async fn cut_off(component: &Path, files: &[PathBuf], folder: &Path) -> Result<()> {
    let is_json = |file: &&PathBuf| file.extension() == Some(OsStr::new("json"));
    let whole = fs::read(files.iter().find(is_json).context("a recording")?)?;
    let part = folder.join("part.json");
    fs::write(&part, &whole[..whole.len() / 2])?;
    let played = replay(component, &part).await?;
    let said = String::from_utf8_lossy(&played.stderr).into_owned();
    ensure!(!played.status.success(), "half a recording is accepted");
    ensure!(said.contains("part.json is cut off in line") && said.contains("copy it again"), "{said}");
    Ok(())
}

#[tokio::test]
async fn what_a_host_records_is_played_again_bit_for_bit() {
    let _turn = turn().await;
    let mut options = LabOptions::default();
    options.kubelets.boot_delay = Duration::from_secs(2);
    options.cloud.accounts[0].tokens[0].token = TOKEN.to_owned();
    let lab = Lab::start(options).await.expect("the lab starts");
    let folder = tempfile::tempdir().expect("a folder");
    if let Err(error) = story(&lab, folder.path()).await {
        panic!("{error:#}");
    }
}
