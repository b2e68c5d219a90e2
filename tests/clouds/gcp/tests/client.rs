//! Google's own Python client talks to the cloud, which shows that its requests and answers are Google's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use gcp::test_key::TestAccount;
use gcp::{Config, Server};
use sha2::{Digest, Sha256};

const REQUIREMENTS: &str = include_str!("python/requirements.txt");
const LIFE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/life.py");

/// The folder for what takes long to make.
fn cache() -> anyhow::Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("MACHINIST_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("machinist")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/machinist")))
        .context("none of MACHINIST_CACHE, XDG_CACHE_HOME and HOME is set: set one of them")
}

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

/// Installs the client once for each list of versions and each Python, and returns its Python.
fn client() -> anyhow::Result<PathBuf> {
    let version = run(Command::new("python3").arg("--version")).context(
        "install Python 3.10 or later with its venv module (Debian: apt-get install python3-venv)",
    )?;
    let digest = Sha256::new().chain_update(REQUIREMENTS).chain_update(version.stdout).finalize();
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let folder = cache()?.join("google-client").join(digest);
    let (venv, mark) = (folder.join("venv"), folder.join("ready"));
    fs::create_dir_all(&folder)?;
    // Held until the end of this function: of several processes one installs.
    let lock = fs::File::create(folder.join("lock"))?;
    lock.lock()?;
    if !mark.exists() {
        eprintln!("installing Google's Python client into {}, the first time", folder.display());
        let requirements = folder.join("requirements.txt");
        fs::write(&requirements, REQUIREMENTS)?;
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let pip = [
            "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
            "--only-binary", ":all:", "-r",
        ];
        run(Command::new(venv.join("bin/python")).args(pip).arg(&requirements))?;
        fs::write(&mark, "")?;
    }
    Ok(venv.join("bin/python"))
}

#[test]
fn googles_own_client_leads_a_life_of_instances() {
    let python = client().expect("Google's client is installed");
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
