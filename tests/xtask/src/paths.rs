//! The folders of the clone, of caches and of binaries.

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

/// Paths that outlive a clone.
pub(crate) fn cache() -> Result<PathBuf> {
    cache_from(&|name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
        .context("failed to find a cache folder: set MACHINIST_CACHE or HOME")
}

fn cache_from(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("MACHINIST_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("machinist")))
        .or_else(|| Some(variable("HOME")?.join(".cache/machinist")))
}

/// Where cargo puts the binaries of a profile: beside this binary's folder, whatever the target folder is called.
pub(crate) fn binaries(profile_folder: &str) -> Result<PathBuf> {
    let own = env::current_exe().context("failed to find this binary")?;
    let target = own.parent().and_then(Path::parent).context("failed to find the target folder")?;
    Ok(target.join(profile_folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        cache_from(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_cache_folder_is_ours_then_the_users_then_in_the_home() {
        let all = [("MACHINIST_CACHE", "/m"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(cache_with(&all), Some("/m".into()));
        assert_eq!(cache_with(&all[1..]), Some("/x/machinist".into()));
        assert_eq!(cache_with(&all[2..]), Some("/h/.cache/machinist".into()));
        assert_eq!(cache_with(&[]), None);
    }
}
