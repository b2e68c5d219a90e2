//! The key that says which compiled code is ours.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use blake3::Hasher;
use rand::TryRng as _;

const KEY_BYTES: usize = 32;

/// Where the key of the code cache comes from.
#[derive(Clone)]
pub enum CacheKey {
    /// A file of 32 bytes that only this user can read; created if it is absent.
    File(PathBuf),
    /// The key itself, for example from a Secret that all replicas share.
    Bytes([u8; KEY_BYTES]),
}

impl std::fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Bytes(_) => f.write_str("Bytes(..)"),
        }
    }
}

/// The key, ready for use.
#[derive(Clone)]
pub(crate) struct MacKey([u8; KEY_BYTES]);

impl MacKey {
    pub(crate) fn open(source: &CacheKey) -> io::Result<Self> {
        let bytes = match source {
            CacheKey::Bytes(bytes) => *bytes,
            CacheKey::File(path) => match read(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => make(path)?,
                other => other?,
            },
        };
        Ok(Self(bytes))
    }

    /// Returns the hasher for tags. Each purpose has a key of its own, so that a tag for one purpose never verifies for
    /// another.
    pub(crate) fn tagger(&self, purpose: &str) -> Hasher {
        Hasher::new_keyed(&blake3::derive_key(purpose, &self.0))
    }
}

fn read(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
    if fs::metadata(path)?.mode() & 0o077 != 0 {
        return Err(wrong("others can read the key"));
    }
    fs::read(path)?.try_into().map_err(|_| wrong("the key does not have 32 bytes"))
}

/// Creates the key. Several processes may start at once: the first link wins, and all read its content.
fn make(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut bytes = [0; KEY_BYTES];
    rand::rngs::SysRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
    // Temporary files are created with mode 0600.
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(&bytes)?;
    draft.as_file().sync_all()?;
    match draft.persist_noclobber(path) {
        Ok(_) => File::open(folder)?.sync_all()?,
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    read(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn tag(key: &MacKey, purpose: &str) -> blake3::Hash {
        key.tagger(purpose).update(b"code").finalize()
    }

    #[test]
    fn a_key_file_is_made_once_and_read_by_its_owner_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cache/key");
        let first = MacKey::open(&CacheKey::File(path.clone())).expect("made");
        let second = MacKey::open(&CacheKey::File(path.clone())).expect("read");
        assert_eq!(tag(&first, "one"), tag(&second, "one"));
        assert_ne!(tag(&first, "one"), tag(&first, "other"));
        assert_eq!(fs::metadata(&path).expect("is there").mode() & 0o777, 0o600);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("is ours");
        assert!(MacKey::open(&CacheKey::File(path)).is_err());
    }
}
