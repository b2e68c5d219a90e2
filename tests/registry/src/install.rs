//! The registry's program: the system's, or unpacked from Debian's package into the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

const PROGRAM: &str = "docker-registry";
const STEP: &str = "install it with the system's package manager (Debian: apt-get install docker-registry), or refresh \
                    its lists (apt-get update) and run this again";

/// The registry's program. Nothing is installed into the system: without it on the PATH Debian's package is downloaded
/// and unpacked into the cache, once, by one of any number of processes. Blocks. The error says what to do.
pub fn prepare() -> anyhow::Result<PathBuf> {
    if let Some(path) = on_path(PROGRAM) {
        return Ok(path);
    }
    let folder = cache::folder()?.join("registry");
    let program = folder.join("usr/bin").join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let lock = File::options().create(true).append(true).open(folder.join("lock"))?;
    lock.lock().context("failed to lock the cache")?;
    if !program.is_file() {
        unpack(&folder)?;
    }
    Ok(program)
}

fn unpack(folder: &Path) -> anyhow::Result<()> {
    let draft = tempfile::tempdir_in(folder).context("no temporary folder")?;
    eprintln!("downloading Debian's package of {PROGRAM} into {}", folder.display());
    run(Command::new("apt-get").args(["download", PROGRAM]).current_dir(draft.path()))?;
    let entries = fs::read_dir(draft.path())?.collect::<Result<Vec<_>, _>>()?;
    let package =
        entries.iter().map(fs::DirEntry::path).find(|path| path.extension().is_some_and(|e| e == "deb"));
    let package = package.with_context(|| format!("apt-get downloaded no package: {STEP}"))?;
    let inside = draft.path().join("inside");
    run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&inside))?;
    let program = inside.join("usr/bin").join(PROGRAM);
    ensure!(program.is_file(), "{} has no usr/bin/{PROGRAM}", package.display());
    let place = folder.join("usr/bin");
    fs::create_dir_all(&place)?;
    // It appears when it is complete.
    fs::rename(&program, place.join(PROGRAM)).context("failed to put the registry into the cache")
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).stdout(std::io::stderr()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            bail!("{program} failed with {status}; its messages are above. The tests need {PROGRAM}: {STEP}")
        }
        Err(error) => bail!("failed to run {program}: {error}. The tests need {PROGRAM}: {STEP}"),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
