//! The folders of the clone and of binaries.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the clone.
pub(crate) fn root() -> Result<PathBuf> {
    // Cargo tells a running binary, too, where its manifest is: the build folder may be shared by several clones.
    let manifest_folder = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_folder
        .join("../..")
        .canonicalize()
        .with_context(|| format!("failed to find the repository from {}", manifest_folder.display()))
}

/// Where cargo puts the binaries of a profile: beside this binary's folder, whatever the target folder is called.
pub(crate) fn binaries(profile_folder: &str) -> Result<PathBuf> {
    let own = env::current_exe().context("failed to find this binary")?;
    let target = own.parent().and_then(Path::parent).context("failed to find the target folder")?;
    Ok(target.join(profile_folder))
}
