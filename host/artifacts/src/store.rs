//! Fetched components and documents, in files that are named by their digests: a host that starts while a registry is
//! unreachable uses the files. Each file is checked against its digest before it is used.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;

use crate::digest::ContentDigest;

/// A folder of bytes by digest.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// As many as a host with its rollouts and rollbacks may need. The one that was not used for the longest time goes
/// first.
const MOST_FILES: usize = 200;
/// All of them together.
const MOST_BYTES: u64 = 512 << 20;
/// No single one is larger.
const MOST_FILE_BYTES: u64 = 64 << 20;

impl Store {
    /// In this folder, which is made when something is kept.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Reads the bytes with this digest. A file with another content counts as absent.
    pub fn find(&self, digest: ContentDigest) -> Option<Bytes> {
        let bytes = self.read(&digest.hex())?;
        (ContentDigest::of(&bytes) == digest).then_some(bytes)
    }

    /// Keeps bytes under their digest.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<()> {
        self.write(&ContentDigest::of(bytes).hex(), bytes)
    }

    /// A note about a digest, such as its signatures. It is whatever somebody wrote there.
    pub fn note(&self, digest: ContentDigest, kind: &str) -> Option<Bytes> {
        self.read(&format!("{}.{kind}", digest.hex()))
    }

    pub fn keep_note(&self, digest: ContentDigest, kind: &str, bytes: &[u8]) -> io::Result<()> {
        self.write(&format!("{}.{kind}", digest.hex()), bytes)
    }

    fn read(&self, name: &str) -> Option<Bytes> {
        let path = self.folder.join(name);
        let file = std::fs::File::options().read(true).open(path).ok()?;
        if file.metadata().ok()?.len() > MOST_FILE_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut &file, &mut bytes).ok()?;
        // Of no consequence where it fails: it only says what was used last.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes.into())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        // Two loads of one digest may keep it at the same time.
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!(".{name}.{}.{number}", std::process::id()));
        std::fs::write(&draft, bytes)?;
        std::fs::rename(&draft, self.folder.join(name))?;
        make_room(&self.folder)
    }
}

fn make_room(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        files.push((about.modified()?, about.len(), entry.path()));
    }
    for path in surplus(files) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Returns the files that have no room beside those that were used later.
fn surplus(mut files: Vec<(SystemTime, u64, PathBuf)>) -> Vec<PathBuf> {
    files.sort_by(|a, b| b.cmp(a));
    let mut sum = 0_u64;
    let mut has_room = |bytes: u64| {
        sum = sum.saturating_add(bytes);
        sum <= MOST_BYTES
    };
    let mut gone = Vec::new();
    for (count, (_, bytes, path)) in files.into_iter().enumerate() {
        if !has_room(bytes) || count >= MOST_FILES {
            gone.push(path);
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_kept_is_found_and_what_was_changed_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path().join("artifacts"));
        let digest = ContentDigest::of(b"component");
        assert_eq!(store.find(digest), None);
        store.keep(b"component").expect("kept");
        assert_eq!(store.find(digest).as_deref(), Some(&b"component"[..]));
        store.keep_note(digest, "sig", b"x").expect("kept");
        assert_eq!(store.note(digest, "sig").as_deref(), Some(&b"x"[..]));
        std::fs::write(folder.path().join("artifacts").join(digest.hex()), b"another").expect("written");
        assert_eq!(store.find(digest), None);
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes() {
        let file = |age: u64, bytes: u64| {
            let used = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 - age);
            (used, bytes, PathBuf::from(age.to_string()))
        };
        assert_eq!(surplus(vec![file(3, 1), file(1, MOST_BYTES - 1), file(2, 1)]), [PathBuf::from("3")]);
        let many = (0..=MOST_FILES as u64).map(|age| file(age, 1)).collect();
        assert_eq!(surplus(many), [PathBuf::from(MOST_FILES.to_string())]);
    }
}
