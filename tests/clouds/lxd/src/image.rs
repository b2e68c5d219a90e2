//! The images of the containers, built once for each recipe.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

use crate::tools;

const RECIPE: &str = include_str!("../image.sh");
/// The command that builds the images.
const COMMAND: &str = "cargo run -p lxd -- prepare";
/// Names another Debian mirror.
const MIRROR: &str = "MACHINIST_DEBIAN_MIRROR";

/// The images of one recipe.
#[derive(Clone, Debug)]
pub struct Images {
    folder: PathBuf,
}

impl Images {
    /// Builds the images if the cache has none of this recipe: that takes two minutes, and is said on standard error.
    /// Any number of processes may call this at the same time; one of them builds. Nothing is downloaded when they are
    /// there. Blocks.
    pub fn prepare() -> anyhow::Result<Self> {
        let cache = cache::folder()?;
        if !Self::of(&cache, RECIPE).mark().is_file() {
            tools::for_building()?;
        }
        Self::prepare_in(&cache, RECIPE)
    }

    /// Returns the images that the cache has. Without them the error names the command that builds them.
    pub fn prepared() -> anyhow::Result<Self> {
        Self::prepared_in(&cache::folder()?, RECIPE)
    }

    fn prepared_in(cache: &Path, recipe: &str) -> anyhow::Result<Self> {
        let images = Self::of(cache, recipe);
        ensure!(
            images.mark().is_file(),
            "the images of LXD's containers are not built: run `{COMMAND}` as root, which takes two minutes"
        );
        Ok(images)
    }

    fn of(cache: &Path, recipe: &str) -> Self {
        let digest = Sha256::digest(recipe);
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { folder: cache.join("lxd").join(name) }
    }

    /// The file that says that the images are whole.
    fn mark(&self) -> PathBuf {
        self.folder.join("ready")
    }

    fn prepare_in(cache: &Path, recipe: &str) -> anyhow::Result<Self> {
        let images = Self::of(cache, recipe);
        let (folder, mark) = (&images.folder, images.mark());
        if mark.is_file() {
            return Ok(images);
        }
        fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let lock = folder.join("lock");
        let lock = File::create(&lock).with_context(|| format!("failed to create {}", lock.display()))?;
        // Held until the end of this function, or of this process.
        lock.lock().context("failed to wait for another process that builds the images")?;
        if !mark.is_file() {
            build(folder, recipe)?;
            fs::write(&mark, "").with_context(|| format!("failed to write {}", mark.display()))?;
        }
        Ok(images)
    }

    /// Debian 12 with systemd and cloud-init: metadata and root disk.
    pub(crate) fn debian(&self) -> [PathBuf; 2] {
        [self.folder.join("metadata.tar"), self.folder.join("rootfs.squashfs")]
    }

    /// One program, which starts in no time.
    pub(crate) fn small(&self) -> PathBuf {
        self.folder.join("small.tar")
    }
}

fn build(folder: &Path, recipe: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    eprintln!("building images of Debian into {}, two minutes the first time", folder.display());
    let script = folder.join("image.sh");
    fs::write(&script, recipe).with_context(|| format!("failed to write {}", script.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("failed to make {} executable", script.display()))?;
    let log = folder.join("build.log");
    let output = File::create(&log).with_context(|| format!("failed to create {}", log.display()))?;
    let errors = output.try_clone().context("failed to share the log")?;
    let status = Command::new(&script)
        .arg(folder)
        .args(std::env::var_os(MIRROR))
        .env("PATH", tools::path())
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .with_context(|| format!("failed to run {}", script.display()))?;
    ensure!(
        status.success(),
        "the images could not be built: {} says why. If Debian's mirror cannot be reached, name another one in {MIRROR}; \
         run this again to start over. Once built, no network is needed",
        log.display()
    );
    eprintln!("built the images in {} s", started.elapsed().as_secs());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: &str = "#!/bin/sh\necho built >> \"$(dirname \"$1\")/count\"\n";

    #[test]
    fn images_are_built_once_for_each_recipe() {
        let cache = tempfile::tempdir().unwrap();
        let first = Images::prepare_in(cache.path(), COUNT).unwrap();
        assert_eq!(Images::prepare_in(cache.path(), COUNT).unwrap().folder, first.folder);
        let other = format!("{COUNT}# another\n");
        assert_ne!(Images::prepare_in(cache.path(), &other).unwrap().folder, first.folder);
        let count = fs::read_to_string(cache.path().join("lxd/count")).unwrap();
        assert_eq!(count.lines().count(), 2);
    }

    #[test]
    fn images_that_are_not_built_are_reported_with_the_command_that_builds_them() {
        let cache = tempfile::tempdir().unwrap();
        let error = Images::prepared_in(cache.path(), COUNT).unwrap_err().to_string();
        assert!(error.contains("cargo run -p lxd -- prepare"), "{error}");
        let built = Images::of(cache.path(), COUNT);
        fs::create_dir_all(&built.folder).unwrap();
        fs::write(built.mark(), "").unwrap();
        assert_eq!(Images::prepared_in(cache.path(), COUNT).unwrap().folder, built.folder);
    }

    #[test]
    fn a_build_that_failed_is_reported_with_its_log_and_starts_over() {
        let cache = tempfile::tempdir().unwrap();
        let recipe =
            "#!/bin/sh\necho no mirror >&2\n[ -e \"$1/again\" ] || { touch \"$1/again\"; exit 1; }\n";
        let error = Images::prepare_in(cache.path(), recipe).unwrap_err().to_string();
        assert!(error.contains("build.log") && error.contains("MACHINIST_DEBIAN_MIRROR"), "{error}");
        assert!(Images::prepare_in(cache.path(), recipe).is_ok());
    }
}
