//! Microsoft's own client talks to the cloud for tests.
//!
//! It is installed once into the cache (`$MACHINIST_CACHE`, else `~/.cache/machinist`), by exact versions and digests.

use std::fs;
use std::process::Command;

use azure_cloud::{Options, Server};

const REQUIREMENTS: &str = include_str!("../requirements.txt");

#[test]
fn microsoft_s_own_client_makes_a_vm_and_removes_it() {
    let python = pinned_python::prepare("azure-client", REQUIREMENTS).unwrap();
    let server = Server::start(Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.pem");
    fs::write(&authority, server.certificate()).unwrap();
    let secrets = Options::default().secrets();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/microsoft.py");
    let output = Command::new(python)
        .args(["-I", script, &server.secure_url()])
        .args(["tenantID", "clientID", "clientSecret", "subscriptionID"].map(|key| &secrets[key]))
        .env("REQUESTS_CA_BUNDLE", &authority)
        .env_remove("HTTPS_PROXY")
        .env_remove("https_proxy")
        .output()
        .unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("fine"), "{said}");
    let left: Vec<String> = server.cloud().resources().map(|resource| resource.name.clone()).collect();
    assert_eq!(left, Vec::<String>::new());
}
