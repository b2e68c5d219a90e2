//! Plugins in a directory: declared, swapped and taken away like those in ConfigMaps.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machinist_artifacts::{Keyring, SigningKey};
use machinist_plugin_host::{Digest, HostSettings, PluginReport, PluginState, Required, SourceId, Trust};

use crate::fixture::{Fixture, Map, marked, plain, settings, signed, version};

/// Only a defect waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

struct PluginFolder {
    world: Fixture,
    root: PathBuf,
    _folder: tempfile::TempDir,
}

impl PluginFolder {
    async fn new() -> Self {
        Self::with(settings(), |_| {}).await
    }

    async fn with(settings: HostSettings, prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("plugins");
        fs::create_dir(&root).expect("a folder");
        prepare(&root);
        let world = Fixture::with(settings);
        world.host.watch_directory(&root).await;
        Self { world, root, _folder: folder }
    }

    fn report(&self, name: &str) -> Option<PluginReport> {
        let source = SourceId::in_directory(name);
        self.world.host.plugins().into_iter().find(|report| report.source == source)
    }

    async fn until(&self, name: &str, holds: impl Fn(Option<&PluginReport>) -> bool) -> Option<PluginReport> {
        let begun = Instant::now();
        loop {
            let report = self.report(name);
            if holds(report.as_ref()) {
                return report;
            }
            assert!(begun.elapsed() < TIMEOUT, "{report:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn serving(&self, name: &str, version: &str) {
        let serves = |report: Option<&PluginReport>| {
            report.is_some_and(|report| report.serving && report.state == PluginState::Ready)
        };
        self.until(name, serves).await;
        let begun = Instant::now();
        while self.world.version("plain").await != version {
            assert!(begun.elapsed() < TIMEOUT, "{:?}", self.report(name));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn rejected_with(&self, name: &str, part: &str) {
        let says = |report: Option<&PluginReport>| {
            report.and_then(|report| report.reason.as_ref()).is_some_and(|reason| reason.contains(part))
        };
        self.until(name, says).await;
    }

    async fn rejected(&self, name: &str) -> String {
        let is_rejected = |report: Option<&PluginReport>| {
            report.is_some_and(|report| report.state == PluginState::Rejected)
        };
        let report = self.until(name, is_rejected).await;
        report.and_then(|report| report.reason).expect("a rejection has a reason")
    }
}

fn of_version(version: &str) -> String {
    serde_json::json!({ "version": version, "providers": ["plain"] }).to_string()
}

/// A folder with the plain driver as this version.
fn put(root: &Path, name: &str, version: &str) {
    let folder = root.join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("plugin.wasm"), plain()).expect("writes");
    rename(&folder, "settings.json", of_version(version).as_bytes());
}

/// Replaces the file by a rename, as a careful deployment does.
fn rename(folder: &Path, name: &str, bytes: &[u8]) {
    let draft = folder.join(format!(".{name}"));
    fs::write(&draft, bytes).expect("writes");
    fs::rename(&draft, folder.join(name)).expect("renames");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_that_are_there_at_the_start_are_declared_when_the_watch_begins() {
    let scene = PluginFolder::with(settings(), |root| put(root, "plain", "1.0.0")).await;
    assert!(scene.report("plain").is_some());
    scene.serving("plain", "1.0.0").await;
    let report = scene.report("plain").expect("is there");
    assert_eq!((report.plugin.as_str(), report.source.to_string().as_str()), ("plain", "directory:plain"));
    assert_eq!(scene.world.metric("machinist_plugin_directory_failures_total"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_renamed_are_swapped_without_a_lost_call_and_files_that_are_gone_serve_no_more() {
    let scene = Arc::new(PluginFolder::new().await);
    put(&scene.root, "plain", "1.0.0");
    scene.serving("plain", "1.0.0").await;
    let stop = Arc::new(AtomicBool::new(false));
    let calls = tokio::spawn({
        let (scene, stop) = (Arc::clone(&scene), Arc::clone(&stop));
        async move {
            let mut versions = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                versions.push(version(&scene.world.create("plain", "{}").await));
            }
            versions
        }
    });
    rename(&scene.root.join("plain"), "settings.json", of_version("2.0.0").as_bytes());
    scene.serving("plain", "2.0.0").await;
    rename(&scene.root.join("plain"), "plugin.wasm", &marked(&plain(), "next"));
    let next = Digest::of(&marked(&plain(), "next"));
    let holds = |report: Option<&PluginReport>| {
        report.and_then(|report| report.held.as_ref()).is_some_and(|held| held.digest == next)
    };
    scene.until("plain", holds).await;
    stop.store(true, Ordering::Relaxed);
    // Each call was answered: `version` panics on an error.
    let versions = calls.await.expect("no call is lost");
    assert!(versions.is_sorted() && versions.last().is_some_and(|last| last == "2.0.0"), "{versions:?}");
    fs::remove_dir_all(scene.root.join("plain")).expect("removes");
    scene.until("plain", |report| report.is_none()).await;
    assert!(scene.world.create("plain", "{}").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_serving_version_stays_whatever_follows() {
    let scene = PluginFolder::new().await;
    put(&scene.root, "plain", "1.0.0");
    scene.serving("plain", "1.0.0").await;
    let folder = scene.root.join("plain");
    let mut reasons = Vec::new();
    let mut goes_on = async |part: &str| {
        let says = |report: Option<&PluginReport>| {
            let report = report.filter(|report| report.state == PluginState::Rejected);
            report.and_then(|report| report.reason.as_ref()).is_some_and(|reason| reason.contains(part))
        };
        let report = scene.until("plain", says).await.expect("is there");
        let reason = report.reason.expect("is rejected");
        assert_eq!(scene.world.version("plain").await, "1.0.0");
        reasons.push(reason);
    };
    // root may read all files: a folder in the place of a file is unreadable for all.
    let heal = async || {
        fs::write(folder.join("plugin.wasm"), plain()).expect("writes");
        let is_ready =
            |report: Option<&PluginReport>| report.is_some_and(|report| report.state == PluginState::Ready);
        scene.until("plain", is_ready).await;
    };
    fs::write(folder.join("plugin.wasm"), b"no wasm at all").expect("writes");
    goes_on("component").await;
    heal().await;
    fs::remove_file(folder.join("plugin.wasm")).expect("removes");
    goes_on("no component").await;
    fs::create_dir(folder.join("plugin.wasm")).expect("a folder");
    goes_on("is no file").await;
    fs::remove_dir(folder.join("plugin.wasm")).expect("removes");
    fs::write(scene.root.join("../outside.wasm"), plain()).expect("writes");
    symlink("../../outside.wasm", folder.join("plugin.wasm")).expect("links");
    goes_on("leads out of the directory").await;
    fs::remove_file(folder.join("plugin.wasm")).expect("removes");
    heal().await;
    rename(&folder, "sha256", Digest::of(b"another").hex().as_bytes());
    goes_on("digest").await;
    rename(&folder, "sha256", format!("{}  plugin.wasm\n", Digest::of(&plain()).hex()).as_bytes());
    heal().await;
    // The folder itself: nothing is taken away because it cannot be seen.
    let away = scene.root.with_extension("away");
    fs::rename(&scene.root, &away).expect("renames");
    let begun = Instant::now();
    while scene.world.host.directory().is_none_or(|directory| directory.trouble.is_none()) {
        assert!(begun.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(scene.world.metric("machinist_plugin_directory_failures_total") >= 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(scene.world.version("plain").await, "1.0.0");
    fs::rename(&away, &scene.root).expect("renames");
    while scene.world.host.directory().is_none_or(|directory| directory.trouble.is_some()) {
        assert!(begun.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(reasons.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_still_being_written_is_not_taken() {
    let scene = PluginFolder::new().await;
    let component = plain();
    let (half, rest) = component.split_at(component.len() / 2);
    let path = scene.root.join("half.wasm");
    // It grows at each look, as a slow copy does.
    fs::write(&path, half).expect("writes");
    for piece in rest.chunks(rest.len() / 8) {
        let mut file = fs::OpenOptions::new().append(true).open(&path).expect("opens");
        std::io::Write::write_all(&mut file, piece).expect("writes");
        tokio::time::sleep(Duration::from_millis(250)).await;
        let is_rejected = scene.report("half").is_some_and(|report| report.state == PluginState::Rejected);
        assert!(!is_rejected, "{:?}", scene.report("half"));
    }
    let is_ready = |report: Option<&PluginReport>| {
        report.is_some_and(|report| report.digest == Some(Digest::of(&plain())))
    };
    scene.until("half", is_ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configmap_of_the_same_name_comes_first_and_another_name_for_the_provider_is_rejected() {
    let scene = PluginFolder::new().await;
    put(&scene.root, "plain", "1.0.0");
    scene.serving("plain", "1.0.0").await;
    let other = scene.world.rejected(Map::plain("other", "3.0.0", &["plain"])).await;
    assert!(other.contains("plain"), "{other}");
    let map = Map::plain("plain", "2.0.0", &["plain"]);
    let id = map.id();
    scene.world.ready(map).await;
    assert_eq!(scene.world.version("plain").await, "2.0.0");
    assert!(!scene.report("plain").expect("is there").serving);
    scene.world.host.withdraw(id).await;
    assert_eq!(scene.world.version("plain").await, "1.0.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_plugins_must_be_signed_the_directory_is_no_way_around() {
    let key = SigningKey::generate().expect("a key");
    let mut strict = settings();
    strict.trust = Trust {
        keys: Keyring::parse("ours", &key.public_pem()).expect("a key"),
        required: Required::In(vec!["machinist".to_owned()]).with_directory_as("machinist"),
    };
    let scene = PluginFolder::with(strict, |root| put(root, "plain", "1.0.0")).await;
    let reason = scene.rejected("plain").await;
    assert!(reason.contains("must be signed"), "{reason}");
    let signature = key.sign_blob(&plain()).expect("signs");
    rename(&scene.root.join("plain"), "signature", format!("{signature}\n").as_bytes());
    scene.rejected_with("plain", "here only the component is").await;
    let bundled = signed(Map::plain("plain", "1.0.0", &["plain"]), &key, &["plain"], 1);
    for (file, text) in &bundled.0.data {
        rename(&scene.root.join("plain"), file, format!("{text}\n").as_bytes());
    }
    // The end of the line is part of the settings that were signed.
    scene.rejected_with("plain", "for another settings.json:").await;
    put(&scene.root, "plain", "1.0.0");
    scene.serving("plain", "1.0.0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_not_there_yet_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("later");
    let world = Fixture::new();
    world.host.watch_directory(&root).await;
    let trouble = world.host.directory().and_then(|directory| directory.trouble).expect("it is not there");
    assert!(trouble.starts_with("failed to read the folder"), "{trouble}");
    fs::create_dir(&root).expect("a folder");
    put(&root, "plain", "1.0.0");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("permits");
    let scene = PluginFolder { world, root, _folder: folder };
    scene.serving("plain", "1.0.0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_requirement_of_signatures_reloads_all_sources_while_versions_serve() {
    let key = SigningKey::generate().expect("a key");
    let mut loose = settings();
    loose.trust.keys = Keyring::parse("ours", &key.public_pem()).expect("a key");
    let scene = PluginFolder::with(loose, |root| put(root, "plain", "1.0.0")).await;
    scene.serving("plain", "1.0.0").await;
    let map = || Map::plain("mapped", "2.0.0", &["mapped"]);
    scene.world.ready(map()).await;
    assert!(scene.world.host.require_signatures(true) && !scene.world.host.require_signatures(true));
    assert!(scene.rejected("plain").await.contains("must be signed"));
    assert!(scene.world.rejected(map()).await.contains("must be signed"));
    assert_eq!(scene.world.version("plain").await, "1.0.0");
    assert_eq!(scene.world.version("mapped").await, "2.0.0");
    // A signature, or another rule, fixes it.
    scene.world.ready(signed(map(), &key, &["mapped"], 1)).await;
    assert!(scene.world.host.require_signatures(false));
    scene.serving("plain", "1.0.0").await;
    scene.world.ready(map()).await;
}
