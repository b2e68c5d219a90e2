//! The folder for compiled plugins: the one that was asked for, or a temporary one where nobody has asked and the
//! default cannot be written.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use machinist_core::value::error_chain::chain;
use tempfile::TempDir;
use tracing::warn;

/// A folder that this process can write. A temporary one goes when this value is dropped.
#[derive(Debug)]
pub(crate) struct CacheFolder {
    path: PathBuf,
    _temporary: Option<TempDir>,
}

impl CacheFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Uses the folder of `--cache-dir`. Where it is the default, which nobody has typed, and cannot be written, as
    /// in pods made for machine-controller-manager, a temporary folder takes its place: plugins are compiled again at
    /// each start then.
    ///
    /// # Errors
    /// When no temporary folder can be made either.
    pub(crate) fn find(wanted: &Path, is_typed: bool) -> anyhow::Result<Self> {
        let usable = if is_typed { Ok(()) } else { prepare(wanted) };
        let Err(error) = usable else { return Ok(Self { path: wanted.to_owned(), _temporary: None }) };
        let temporary = tempfile::Builder::new()
            .prefix("machinist-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .with_context(|| {
                format!(
                    "failed to make a folder for compiled plugins: {} cannot be written, and no temporary folder either; give \
                     --cache-dir a folder inside of a volume that can be written",
                    wanted.display()
                )
            })?;
        warn!(
            wanted = %wanted.display(), folder = %temporary.path().display(), error = chain(&error),
            "the folder for compiled plugins cannot be written, a temporary one is used: plugins are compiled again at each start \
             unless --cache-dir names a folder that lasts"
        );
        Ok(Self { path: temporary.path().to_owned(), _temporary: Some(temporary) })
    }
}

/// Makes it if it is missing, closes it to others, and writes a file into it.
fn prepare(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if std::fs::metadata(folder)?.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    tempfile::tempfile_in(folder).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn the_default_is_made_and_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = folder.path().join("cache/machinist");
        let found = CacheFolder::find(&wanted, false).unwrap();
        assert_eq!((found.path(), mode(&wanted)), (wanted.as_path(), 0o700));
    }

    #[test]
    fn a_default_that_cannot_be_written_gives_way_to_a_private_temporary_folder() {
        let folder = tempfile::tempdir().unwrap();
        // A file is no folder, even for root.
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let found = CacheFolder::find(&file.join("machinist"), false).unwrap();
        let path = found.path().to_owned();
        assert_eq!(mode(&path), 0o700);
        drop(found);
        assert!(!path.exists(), "it goes with the process");
    }

    #[test]
    fn a_folder_that_somebody_has_named_is_never_replaced() {
        let wanted = Path::new("/dev/null/cache");
        assert_eq!(CacheFolder::find(wanted, true).unwrap().path(), wanted);
    }
}
