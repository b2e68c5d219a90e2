//! Commands whose reader goes away, as `head` and pagers that are left do: they end quietly.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::stub::Stub;

/// Runs a command that nobody reads.
fn unread(arguments: &[&str], kubeconfig: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    command.args(arguments).env_remove("KUBECONFIG").stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(path) = kubeconfig {
        command.arg("--kubeconfig").arg(path);
    }
    let mut child = command.spawn().expect("the binary starts");
    drop(child.stdout.take());
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn ends_quietly(arguments: &[&str], kubeconfig: Option<&Path>) {
    let output = unread(arguments, kubeconfig);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(141), "{arguments:?}: {said}");
    assert!(!said.contains("panicked") && !said.to_lowercase().contains("pipe"), "{arguments:?}: {said}");
}

#[test]
fn scripts_and_facts_about_components_end_quietly() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sim.wasm");
    std::fs::write(&file, guests::bytes("sim-driver").expect("builds")).expect("written");
    let file = file.to_str().expect("text");
    ends_quietly(&["completion", "bash"], None);
    ends_quietly(&["plugin", "inspect", file], None);
    ends_quietly(&["plugin", "inspect", file, "-o", "json"], None);
}

#[test]
fn what_is_read_from_a_cluster_ends_quietly() {
    let stub = Stub::start(|request| {
        let kind =
            if request.path.contains("machinedeployments") { "MachineDeploymentList" } else { "MachineList" };
        let version = if request.path.contains("configmaps") { "v1" } else { "machine.sapcloud.io/v1alpha1" };
        format!(
            r#"{{"kind":"{kind}","apiVersion":"{version}","metadata":{{"resourceVersion":"1"}},"items":[]}}"#
        )
    });
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = stub.kubeconfig(folder.path(), &stub.url());
    ends_quietly(&["plugin", "list"], Some(&kubeconfig));
    ends_quietly(&["tree"], Some(&kubeconfig));
    ends_quietly(&["tree", "-o", "json"], Some(&kubeconfig));
}

#[test]
fn logs_that_are_followed_end_quietly() {
    let line = r#"{"number":1,"time":"2026-01-01T00:00:00Z","level":"info","call":"create","digest":"d","message":"made","fields":""}"#;
    let stub = Stub::start(move |_| {
        format!(r#"{{"process":"p","is_declared":true,"plugins":["sim"],"lines":[{line}],"dropped":0}}"#)
    });
    ends_quietly(&["plugin", "logs", "sim", "-f", "--url", &stub.url()], None);
}
