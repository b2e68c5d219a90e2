//! Compiled code is compiled once, in another process, and trusted only with its tag.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use machinist_plugin_host::{CacheKey, Digest, Encoding, HostSettings, PluginReport};

use crate::fixture::{Fixture, Map, marked, plain, settings_in};

const LOOKUPS: &str = "machinist_plugin_code_cache_lookups_total";

/// Loads the plain driver with this folder and answers a call.
async fn load(settings: HostSettings) -> (Fixture, PluginReport) {
    let world = Fixture::with(settings);
    let report = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    (world, report)
}

fn code_file(folder: &Path) -> PathBuf {
    let files: Vec<_> =
        fs::read_dir(folder).expect("is there").map(|entry| entry.expect("readable").path()).collect();
    let [file] = &files[..] else { panic!("one file of code, nothing left over: {files:?}") };
    file.clone()
}

/// Another file under the same name. The old one may still be mapped: a mapped file must not change.
fn replace(file: &Path, bytes: &[u8]) {
    fs::remove_file(file).expect("ours");
    fs::write(file, bytes).expect("writable");
}

/// A host that cannot compile: the cache must be enough.
fn without_compiler(folder: &Path) -> HostSettings {
    let mut settings = settings_in(folder);
    settings.compiler = "/bin/false".into();
    settings
}

#[tokio::test]
async fn code_is_compiled_once_and_then_loaded_without_a_compiler() {
    let folder = tempfile::tempdir().expect("a folder");
    let (world, cold) = load(settings_in(folder.path())).await;
    assert!(!cold.from_cache && cold.compile_ms.is_some(), "{cold:?}");
    assert_eq!(world.metric(&format!("{LOOKUPS}{{outcome=\"hit\"}}")), 0);
    code_file(folder.path());

    let (world, warm) = load(without_compiler(folder.path())).await;
    assert!(warm.from_cache && warm.compile_ms.is_none(), "{warm:?}");
    assert_eq!(world.metric(&format!("{LOOKUPS}{{outcome=\"hit\"}}")), 1);
}

/// Damages the file, and expects another compilation.
async fn check(damage: impl FnOnce(&mut Vec<u8>)) {
    let folder = tempfile::tempdir().expect("a folder");
    load(settings_in(folder.path())).await;
    let file = code_file(folder.path());
    let mut bytes = fs::read(&file).expect("readable");
    let good = bytes.clone();
    damage(&mut bytes);
    replace(&file, &bytes);

    let (world, report) = load(settings_in(folder.path())).await;
    assert!(!report.from_cache, "{report:?}");
    assert!(world.metric(&format!("{LOOKUPS}{{outcome=\"tampered\"}}")) > 0);
    assert_eq!(fs::read(code_file(folder.path())).expect("readable").len(), good.len());
    let (_, report) = load(without_compiler(folder.path())).await;
    assert!(report.from_cache);
}

#[tokio::test]
async fn one_changed_byte_of_code() {
    check(|bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    })
    .await;
}

#[tokio::test]
async fn one_changed_byte_of_the_tag() {
    check(|bytes| *bytes.last_mut().expect("not empty") ^= 1).await;
}

#[tokio::test]
async fn a_truncated_file() {
    check(|bytes| bytes.truncate(bytes.len() - 100)).await;
}

#[tokio::test]
async fn an_empty_file() {
    check(Vec::clear).await;
}

#[tokio::test]
async fn code_of_another_installation_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    load(settings_in(folder.path())).await;
    let mut settings = settings_in(folder.path());
    settings.cache_key = CacheKey::Bytes([8; 32]);
    let (world, report) = load(settings).await;
    assert!(!report.from_cache, "{report:?}");
    assert!(world.metric(&format!("{LOOKUPS}{{outcome=\"tampered\"}}")) > 0);
}

#[tokio::test]
async fn code_of_one_component_does_not_pass_for_another() {
    let folder = tempfile::tempdir().expect("a folder");
    load(settings_in(folder.path())).await;
    let stolen = fs::read(code_file(folder.path())).expect("readable");
    fs::remove_file(code_file(folder.path())).expect("ours");

    let map = || Map::plain("plain", "2.0.0", &["plain"]).binary("plugin.wasm", marked(&plain(), "other"));
    Fixture::with(settings_in(folder.path())).ready(map()).await;
    replace(&code_file(folder.path()), &stolen);
    let world = Fixture::with(settings_in(folder.path()));
    let report = world.ready(map()).await;
    assert!(!report.from_cache, "{report:?}");
}

#[tokio::test]
async fn code_that_another_user_could_write_to_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    load(settings_in(folder.path())).await;
    fs::set_permissions(code_file(folder.path()), fs::Permissions::from_mode(0o622)).expect("ours");
    let (world, report) = load(settings_in(folder.path())).await;
    assert!(!report.from_cache, "{report:?}");
    assert!(world.metric(&format!("{LOOKUPS}{{outcome=\"tampered\"}}")) > 0);
    assert_eq!(fs::metadata(code_file(folder.path())).expect("is there").permissions().mode() & 0o777, 0o600);
}

/// The plain driver with a mark, packed, and the digest of what is inside.
fn packed(mark: &str) -> (Map, Digest) {
    let component = marked(&plain(), mark);
    let bytes = Encoding::Zstd.pack(&component).expect("packs");
    let map = Map::plain("plain", "1.0.0", &["plain"]).without("plugin.wasm");
    (map.binary("plugin.wasm.zst", bytes), Digest::of(&component))
}

fn notes(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).expect("is there").map(|entry| entry.expect("readable").path());
    let mut notes: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "note")).collect();
    notes.sort();
    notes
}

#[tokio::test]
async fn a_note_of_what_is_packed_is_made_once_and_is_no_way_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = async |mark: &str| {
        let world = Fixture::with(settings_in(folder.path()));
        let (map, digest) = packed(mark);
        let report = world.ready(map).await;
        assert_eq!(world.version("plain").await, "1.0.0");
        assert_eq!((report.digest, report.size_bytes), (Some(digest), Some(marked(&plain(), mark).len())));
        report
    };
    load("one").await;
    let [first] = &notes(folder.path())[..] else { panic!("one note") };
    let good = fs::read(first).expect("readable");
    assert!(load("one").await.from_cache);
    assert_eq!(notes(folder.path()).as_slice(), std::slice::from_ref(first));

    load("two").await;
    let second = notes(folder.path()).into_iter().find(|note| note != first).expect("another note");
    // A note of one does not pass for the other, nor does an invalid note; both are written again.
    for wrong in [good.clone(), b"{}".to_vec()] {
        fs::write(&second, &wrong).expect("ours");
        assert!(load("two").await.from_cache);
        assert_ne!(fs::read(&second).expect("readable"), wrong);
    }
    assert_eq!(fs::read(first).expect("readable"), good);
}

#[tokio::test]
async fn a_component_that_is_known_by_a_note_is_compiled_when_its_code_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let map = || packed("one").0;
    Fixture::with(settings_in(folder.path())).ready(map()).await;
    for entry in fs::read_dir(folder.path()).expect("is there") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|kind| kind == "code") {
            fs::remove_file(path).expect("ours");
        }
    }
    let report = Fixture::with(settings_in(folder.path())).ready(map()).await;
    assert!(!report.from_cache, "{report:?}");

    let wrong = Fixture::with(settings_in(folder.path()));
    let reason = wrong.rejected(map().data("sha256", &Digest::of(b"another").to_string())).await;
    assert!(reason.contains("and sha256 says"), "{reason}");
}
