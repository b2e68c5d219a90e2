//! Microsoft's own client talks to the cloud for tests.
//!
//! It is installed once into the cache (`$MACHINIST_CACHE`, else `~/.cache/machinist`), by exact versions and digests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use azure_cloud::{Options, Server};

const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// Returns a Python with Microsoft's client.
fn python() -> anyhow::Result<PathBuf> {
    let cache = match std::env::var_os("MACHINIST_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache/machinist"),
    };
    let digest = ring::digest::digest(&ring::digest::SHA256, REQUIREMENTS.as_bytes());
    let name: String = digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let folder = cache.join("azure-client").join(name);
    let (python, mark) = (folder.join("venv/bin/python"), folder.join("ready"));
    if mark.is_file() && python.exists() {
        return Ok(python);
    }
    fs::create_dir_all(&folder)?;
    let lock = fs::File::create(folder.join("lock"))?;
    lock.lock()?;
    if !mark.is_file() {
        install(&folder, &python)?;
        fs::write(&mark, "")?;
    }
    Ok(python)
}

fn install(folder: &Path, python: &Path) -> anyhow::Result<()> {
    let list = folder.join("requirements.txt");
    fs::write(&list, REQUIREMENTS)?;
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")).status();
    let made = made.context("python3 is needed, 3.10 or later (Debian: apt-get install python3-venv)")?;
    ensure!(made.success(), "`python3 -m venv` failed (Debian: apt-get install python3-venv)");
    let installed = Command::new(python)
        .args(["-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--require-hashes", "--requirement"])
        .arg(&list)
        .status()?;
    ensure!(
        installed.success(),
        "pip could not install Microsoft's client: check the network, or PIP_INDEX_URL"
    );
    Ok(())
}

#[test]
fn microsoft_s_own_client_makes_a_vm_and_removes_it() {
    let python = python().unwrap();
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
