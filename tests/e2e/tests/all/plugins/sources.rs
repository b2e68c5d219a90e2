//! Where plugins come from beside ConfigMaps that hold them: a directory, a registry. And who may be trusted there.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use e2e::{Host, Lab, eventually, manifests};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use registry::{Door, Registry};
use serde_json::{Value, json};
use simcloud::{Capacity, Faults};

use crate::plugins::push::{Shell, maps};
use crate::scene::{SIM, flagged, runs};

/// The registries of the tests are on this machine.
const LOOPBACK: &str = "--allow-loopback-registries";

/// A lab with Secret and class, and a host with these flags.
async fn staged(flags: &[String], test: impl AsyncFnOnce(&Lab, &Host) -> Result<()>) {
    flagged(flags, async |lab, host| {
        lab.put_secret(&manifests::secret("sim", lab.cloud.token())).await?;
        lab.put_class(&manifests::class("small", "sim")).await?;
        test(lab, host).await?;
        lab.clear().await
    })
    .await;
}

/// The same driver with another digest.
fn marked(component: &[u8]) -> Vec<u8> {
    [component, b"\0\x05\x04mark"].concat()
}

async fn plugin(host: &Host, name: &str) -> Result<Value> {
    let page: Value = serde_json::from_str(&host.page("/debug/plugins").await?)?;
    let plugins = page["plugins"].as_array().context("the page lists plugins")?;
    Ok(plugins.iter().find(|plugin| plugin["name"] == name).cloned().unwrap_or_default())
}

fn rename(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let draft = folder.join(format!(".{name}"));
    fs::write(&draft, bytes)?;
    fs::rename(&draft, folder.join(name))?;
    Ok(())
}

#[tokio::test]
async fn a_driver_from_a_directory_runs_machines_and_is_swapped_by_a_rename() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = [format!("--plugin-dir={}", folder.path().display())];
    staged(&flags, async |lab, host| {
        let own = folder.path().join("sim");
        fs::create_dir(&own)?;
        fs::write(own.join("grants.yaml"), manifests::grants(&lab.cloud.url()))?;
        fs::write(own.join("settings.json"), json!({ "endpoint": lab.cloud.url() }).to_string())?;
        rename(&own, "plugin.wasm", &SIM)?;
        runs(lab, "first").await?;
        let shown = plugin(host, "sim").await?;
        ensure!(shown["source"]["directory"] == "sim" && shown["serving"] == true, "{shown}");
        ensure!(shown["held"]["providers"] == json!(["sim"]), "{shown}");

        // A file that is no component changes nothing, and is reported.
        rename(&own, "plugin.wasm", b"no wasm")?;
        eventually("the driver of the directory is rejected", async || {
            let shown = plugin(host, "sim").await?;
            Ok((shown["state"] == "Rejected" && shown["serving"] == true).then_some(()))
        })
        .await?;
        runs(lab, "second").await?;

        let before = shown["held"]["digest"].clone();
        rename(&own, "plugin.wasm", &marked(&SIM))?;
        eventually("the next version serves", async || {
            let shown = plugin(host, "sim").await?;
            Ok((shown["state"] == "Ready" && shown["held"]["digest"] != before).then_some(()))
        })
        .await?;
        runs(lab, "third").await?;
        ensure!(lab.cloud.live_vms().len() == 3, "one VM for each Machine");
        logs(lab, host).await
    })
    .await;
}

/// The driver's report of a zone without capacity can be queried.
async fn logs(lab: &Lab, host: &Host) -> Result<()> {
    let full = Capacity { zone: "sim-1a".to_owned(), kind: "*".to_owned(), limit: 0 };
    let faults = Faults { capacity: vec![full], ..Faults::default() };
    lab.cloud.set_faults(faults).map_err(|error| anyhow!("{error:?}"))?;
    let (shell, url) = (Shell::new(lab)?, host.url());
    let followed = tempfile::NamedTempFile::new()?;
    let _follower = tokio::process::Command::new(e2e::binary()?)
        .args(["plugin", "logs", "sim", "--follow", "--url", &url])
        .stdout(followed.reopen()?)
        .kill_on_drop(true)
        .spawn()?;
    lab.create_machine("crowded", "small").await?;
    let logs = ["logs", "sim", "--url", &url];
    eventually("the driver's line is shown", async || {
        let said = shell.does(&logs).await?;
        let line = said.lines().find(|line| line.contains("zone has no room"));
        Ok(line
            .filter(|line| line.contains("info") && line.contains("crowded") && line.contains("zone=sim-1a"))
            .map(drop))
    })
    .await?;
    eventually("who follows is shown it too", async || {
        Ok(fs::read_to_string(followed.path())?.contains("zone has no room").then_some(()))
    })
    .await?;
    let all = shell.does(&[&logs[..], &["-o", "json", "--since", "1h"]].concat()).await?;
    let line: Value = serde_json::from_str(all.lines().next().context("there is a line")?)?;
    ensure!(
        line["level"] == "info" && line["digest"].as_str().is_some_and(|is| is.starts_with("sha256:")),
        "{line}"
    );
    let none = shell.does(&[&logs[..], &["--level", "error"]].concat()).await?;
    ensure!(none.contains("sim has logged nothing of this kind"), "{none}");
    shell.fails(&["logs", "smi", "--url", &url], "there is no plugin smi; there are: sim").await?;
    shell.fails(&["logs", "sim", "--url", "http://127.0.0.1:1"], "--url is HOST:PORT").await?;
    lab.cloud.clear_faults();
    Ok(())
}

/// The beginning of the names of its files.
fn pair_of_keys(folder: &Path) -> Result<String> {
    let key = folder.join("ours").display().to_string();
    let made = Command::new(e2e::binary()?).args(["plugin", "keygen", &key]).output()?;
    ensure!(made.status.success(), "{made:?}");
    Ok(key)
}

/// A ConfigMap that names an artifact.
fn naming(lab: &Lab, name: &str, reference: &str) -> Result<ConfigMap> {
    let mut map = manifests::plugin(name, &SIM, &lab.cloud.url())?;
    map.binary_data = None;
    let data = map.data.get_or_insert_default();
    data.remove("sha256");
    data.insert("oci".to_owned(), reference.to_owned());
    Ok(map)
}

#[tokio::test]
async fn a_signed_driver_from_a_registry_runs_machines_and_an_unsigned_one_is_rejected() {
    let registry = tokio::task::spawn_blocking(|| Registry::start(Door::Open)).await.expect("runs");
    let registry = Arc::new(registry.expect("the registry starts"));
    let keys = tempfile::tempdir().expect("a folder");
    let key = pair_of_keys(keys.path()).expect("keys are made");
    let flags = [format!("--plugin-keys={key}.pub"), "--require-signature=*".to_owned(), LOOPBACK.to_owned()];
    staged(&flags, async |lab, host| {
        let shell = Shell::new(lab)?;
        let (private, reference) = (format!("{key}.key"), format!("{}/acme/sim:1", registry.address()));
        let said = shell.does(&["push", "sim.wasm", "--oci", &reference, "--sign", &private]).await?;
        let digest = said.split_once('@').and_then(|(_, rest)| rest.split_whitespace().next());
        let digest = digest.context("the push names a digest")?.to_owned();
        lab.put_plugin(&naming(lab, "sim", &reference)?).await?;
        // The signature shows its maker, and nothing shows who has approved its grants here.
        lab.plugin_state("sim", "Rejected").await?;
        let status = lab.plugin_status("sim").await?.context("it has a status")?;
        let reason = status["reason"].as_str().unwrap_or_default();
        ensure!(reason.contains("here only the component is"), "{status}");
        shell.does(&["sign", "--configmap", "sim", "--key", &private, "--counter", "3"]).await?;
        lab.plugin_state("sim", "Ready").await?;
        let status = lab.plugin_status("sim").await?.context("it has a status")?;
        ensure!(status["resolved"]["manifest"] == json!(digest), "the tag is pinned: {status}");
        ensure!(status["signedBy"].is_string() && status["bundle"]["counter"] == 3, "{status}");
        let said = shell.does(&["list"]).await?;
        ensure!(said.contains(" ours:3"), "{said}");
        runs(lab, "m").await?;
        let shown = plugin(host, "sim").await?;
        ensure!(shown["source"]["oci"]["manifest"] == json!(digest), "{shown}");
        ensure!(shown["source"]["configMap"] == "machinist-system/sim", "{shown}");

        // An unsigned plugin is not loaded, wherever it comes from, and the signed one keeps serving.
        let unsigned = format!("{}/acme/sim:2", registry.address());
        shell.does(&["push", "sim-2.wasm", "--oci", &unsigned]).await?;
        lab.put_plugin(&naming(lab, "other", &unsigned)?).await?;
        lab.plugin_state("other", "Rejected").await?;
        let status = lab.plugin_status("other").await?.context("it has a status")?;
        let reason = status["reason"].as_str().unwrap_or_default();
        ensure!(reason.contains("must be signed"), "{status}");
        runs(lab, "n").await?;

        // An upgrade is reviewed before it is pushed.
        let (old, new) = (format!("oci:{reference}"), format!("oci:{unsigned}"));
        let said = shell.does(&["diff", &old, &new]).await?;
        ensure!(said.contains("-Digest:") && said.contains("+Digest:") && said.contains("+Size:"), "{said}");
        let said = shell.does(&["diff", "configmap/sim", &old]).await?;
        ensure!(said.contains("-  http://127.0.0.1"), "the ConfigMap has grants: {said}");
        shell.fails(&["diff", "oci:nowhere", &new], "names no artifact").await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn a_tag_that_is_resolved_again_brings_the_version_that_its_component_calls_itself() {
    let registry = tokio::task::spawn_blocking(|| Registry::start(Door::Open)).await.expect("runs");
    let registry = Arc::new(registry.expect("the registry starts"));
    staged(&[LOOPBACK.to_owned()], async |lab, _| {
        let shell = Shell::new(lab)?;
        let reference = format!("{}/acme/sim:1", registry.address());
        shell.does(&["push", "sim.wasm", "--oci", &reference]).await?;
        let key = "machinist.dev/plugin-version";
        let mut map = naming(lab, "sim", &reference)?;
        map.metadata.annotations = Some([(key.to_owned(), "0.0.1".to_owned())].into());
        lab.put_plugin(&map).await?;
        lab.plugin_state("sim", "Ready").await?;
        let before = lab.plugin_status("sim").await?.context("it has a status")?;

        shell.does(&["push", "sim-2.wasm", "--oci", &reference]).await?;
        let said = shell.does(&["resolve", "sim"]).await?;
        ensure!(said.contains("serves sim"), "{said}");
        let status = lab.plugin_status("sim").await?.context("it has a status")?;
        ensure!(status["held"]["digest"] != before["held"]["digest"], "{status}");
        let annotations = maps(lab).get_metadata("sim").await?.metadata.annotations.unwrap_or_default();
        let version = annotations.get(key).context("the version is there")?;
        ensure!(version != "0.0.1" && status["held"]["version"] == json!(version), "{version}: {status}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_push_asks_for_the_hosts_that_a_driver_wishes() {
    staged(&[], async |lab, _| {
        let shell = Shell::new(lab)?;
        let push = |settings: &'static str, more: &[&'static str]| {
            [&["push", "sim.wasm", "--configmap", "sim", "--no-wait", "--settings", settings][..], more]
                .concat()
        };
        let absent = async || Ok::<_, anyhow::Error>(maps(lab).get_opt("sim").await?.is_none());
        // The simulated cloud is on this machine: no driver gets there by asking.
        shell.fails(&push("settings.json", &[]), "this host itself").await?;
        shell.fails(&push("settings.json", &["--yes"]), "--grants FILE").await?;
        ensure!(absent().await?, "nothing is written");
        let settings = |host: &str| json!({ "endpoint": format!("https://{host}") }).to_string();
        shell.file("cloud.json", settings("cloud.example").as_bytes())?;
        shell.file("other.json", settings("other.example").as_bytes())?;
        shell.fails(&push("cloud.json", &[]), "egress:\n  - host: \"cloud.example\"").await?;
        shell.fails(&push("cloud.json", &[]), "--grant-wanted").await?;
        ensure!(absent().await?, "nothing is written");
        shell.does(&push("cloud.json", &["--yes"])).await?;
        let grants = async || {
            let map = maps(lab).get("sim").await?;
            map.data.and_then(|mut data| data.remove("grants.yaml")).context("it has grants")
        };
        ensure!(grants().await? == "egress:\n- host: cloud.example\n", "{}", grants().await?);
        // The same again asks for nothing; a version that wants more, for that only.
        shell.does(&push("cloud.json", &[])).await?;
        shell.fails(&push("other.json", &[]), "+   - host: \"other.example\"").await?;
        shell.does(&push("other.json", &["--grant-wanted"])).await?;
        ensure!(
            grants().await? == "egress:\n- host: cloud.example\n- host: other.example\n",
            "{}",
            grants().await?
        );
        // With grants on the command line there is no question, nor the next time.
        shell.file("narrow.yaml", b"egress: []\n")?;
        shell.does(&push("cloud.json", &["--grants", "narrow.yaml"])).await?;
        shell.does(&push("cloud.json", &[])).await?;
        ensure!(grants().await? == "egress: []\n", "{}", grants().await?);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_configmap_that_was_signed_is_pushed_to_without_force() {
    staged(&[], async |lab, _| {
        let shell = Shell::new(lab)?;
        let first = [
            "push", "sim.wasm", "--configmap", "sim", "--grants", "grants.yaml", "--settings",
            "settings.json",
        ];
        shell.does(&first).await?;
        let keys = tempfile::tempdir()?;
        let private = format!("{}.key", pair_of_keys(keys.path())?);
        shell.does(&["sign", "--configmap", "sim", "--key", &private]).await?;
        let signature = async || {
            let map = maps(lab).get("sim").await?;
            Ok::<_, anyhow::Error>(map.data.and_then(|mut data| data.remove("bundle.sig")))
        };
        let made = signature().await?.context("it is signed")?;
        let said = shell.does(&["inspect", "--configmap", "sim"]).await?;
        ensure!(said.contains("Signature covers:") && !said.contains("Differs from it"), "{said}");
        // The same keeps its signature; another component, or other settings, have none.
        shell.does(&["push", "sim.wasm", "--configmap", "sim"]).await?;
        ensure!(signature().await? == Some(made), "{:?}", signature().await?);
        let said = shell.does(&["push", "sim-2.wasm", "--configmap", "sim"]).await?;
        ensure!(said.contains("serves sim") && signature().await?.is_none(), "{said}");
        runs(lab, "m").await.map(drop)
    })
    .await;
}

/// A ConfigMap that a push wrote, as a copy of the namespace has it.
async fn copy_of(lab: &Lab, name: &str) -> Result<ConfigMap> {
    let map = maps(lab).get(name).await?;
    let mut copy = ConfigMap { data: map.data, binary_data: map.binary_data, ..ConfigMap::default() };
    (copy.metadata.name, copy.metadata.labels) = (map.metadata.name, map.metadata.labels);
    Ok(copy)
}

async fn rejection(lab: &Lab, name: &str, part: &str) -> Result<()> {
    eventually("the plugin is rejected with its reason", async || {
        let status = lab.plugin_status(name).await?.unwrap_or_default();
        let reason = status["reason"].as_str().unwrap_or_default();
        Ok((status["state"] == "Rejected" && reason.contains(part)).then_some(()))
    })
    .await
}

#[tokio::test]
async fn attack_a_writer_of_configmaps_changes_nothing_that_was_signed_and_brings_no_old_version_back() {
    let keys = tempfile::tempdir().expect("a folder");
    let key = pair_of_keys(keys.path()).expect("keys are made");
    let flags = [format!("--plugin-keys={key}.pub"), "--require-signature=*".to_owned()];
    staged(&flags, async |lab, _| {
        let (shell, private) = (Shell::new(lab)?, format!("{key}.key"));
        let push = ["push", "sim.wasm", "--configmap", "sim", "--sign", &private];
        let texts = ["--grants", "grants.yaml", "--settings", "settings.json", "--counter", "1"];
        shell.does(&[&push[..], &texts].concat()).await?;
        runs(lab, "m").await?;
        let first = copy_of(lab, "sim").await?;

        // Other grants and other settings, in the ConfigMap and in a second one.
        let mut other = first.clone();
        other.metadata.name = Some("other".to_owned());
        other
            .metadata
            .labels
            .get_or_insert_default()
            .insert("machinist.dev/plugin-name".to_owned(), "sim".to_owned());
        for (text, changed) in [("grants.yaml", "egress: [{ host: evil.example }]"), ("settings.json", "{}")]
        {
            let mut other = other.clone();
            other.data.get_or_insert_default().insert(text.to_owned(), changed.to_owned());
            lab.put_plugin(&other).await?;
            rejection(lab, "other", &format!("for another {text}:")).await?;
        }
        maps(lab).delete("other", &DeleteParams::default()).await?;
        let status = lab.plugin_status("sim").await?.context("it has a status")?;
        ensure!(status["state"] == "Ready" && status["serving"] == true, "{status}");

        // The next version; then a copy of the namespace from before.
        shell
            .does(&["push", "sim-2.wasm", "--configmap", "sim", "--sign", &private, "--counter", "2"])
            .await?;
        let leases: Api<Lease> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
        let annotation = "driver.counters.machinist.dev/sim";
        eventually("the counter is kept", async || {
            let lease = leases.get_opt("machinist-plugin-counters").await?;
            let kept = lease.and_then(|lease| lease.metadata.annotations?.remove(annotation));
            Ok((kept.as_deref() == Some("2")).then_some(()))
        })
        .await?;
        maps(lab).delete("sim", &DeleteParams::default()).await?;
        lab.put_plugin(&first).await?;
        rejection(lab, "sim", "its bundle has counter 1, and the plugin has served with 2").await?;
        // An administrator lets it come back.
        let patch = json!({ "metadata": { "annotations": { annotation: "1" } } });
        leases
            .patch_metadata("machinist-plugin-counters", &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        lab.plugin_state("sim", "Ready").await?;
        runs(lab, "n").await.map(drop)
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn a_namespace_that_asks_for_signatures_gets_them() {
    staged(&[], async |lab, _| {
        lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
        lab.plugin_state("sim", "Ready").await?;
        let namespaces: Api<Namespace> = Api::all(lab.client.clone());
        let label = async |value: Value| {
            let patch = json!({ "metadata": { "labels": { "machinist.dev/require-signature": value } } });
            let patch = Patch::Merge(patch);
            namespaces.patch_metadata(manifests::NAMESPACE, &PatchParams::default(), &patch).await
        };
        label(json!("true")).await?;
        lab.plugin_state("sim", "Rejected").await?;
        let status = lab.plugin_status("sim").await?.context("it has a status")?;
        ensure!(status["reason"].as_str().is_some_and(|why| why.contains("must be signed")), "{status}");
        // It has been serving, and goes on until something that is signed takes its place.
        ensure!(status["serving"] == true, "{status}");
        runs(lab, "m").await?;
        label(json!(null)).await?;
        lab.plugin_state("sim", "Ready").await
    })
    .await;
}
