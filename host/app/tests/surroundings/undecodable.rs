//! Objects that nobody can decode: each is left out by its name, and hides no other.

use std::process::Command;

use crate::stub::Stub;

const GROUP: &str = "machine.sapcloud.io/v1alpha1";

fn list(kind: &str, items: &str) -> String {
    format!(
        r#"{{"kind":"{kind}List","apiVersion":"{GROUP}","metadata":{{"resourceVersion":"1"}},"items":[{items}]}}"#
    )
}

fn object(kind: &str, name: &str, spec: &str) -> String {
    format!(
        r#"{{"kind":"{kind}","apiVersion":"{GROUP}","metadata":{{"name":"{name}","namespace":"default","uid":"{name}"}},"spec":{spec}}}"#
    )
}

/// A cluster with one object of each kind that can be decoded, and one that cannot.
fn cluster() -> Stub {
    let deployment = object("MachineDeployment", "pool", r#"{"replicas":1}"#);
    let invalid_deployment = object("MachineDeployment", "odd-pool", r#"{"template":"text"}"#);
    let sets = [("pool-1", r#"{"replicas":1}"#), ("odd-set", r#"{"template":"text"}"#)]
        .map(|(name, spec)| object("MachineSet", name, spec));
    let machine = object("Machine", "good", r#"{"class":{"kind":"MachineClass","name":"small"}}"#);
    let invalid_machine = object("Machine", "odd-machine", r#"{"class":"text"}"#);
    Stub::start(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "machinedeployments" => list("MachineDeployment", &format!("{deployment},{invalid_deployment}")),
            "machinesets" => list("MachineSet", &sets.join(",")),
            "machines" => list("Machine", &format!("{invalid_machine},{machine}")),
            _ => deployment.clone(),
        }
    })
}

/// Runs a command that must succeed, and returns its stdout and stderr.
fn said(arguments: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let stub = cluster();
    let kubeconfig = stub.kubeconfig(folder.path(), &stub.url());
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    command.args(arguments).env_remove("KUBECONFIG").arg("--kubeconfig").arg(kubeconfig);
    let output = command.output().expect("the binary starts");
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{arguments:?}: {err}");
    (out, err)
}

#[test]
fn a_tree_shows_the_others() {
    let (out, err) = said(&["tree", "-n", "default"]);
    for name in ["pool", "pool-1", "good"] {
        assert!(out.contains(name), "{name} is missing: {out}");
    }
    for name in ["MachineDeployment odd-pool", "MachineSet odd-set", "Machine odd-machine"] {
        assert!(err.contains(&format!("{name} is left out, since it cannot be decoded")), "{name}: {err}");
    }
}

#[test]
fn a_history_shows_the_sets_that_can_be_read() {
    let (_, err) = said(&["rollout", "history", "machinedeployment/pool", "-n", "default"]);
    assert!(err.contains("MachineSet odd-set is left out, since it cannot be decoded"), "{err}");
}
