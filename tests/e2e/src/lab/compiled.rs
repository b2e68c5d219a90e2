//! Drivers that the hosts of earlier labs have compiled: to compile them again would be half of the work of all tests.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

/// Of compiled code, by the last use of each.
const MOST_FILES: usize = 200;
/// Of the files that hosts keep.
const SUFFIX: &str = "code";

/// Code that the hosts of a lab compile. Dropped, it is kept for other labs.
pub(super) struct Compiled {
    folder: PathBuf,
    kept: PathBuf,
}

impl Compiled {
    /// Puts what is kept into the folder of a lab. The key that hosts check code with is the same for all labs.
    pub(super) fn lend(folder: PathBuf) -> Result<Self> {
        let kept = guests::folder()?.with_file_name("compiled");
        for folder in [&folder, &kept] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.with_context(|| format!("failed to make {}", folder.display()))?;
        }
        let key = folder.join("key");
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&key);
        let written = file.and_then(|mut file| file.write_all(&[7; 32]));
        written.with_context(|| format!("failed to write {}", key.display()))?;
        for (_, path) in codes(&kept)? {
            // One that another lab has just removed is compiled again.
            let _lent = copy(&path, &folder);
        }
        Ok(Self { folder, kept })
    }

    fn keep(&self) -> Result<()> {
        for (_, path) in codes(&self.folder)? {
            copy(&path, &self.kept)?;
        }
        let mut kept = codes(&self.kept)?;
        kept.sort();
        for (_, path) in kept.iter().rev().skip(MOST_FILES) {
            let _removed = fs::remove_file(path);
        }
        Ok(())
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Err(error) = self.keep() {
            eprintln!("what was compiled is not kept for other tests: {error:#}");
        }
    }
}

/// The files with code, each with the time of its last use.
fn codes(folder: &Path) -> Result<Vec<(SystemTime, PathBuf)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let codes = paths.filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX));
    Ok(codes.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect())
}

/// Into the folder, unless it is there. Hosts replace such files and never write into them.
fn copy(path: &Path, folder: &Path) -> io::Result<()> {
    let Some(name) = path.file_name() else { return Ok(()) };
    match fs::hard_link(path, folder.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
