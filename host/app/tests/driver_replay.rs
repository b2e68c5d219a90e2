//! `machinist driver replay`, with the recordings that lie beside the driver of the simulated cloud.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;

static SIM: LazyLock<PathBuf> = LazyLock::new(|| guests::component("sim-driver").expect("builds"));

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/sim/recordings")
}

fn replay(file: &Path, recording: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_machinist"))
        .args(["driver", "replay"])
        .args([file, recording])
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A copy of the recording of the creation, changed.
fn changed(folder: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
    let files = std::fs::read_dir(recordings()).expect("recordings");
    let paths = files.map(|file| file.expect("a file").path());
    let create = paths.into_iter().find(|path| path.to_string_lossy().ends_with("CreateMachine.json"));
    let create = std::fs::read(create.expect("a creation")).expect("reads");
    let mut value: Value = serde_json::from_slice(&create).expect("JSON");
    change(&mut value);
    let path = folder.join("create.json");
    std::fs::write(&path, value.to_string()).expect("writes");
    path
}

#[test]
fn the_same_driver_does_the_same_and_the_exit_code_says_so() {
    let output = replay(&SIM, &recordings(), &[]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let recorded = std::fs::read_dir(recordings()).expect("the folder is there").count();
    assert!(recorded > 5, "{recorded} recordings");
    assert_eq!(said.lines().filter(|line| line.ends_with(": same")).count(), recorded, "{said}");
}

#[test]
fn differences_are_reported_by_call_and_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let older = changed(folder.path(), |value| {
        value["http"][0]["headers"][0][1] = "older".into();
        value["end"]["answered"]["answer"]["Ok"]["Created"]["node_name"] = "older".into();
    });
    let output = replay(&SIM, &older, &[]);
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(!output.status.success() && errors.contains("1 of 1 calls are not as recorded"), "{errors}");
    assert!(said.contains("2 differences") && said.contains("request made otherwise: "), "{said}");
    assert!(said.contains("answer.Ok.Created.node_name: \"older\" -> "), "{said}");
    let output = replay(&SIM, &older, &["--output", "json"]);
    let calls: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(!output.status.success());
    assert_eq!((&calls[0]["same"], &calls[0]["operation"]), (&Value::Bool(false), &"CreateMachine".into()));
    assert_eq!(calls[0]["differences"][0]["kind"], "otherwise");
}

#[test]
fn what_is_no_recording_or_no_driver_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = changed(folder.path(), |_| {});
    let cut_off = folder.path().join("cut.json");
    let bytes = std::fs::read(&whole).expect("reads");
    std::fs::write(&cut_off, &bytes[..bytes.len() / 2]).expect("writes");
    let garbage = folder.path().join("garbage.wasm");
    std::fs::write(&garbage, b"#!/bin/sh\n").expect("writes");
    let empty = tempfile::tempdir().expect("a folder");
    for (file, recording, expected) in [
        (SIM.as_path(), cut_off.as_path(), "cut.json is cut off in line"),
        (&SIM, Path::new("/does/not/exist"), "/does/not/exist"),
        (&SIM, empty.path(), "there is no recording (*.json) in"),
        (&garbage, &whole, "it is not WebAssembly"),
        (&SIM, &garbage, "is no recording"),
    ] {
        let output = replay(file, recording, &[]);
        let errors = text(&output.stderr);
        assert!(
            !output.status.success() && errors.contains(expected) && !errors.contains("panicked"),
            "{errors}"
        );
    }
}
