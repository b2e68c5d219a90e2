//! `machinist plugin inspect` and `push --dry-run`, on files alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize as _;
use serde_json::Value;

static SIM: LazyLock<Vec<u8>> = LazyLock::new(|| guests::bytes("sim-driver").expect("builds"));
const GRANTS: &str = "egress: [{ host: api.example.com, methods: [GET] }]\nlimits: { cpu_ms: 77 }\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("writable");
        path
    }
}

fn machinist(command: &str, file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_machinist"))
        .args(["plugin", command])
        .arg(file)
        .args(arguments)
        .env_remove("KUBECONFIG")
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Its output when it succeeds.
#[track_caller]
fn prints(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Its output when it fails with this reason.
#[track_caller]
fn fails(output: &Output, reason: &str) -> String {
    let said = text(&output.stderr);
    assert!(!output.status.success(), "it succeeds: {}", text(&output.stdout));
    assert!(said.contains(reason) && !said.contains("panicked"), "{reason:?} is not in {said}");
    text(&output.stdout)
}

fn objects(output: &Output) -> Vec<ConfigMap> {
    let text = prints(output);
    serde_yaml_ng::Deserializer::from_str(&text)
        .map(|document| ConfigMap::deserialize(document).expect("a ConfigMap"))
        .collect()
}

#[test]
fn a_good_component_shows_all_that_an_operator_asks() {
    let folder = Folder::new();
    let file = folder.file("sim.wasm", &SIM);
    let grants = folder.file("grants.yaml", GRANTS.as_bytes());
    let grants = grants.to_str().expect("text");
    let shown = prints(&machinist("inspect", &file, &["--grants", grants]));
    for part in [
        &format!("{} bytes", SIM.len()),
        "sha256:",
        "machinist:provider/driver@0.1.0",
        "Providers:           sim",
        "idempotency-key",
        "machinist:host/secrets@0.1.0",
        "wasi:cli/",
        "https://api.example.com port 443; GET; addresses public",
        "cpu_ms: 77 (granted)",
        "memory_mib: 128 (default)",
        "\"type\": \"object\"",
    ] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    let json: Value =
        serde_json::from_str(&prints(&machinist("inspect", &file, &["--output", "json"]))).expect("JSON");
    assert_eq!(json["driver"]["providers"], serde_json::json!(["sim"]));
    assert_eq!(json["size_bytes"], SIM.len());
    assert_eq!(json["refusal"], Value::Null);
    assert_eq!(json["driver"]["class_schema"]["type"], "object");
    let names = |list: &str| json[list].as_array().expect("a list").len();
    assert!(names("granted_imports") > 3 && names("inert_imports") > 0 && names("unknown_imports") == 0);
    let inert = json["inert_imports"].to_string();
    assert!(!inert.contains("machinist:host") && !json["granted_imports"].to_string().contains("wasi:cli"));
}

#[test]
fn what_the_host_would_refuse_is_an_error_and_what_is_known_is_shown() {
    let folder = Folder::new();
    let garbage = folder.file("garbage.wasm", b"#!/bin/sh\n");
    let shown = fails(&machinist("inspect", &garbage, &[]), "the host would refuse it");
    assert!(shown.contains("10 bytes") && shown.contains("sha256:"), "{shown}");
    let truncated = folder.file("truncated.wasm", &SIM[..SIM.len() / 2]);
    fails(&machinist("inspect", &truncated, &[]), "it is damaged or truncated");
    let core = folder.file("core.wasm", b"\0asm\x01\0\0\0");
    fails(&machinist("inspect", &core, &[]), "it is a core module, not a component");
    let archive = folder.file("archive.wasm.gz", b"\x1f\x8b\x08\0not gzip");
    fails(&machinist("inspect", &archive, &[]), "the gzip data is damaged");
    // The outside can be read, and so is shown.
    let name = "machinist:host/settings@0.1.0";
    let place = SIM.windows(name.len()).position(|window| window == name.as_bytes()).expect("is imported");
    let mut changed = SIM.clone();
    changed[place..place + name.len()].copy_from_slice(b"machinist:host/sittings@0.1.0");
    let changed = folder.file("changed.wasm", &changed);
    let shown = fails(&machinist("inspect", &changed, &[]), "it imports what this host does not offer");
    assert!(shown.contains("machinist:host/sittings@0.1.0") && shown.contains("wasi:cli/"), "{shown}");
    fails(&machinist("inspect", Path::new("/does/not/exist"), &[]), "/does/not/exist");
    let file = folder.file("sim.wasm", &SIM);
    let grants = folder.file("grants.yaml", b"egres: []");
    fails(&machinist("inspect", &file, &["--grants", grants.to_str().expect("text")]), "egres");
}

#[test]
fn a_dry_run_prints_what_would_be_written_and_all_of_it_is_the_component() {
    let folder = Folder::new();
    let file = folder.file("sim.wasm", &SIM);
    let dry = ["--configmap", "sim", "--dry-run"];
    for (encoding, key) in [("zstd", "plugin.wasm.zst"), ("gzip", "plugin.wasm.gz"), ("none", "plugin.wasm")]
    {
        let whole = objects(&machinist("push", &file, &[&dry[..], &["--encoding", encoding]].concat()));
        let [map] = &whole[..] else { panic!("one ConfigMap: {}", whole.len()) };
        let bytes = &map.binary_data.as_ref().expect("bytes")[key];
        let packed = folder.file(key, &bytes.0);
        let shown = prints(&machinist("inspect", &packed, &[]));
        assert!(shown.contains(&format!("{} bytes, {encoding}", bytes.0.len())), "{shown}");
        assert!(shown.contains(&format!("Size:                {} bytes", SIM.len())), "{shown}");
    }
    let size = "20000";
    let cut = objects(&machinist("push", &file, &[&dry[..], &["--part-size", size]].concat()));
    let (index, parts) = cut.split_last().expect("an index");
    assert!(parts.len() > 1 && index.binary_data.is_none(), "{}", parts.len());
    let bytes: Vec<u8> = parts
        .iter()
        .flat_map(|part| part.binary_data.as_ref().expect("bytes")["plugin.wasm.part"].0.clone())
        .collect();
    let packed = folder.file("joined", &bytes);
    prints(&machinist("inspect", &packed, &[]));
    let named = &index.data.as_ref().expect("data")["parts.json"];
    for part in parts {
        assert!(named.contains(part.metadata.name.as_ref().expect("a name")), "{named}");
    }
}

#[test]
fn a_push_of_what_the_host_would_refuse_asks_no_cluster() {
    let folder = Folder::new();
    let garbage = folder.file("garbage.wasm", b"#!/bin/sh\n");
    let nowhere = ["--configmap", "sim", "--kubeconfig", "/does/not/exist"];
    fails(&machinist("push", &garbage, &nowhere), "it is not WebAssembly");
    let file = folder.file("sim.wasm", &SIM);
    let grants = folder.file("grants.yaml", b"egres: []");
    let wrong = [&nowhere[..], &["--grants", grants.to_str().expect("text")]].concat();
    fails(&machinist("push", &file, &wrong), "the grants are wrong");
    fails(&machinist("push", &file, &nowhere), "/does/not/exist");
    fails(&machinist("push", &file, &["--configmap", "sim", "--part-size", "10"]), "1024");
    fails(&machinist("push", &file, &[]), "--configmap");
    let tiny = ["--configmap", "sim", "--dry-run", "--part-size", "1024"];
    fails(&machinist("push", &file, &tiny), "parts, and 32 are the most");
}

#[test]
fn what_is_no_component_is_neither_signed_nor_compared_and_little_is_shown_of_it() {
    let folder = Folder::new();
    let prefix = folder.0.path().join("key");
    assert!(machinist("keygen", &prefix, &[]).status.success());
    let key = prefix.with_extension("key");
    let key = key.to_str().expect("text");
    let (one, two) = (folder.file("one.wasm", b"#!/bin/sh\n"), folder.file("two.wasm", b"#!/bin/sh\n"));
    assert!(
        fails(&machinist("sign", &one, &["--key", key]), "it is no component: it is not WebAssembly")
            .is_empty()
    );
    let core = folder.file("core.wasm", b"\0asm\x01\0\0\0");
    fails(&machinist("sign", &core, &["--key", key]), "core.wasm is not signed: it is no component");
    let good = folder.file("sim.wasm", &SIM);
    prints(&machinist("sign", &good, &["--key", key]));
    let compared = machinist("diff", &one, &[two.to_str().expect("text")]);
    assert!(
        fails(
            &compared,
            "one.wasm, which is no component: failed to verify the component: it is not WebAssembly"
        )
        .is_empty()
    );
    fails(&machinist("diff", &good, &[two.to_str().expect("text")]), "two.wasm, which is no component");
    let shown =
        fails(&machinist("inspect", &one, &[]), "the host would refuse it: failed to verify the component");
    assert_eq!(shown.lines().count(), 3, "{shown}");
}
