//! `machinist plugin push` and `inspect` against a real control plane.

use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use e2e::{Lab, LabOptions, manifests};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::process::Command;

use crate::scene::{SIM, is_running, runs, scene};

pub(crate) fn maps(lab: &Lab) -> Api<ConfigMap> {
    Api::namespaced(lab.client.clone(), manifests::NAMESPACE)
}

/// Names of the ConfigMaps that are parts.
pub(crate) async fn parts(lab: &Lab) -> Result<Vec<String>> {
    let params = ListParams::default().labels("machinist.dev/plugin=part");
    let parts = maps(lab).list_metadata(&params).await?;
    Ok(parts.items.into_iter().filter_map(|part| part.metadata.name).collect())
}

/// The administrator's command line, with a folder for its files.
pub(crate) struct Shell<'a> {
    lab: &'a Lab,
    folder: tempfile::TempDir,
}

impl<'a> Shell<'a> {
    pub(crate) fn new(lab: &'a Lab) -> Result<Self> {
        let shell = Self { lab, folder: tempfile::tempdir()? };
        shell.file("grants.yaml", manifests::grants(&lab.cloud.url()).as_bytes())?;
        shell.file("settings.json", json!({ "endpoint": lab.cloud.url() }).to_string().as_bytes())?;
        shell.file("sim.wasm", &SIM)?;
        shell.file("sim-2.wasm", &marked(&SIM))?;
        Ok(shell)
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        std::fs::write(self.folder.path().join(name), bytes)
            .with_context(|| format!("failed to write {name}"))
    }

    async fn plugin(&self, arguments: &[&str], kubeconfig: &Path) -> Result<Output> {
        let done = Command::new(e2e::binary()?)
            .arg("plugin")
            .args(arguments)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .await?;
        Ok(done)
    }

    /// It succeeds; what it prints, with its progress.
    pub(crate) async fn does(&self, arguments: &[&str]) -> Result<String> {
        let done = self.plugin(arguments, &self.lab.plane.admin_kubeconfig()).await?;
        let said =
            [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        ensure!(done.status.success(), "{arguments:?} fails: {said}");
        Ok(said)
    }

    /// It fails, and says why.
    pub(crate) async fn fails(&self, arguments: &[&str], part: &str) -> Result<()> {
        let kubeconfig = self.lab.plane.admin_kubeconfig();
        self.fails_as(arguments, &kubeconfig, part).await
    }

    async fn fails_as(&self, arguments: &[&str], kubeconfig: &Path, part: &str) -> Result<()> {
        let done = self.plugin(arguments, kubeconfig).await?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(!done.status.success() && said.contains(part), "{arguments:?} says {said}, not {part}");
        Ok(())
    }
}

const FIRST: [&str; 8] =
    ["push", "sim.wasm", "--configmap", "sim", "--grants", "grants.yaml", "--settings", "settings.json"];
const AGAIN: [&str; 4] = ["push", "sim.wasm", "--configmap", "sim"];
const NEXT: [&str; 4] = ["push", "sim-2.wasm", "--configmap", "sim"];
const SMALL: [&str; 2] = ["--part-size", "20000"];

/// The same driver with another digest.
fn marked(component: &[u8]) -> Vec<u8> {
    [component, b"\0\x05\x04mark"].concat()
}

/// A lab without a driver, with Secret and class for it.
async fn bare(test: impl AsyncFnOnce(&Lab, &Shell<'_>) -> Result<()>) {
    scene(LabOptions::default(), async |lab, _| {
        lab.put_secret(&manifests::secret("sim", lab.cloud.token())).await?;
        lab.put_class(&manifests::class("small", "sim")).await?;
        test(lab, &Shell::new(lab)?).await?;
        lab.clear().await
    })
    .await;
}

async fn version(lab: &Lab, name: &str) -> Result<Option<String>> {
    Ok(maps(lab).get_metadata(name).await?.metadata.resource_version)
}

async fn keys(lab: &Lab) -> Result<Vec<String>> {
    let map = maps(lab).get("sim").await?;
    let data = map.data.unwrap_or_default().into_keys();
    Ok(data.chain(map.binary_data.unwrap_or_default().into_keys()).collect())
}

#[tokio::test]
async fn a_push_brings_a_driver_in_one_configmap_or_in_parts_and_back() {
    bare(async |lab, shell| {
        let said = shell.does(&FIRST).await?;
        ensure!(said.contains("serves sim"), "{said}");
        ensure!(parts(lab).await?.is_empty());
        runs(lab, "by-one").await?;
        let before = version(lab, "sim").await?;
        let said = shell.does(&AGAIN).await?;
        ensure!(said.contains("unchanged") && version(lab, "sim").await? == before, "{said}");

        // Settings and grants stay; the component moves into parts.
        shell.does(&[&NEXT[..], &SMALL].concat()).await?;
        let first = parts(lab).await?;
        ensure!(first.len() > 1, "{first:?}");
        ensure!(
            keys(lab).await? == ["grants.yaml", "parts.json", "settings.json", "sha256"],
            "{:?}",
            keys(lab).await?
        );
        runs(lab, "by-parts").await?;
        let said = shell.does(&["inspect", "--configmap", "sim"]).await?;
        ensure!(said.contains(&format!("{} bytes", SIM.len() + 7)) && said.contains("127.0.0.1"), "{said}");
        let said = shell.does(&["list"]).await?;
        ensure!(
            !first.iter().any(|part| said.contains(part.as_str())),
            "a part is listed as a plugin: {said}"
        );

        // Other parts take their place, and those that nobody needs go.
        shell.does(&[&AGAIN[..], &SMALL].concat()).await?;
        let second = parts(lab).await?;
        ensure!(second.len() > 1 && !second.iter().any(|part| first.contains(part)), "{second:?}");
        runs(lab, "by-other-parts").await?;

        shell.does(&[&AGAIN[..], &["--encoding", "gzip"]].concat()).await?;
        ensure!(parts(lab).await?.is_empty(), "{:?}", parts(lab).await?);
        ensure!(keys(lab).await?.contains(&"plugin.wasm.gz".to_owned()), "{:?}", keys(lab).await?);
        runs(lab, "by-gzip").await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn a_push_over_a_driver_that_makes_machines_loses_and_doubles_none() {
    bare(async |lab, shell| {
        shell.does(&FIRST).await?;
        let count = 30;
        let create = async {
            for number in 0..count {
                lab.create_machine(&format!("m-{number}"), "small").await?;
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            anyhow::Ok(())
        };
        let next = [&NEXT[..], &SMALL].concat();
        let (created, pushed) = tokio::join!(create, shell.does(&next));
        created?;
        pushed?;
        lab.machines_in_phase("Running", count).await?;
        ensure!(lab.cloud.stats().created == 30, "{:?}", lab.cloud.stats());
        ensure!(lab.cloud.live_vms().len() == count);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn objects_of_others_are_not_overwritten_without_a_flag() {
    bare(async |lab, shell| {
        let foreign: ConfigMap =
            serde_json::from_value(json!({ "metadata": { "name": "foreign" }, "data": { "a": "b" } }))?;
        maps(lab).create(&kube::api::PostParams::default(), &foreign).await?;
        let over = ["push", "sim.wasm", "--configmap", "foreign", "--force"];
        shell.fails(&over, "is no plugin, and is not overwritten").await?;
        ensure!(maps(lab).get("foreign").await?.data == foreign.data);

        // As `kubectl create` made it.
        lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
        lab.plugin_state("sim", "Ready").await?;
        let next = [&NEXT[..], &SMALL].concat();
        shell.fails(&next, "--force").await?;
        ensure!(parts(lab).await?.is_empty(), "nothing was written");
        let forced = [&next[..], &["--force"]].concat();
        let said = shell.does(&forced).await?;
        ensure!(said.contains("serves sim"), "{said}");
        runs(lab, "by-force").await?;

        // The host's own account may not write plugins.
        let host = lab.host_kubeconfig().to_owned();
        shell.fails_as(&["push", "sim.wasm", "--configmap", "other"], &host, "ask an administrator").await?;
        is_running(lab, "by-force").await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn a_push_that_the_host_rejects_says_why_and_what_serves_on() {
    bare(async |lab, shell| {
        shell.does(&FIRST).await?;
        // Valid alone, and rejected here: another plugin serves this provider.
        let rival = [
            "push", "sim-2.wasm", "--configmap", "rival", "--grants", "grants.yaml", "--settings",
            "settings.json",
        ];
        shell.fails(&rival, "provider sim is served by plugin sim, and the first stays").await?;
        ensure!(lab.plugin_status("rival").await?.context("a status")?["state"] == "Rejected");
        maps(lab).delete("rival", &kube::api::DeleteParams::default()).await?;

        // Locally refused: nothing is written.
        let before = version(lab, "sim").await?;
        shell.file("bad.wasm", &SIM[..SIM.len() / 2])?;
        shell.fails(&["push", "bad.wasm", "--configmap", "sim"], "it is damaged or truncated").await?;
        shell.file("bad.yaml", b"limits: { memory_mib: 1000000 }")?;
        let limits = [&AGAIN[..], &["--grants", "bad.yaml"]].concat();
        shell.fails(&limits, "limit memory_mib is 1000000").await?;
        ensure!(version(lab, "sim").await? == before);

        // Nobody looks in another namespace.
        let patch = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "elsewhere" } });
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(lab.client.clone());
        namespaces.patch("elsewhere", &PatchParams::apply("test"), &Patch::Apply(patch)).await?;
        let elsewhere = [&FIRST[..], &["--namespace", "elsewhere", "--timeout", "2s"]].concat();
        shell.fails(&elsewhere, "no host has looked at it after 2 s").await?;
        runs(lab, "by-the-first").await.map(drop)
    })
    .await;
}
