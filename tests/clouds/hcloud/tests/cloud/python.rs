//! Hetzner's own client for Python uses the cloud.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hetzner::{Hetzner, Options};

const REQUIREMENTS: &str = include_str!("../../requirements.txt");

/// The Python of a private environment with the client, installed once for each list of versions.
fn python() -> PathBuf {
    let cache = std::env::var_os("MACHINIST_CACHE").map(PathBuf::from).unwrap_or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME").expect("HOME is set"));
        std::env::var_os("XDG_CACHE_HOME")
            .map_or_else(|| home.join(".cache"), PathBuf::from)
            .join("machinist")
    });
    let digest = REQUIREMENTS.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let folder = cache.join("hcloud-python").join(format!("{digest:016x}"));
    let (venv, ready) = (folder.join("venv"), folder.join("ready"));
    fs::create_dir_all(&folder).expect("a folder in the cache");
    let lock = File::create(folder.join("lock")).expect("a lock in the cache");
    lock.lock().expect("the lock");
    if !ready.is_file() {
        let list = folder.join("requirements.txt");
        fs::write(&list, REQUIREMENTS).expect("a list in the cache");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv));
        let pip = ["-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
        run(Command::new(venv.join("bin/python"))
            .args(pip)
            .args(["--require-hashes", "--requirement"])
            .arg(&list));
        fs::write(&ready, "").expect("a mark in the cache");
    }
    venv.join("bin/python")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("failed to start {command:?}: {error}; install Python 3.10 or later with its venv module (Debian: \
                apt-get install python3-venv)")
    });
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {text}{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn hetzners_own_client_for_python_finds_everything_as_it_expects_it() {
    let options = Options { action_time: Duration::from_millis(100), ..Options::default() };
    let cloud = Hetzner::start(options.clone()).expect("a cloud");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cloud/python_client.py");
    run(Command::new(python()).arg("-I").arg(script).args([
        cloud.url(),
        options.token,
        options.read_only_token,
    ]));
    assert_eq!(cloud.leftovers(), hetzner::Leftovers::default());
}
