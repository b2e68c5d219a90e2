//! A Python with packages by exact version and digest, for clients in a cloud's own library.
//!
//! The packages are installed once into the cache: `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else
//! `~/.cache/machinist`. Another list of packages, or another Python, is another folder there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

/// The advice of every error about Python itself.
const PYTHON: &str =
    "install Python 3.10 or later with its venv module (Debian: apt-get install python3-venv)";

/// Returns the program of a Python that has these packages. `requirements` is a list for pip with a digest of each
/// package; `name` is the folder of the cache. Errors say what to install. Of several processes one installs, and the
/// others wait.
pub fn prepare(name: &str, requirements: &str) -> anyhow::Result<PathBuf> {
    let version = Command::new("python3").arg("--version").output().context(PYTHON)?;
    ensure!(version.status.success(), "`python3 --version` failed: {PYTHON}");
    let folder = cache::folder()?.join(name).join(digest(requirements, &version.stdout));
    let (python, mark) = (folder.join("venv/bin/python"), folder.join("ready"));
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    // Held until the end of this function.
    let lock = fs::File::create(folder.join("lock"))?;
    lock.lock()?;
    if !mark.is_file() {
        eprintln!("installing the Python packages of {name} into {}, the first time", folder.display());
        install(&folder, &python, requirements)?;
        fs::write(&mark, "")?;
    }
    Ok(python)
}

fn digest(requirements: &str, version: &[u8]) -> String {
    let digest = Sha256::new().chain_update(requirements).chain_update(version).finalize();
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn install(folder: &Path, python: &Path, requirements: &str) -> anyhow::Result<()> {
    let list = folder.join("requirements.txt");
    fs::write(&list, requirements)?;
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv"))).context(PYTHON)?;
    let pip = [
        "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
        "--require-hashes", "--only-binary", ":all:", "--requirement",
    ];
    run(Command::new(python).args(pip).arg(&list)).context("check the network, or set PIP_INDEX_URL")
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn another_list_or_python_is_another_folder() {
        let one = digest("hcloud==1.0", b"Python 3.11.2");
        assert_ne!(one, digest("hcloud==1.1", b"Python 3.11.2"));
        assert_ne!(one, digest("hcloud==1.0", b"Python 3.13.0"));
        assert_eq!(one.len(), 16);
    }
}
