//! A push into a cluster: the notes beside its outcome.

use std::process::Command;

use serde_json::{Value, json};

use crate::stub::Stub;

/// Pushes the driver of the simulated cloud into a ConfigMap that has this `data` and keeps it. Returns the notes.
fn pushed(data: &Value) -> String {
    let map = json!({
        "metadata": {
            "name": "sim", "uid": "1", "resourceVersion": "1", "labels": { "machinist.dev/plugin": "driver" },
        },
        "data": data,
        "binaryData": { "plugin.wasm.zst": "AA==" },
    });
    let none = json!({
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": [],
    });
    let server = Stub::start(move |request| {
        let is_one = request.path.contains("/configmaps/sim");
        if is_one { map.to_string() } else { none.to_string() }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sim.wasm");
    std::fs::write(&file, guests::bytes("sim-driver").expect("builds")).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_machinist"))
        .args(["plugin", "push"])
        .arg(&file)
        .args(["--configmap", "sim", "--no-wait", "--kubeconfig"])
        .arg(server.kubeconfig(folder.path(), &server.url()))
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_push_of_a_driver_that_nothing_grants_a_host_says_that_it_reaches_nothing() {
    const NOTE: &str = "it reaches nothing. Grant hosts with --grants FILE";
    let said = pushed(&json!({}));
    assert!(said.contains(NOTE), "{said}");
    let said = pushed(&json!({ "grants.yaml": "egress: [{ host: api.example.com }]" }));
    assert!(!said.contains(NOTE), "{said}");
}
