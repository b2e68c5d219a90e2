//! The folder for what takes long to make.

use std::path::PathBuf;

use anyhow::Context;

/// `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("MACHINIST_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("machinist")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/machinist")))
        .context(
            "none of MACHINIST_CACHE, XDG_CACHE_HOME and HOME is set: set one of them for what is installed",
        )
}
