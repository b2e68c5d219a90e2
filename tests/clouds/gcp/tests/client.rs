//! Google's own Python client talks to the cloud, which shows that its requests and answers are Google's.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use gcp::test_key::TestAccount;
use gcp::{Config, Server};

const REQUIREMENTS: &str = include_str!("python/requirements.txt");
const LIFE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/life.py");

fn run(command: &mut Command) -> anyhow::Result<Output> {
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}

#[test]
fn googles_own_client_leads_a_life_of_instances() {
    let python = pinned_python::prepare("google-client", REQUIREMENTS).expect("Google's client is installed");
    let config = Config { operation_ms: 40, ..Config::default() };
    let account = TestAccount::make(&config.project).unwrap();
    let server = Server::start(config).unwrap();
    server.cloud().identity.add_account(&account.email, &account.public_key);
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.json");
    fs::write(&key, account.json()).unwrap();
    let output = run(Command::new(python).arg(LIFE).arg(server.url()).arg(Path::new(&key))).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "ok");
    let cloud = server.cloud();
    assert!(cloud.is_empty(), "left: {:?}", cloud.disk_names());
    assert!(cloud.identity.exchanges > 0, "the client got its token by an assertion");
}
