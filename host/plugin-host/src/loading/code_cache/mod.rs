//! Compiled code on disk, authenticated.
//!
//! The engine runs the content of such a file, whatever it is: one changed byte is foreign native code. So each file
//! ends with a tag (BLAKE3 under a key of this installation) over the component's digest, the engine's compatibility,
//! the tier and the code. A file with a wrong tag is treated as missing: it is counted and compiled again.
//!
//! Code is mapped, not read, so that tens of megabytes stay in the page cache. A mapped file must not change. So files
//! are only ever replaced, no other user or machine may write to the folder, and a file that another user owns or may
//! write to counts as changed, even while its tag is right.
//!
//! | module | what it does |
//! | --- | --- |
//! | `key` | the key of the tags |
//! | `notes` | notes about packed components, so that they need not be unpacked again |
//! | `attempts` | remembers components that killed their compiler |

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use blake3::Hasher;
use tempfile::NamedTempFile;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::calls::engine::CodeTier;
use crate::output_limits::hex;
use machinist_artifacts::ContentDigest;

pub(crate) mod attempts;
pub(crate) mod key;
pub(crate) mod notes;

use key::MacKey;

const TAG_BYTES: u64 = 32;
const SUFFIX: &str = "code";
const DRAFT: &str = "draft-";
/// No compilation takes as long.
const STALE: Duration = Duration::from_secs(3_600);
/// Each plugin version takes one; those not used for longest go first.
const MOST_FILES: usize = 64;
/// The purpose of the tags: a file of another format never verifies.
const PURPOSE: &str = "machinist compiled code 3";
/// The hash is fastest on many of its chunks at once.
const READ_BYTES: usize = 256 * 1024;

/// The result of a lookup.
pub(crate) enum Lookup {
    Hit(Component),
    Absent,
    /// Truncated, changed, or written under another key.
    Tampered,
    /// The tag is right and the engine does not take it.
    Unusable(wasmtime::Error),
}

/// The folder of compiled code.
pub(crate) struct CodeCache {
    folder: PathBuf,
    key: MacKey,
    compatibility: [u8; 32],
}

impl CodeCache {
    /// Opens the folder and creates it if it is absent; no other user may enter it.
    pub(crate) fn open(folder: &Path, key: MacKey, compatibility: [u8; 32]) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if fs::metadata(folder)?.mode() & 0o077 != 0 {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        }
        let cache = Self { folder: folder.to_owned(), key, compatibility };
        sweep(folder)?;
        Ok(cache)
    }

    /// A file to compile into, in the folder, so that it can be renamed.
    pub(crate) fn draft(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(DRAFT).tempfile_in(&self.folder)
    }

    /// The code of this component. Reads the whole file: not for a thread that others wait for.
    pub(crate) fn load(&self, engine: &Engine, digest: &ContentDigest, tier: CodeTier) -> io::Result<Lookup> {
        let mut file = match File::open(self.path(digest, tier)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lookup::Absent),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        let Some(code_bytes) = found.len().checked_sub(TAG_BYTES) else { return Ok(Lookup::Tampered) };
        if !is_ours_alone(&found) {
            return Ok(Lookup::Tampered);
        }
        let mut tagger = self.tagger(digest, tier);
        update(&mut tagger, &mut (&file).take(code_bytes))?;
        let mut tag = [0; TAG_BYTES as usize];
        let is_whole = file.read_exact(&mut tag).is_ok();
        // Compared in constant time.
        if !is_whole || tagger.finalize() != blake3::Hash::from_bytes(tag) {
            return Ok(Lookup::Tampered);
        }
        // The time only decides which file is removed first when the folder is full.
        let _touched = file.set_modified(SystemTime::now());
        Ok(map(engine, &file).map_or_else(Lookup::Unusable, Lookup::Hit))
    }

    /// Signs a draft and puts it in its place.
    pub(crate) fn keep(
        &self,
        digest: &ContentDigest,
        tier: CodeTier,
        mut draft: NamedTempFile,
    ) -> io::Result<()> {
        let file = draft.as_file_mut();
        file.seek(SeekFrom::Start(0))?;
        let mut tagger = self.tagger(digest, tier);
        update(&mut tagger, file)?;
        file.write_all(tagger.finalize().as_bytes())?;
        file.sync_all()?;
        draft.persist(self.path(digest, tier)).map_err(|error| error.error)?;
        File::open(&self.folder)?.sync_all()?;
        // Code that is mapped stays mapped.
        prune(&self.folder, SUFFIX, MOST_FILES)
    }

    /// Removes code that is not needed. Mapped code continues to run.
    pub(crate) fn forget(&self, digest: &ContentDigest, tier: CodeTier) -> io::Result<()> {
        match fs::remove_file(self.path(digest, tier)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn path(&self, digest: &ContentDigest, tier: CodeTier) -> PathBuf {
        self.path_of(SUFFIX, digest, tier)
    }

    fn path_of(&self, suffix: &str, digest: &ContentDigest, tier: CodeTier) -> PathBuf {
        let engine = hex(self.compatibility.get(..8).unwrap_or_default());
        self.folder.join(format!("{}.{engine}.{}.{suffix}", digest.hex(), tier.name()))
    }

    fn tagger(&self, digest: &ContentDigest, tier: CodeTier) -> Hasher {
        let mut tagger = self.key.tagger(PURPOSE);
        tagger.update(&digest.bytes()).update(&self.compatibility).update(&[tier as u8]);
        tagger
    }
}

/// Removes drafts that a killed host left behind. One that is younger may belong to another host that runs.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(DRAFT.as_bytes()) {
            continue;
        }
        let written = unless_gone(entry.metadata().and_then(|found| found.modified()))?;
        if written.is_some_and(|written| written.elapsed().is_ok_and(|age| age > STALE)) {
            unless_gone(fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

/// Removes those files of a kind that were not used for longest.
fn prune(folder: &Path, suffix: &str, most: usize) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == suffix)
            && let Some(used) = unless_gone(entry.metadata().and_then(|found| found.modified()))?
        {
            files.push((used, entry.path()));
        }
    }
    files.sort();
    let excess = files.len().saturating_sub(most);
    files.iter().take(excess).try_for_each(|(_, path)| unless_gone(fs::remove_file(path)).map(drop))
}

/// Hosts share a folder: what was listed a moment ago may have been renamed or removed by another one.
fn unless_gone<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn update(tagger: &mut Hasher, input: &mut impl io::Read) -> io::Result<()> {
    let mut piece = vec![0; READ_BYTES];
    loop {
        match input.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                tagger.update(piece.get(..length).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// True when no other user can write to it, now or by a handle of before.
fn is_ours_alone(file: &Metadata) -> bool {
    file.is_file() && file.uid() == rustix::process::geteuid().as_raw() && file.mode() & 0o022 == 0
}

/// Maps the very file that was verified: its path may lead to another one by now.
fn map(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    let same_file = format!("/proc/self/fd/{}", file.as_raw_fd());
    #[expect(
        unsafe_code,
        reason = "running code from a file; its tag says that this installation compiled it"
    )]
    // SAFETY: the bytes are the output of `precompile_component`, since the tag over them is right and its key never
    // leaves the installation. They do not change while mapped: files are only ever written before they get their name,
    // and the folder belongs to this user alone.
    unsafe {
        Component::deserialize_file(engine, same_file)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn files_that_another_host_removes_meanwhile_are_no_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        let is_over = AtomicBool::new(false);
        let others = |prefix: &'static str, suffix: &'static str| {
            while !is_over.load(Ordering::Relaxed) {
                let mut builder = tempfile::Builder::new();
                let files: Vec<_> = (0..20)
                    .map(|_| builder.prefix(prefix).suffix(suffix).tempfile_in(&folder).expect("a file"))
                    .collect();
                drop(files);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| others(DRAFT, ""));
            scope.spawn(|| others("a", ".code"));
            let done: Vec<io::Result<()>> =
                (0..1_000).flat_map(|_| [sweep(folder.path()), prune(folder.path(), SUFFIX, 3)]).collect();
            is_over.store(true, Ordering::Relaxed);
            let failed: Vec<_> = done.into_iter().filter_map(Result::err).collect();
            assert!(failed.is_empty(), "{failed:?}");
        });
    }

    #[test]
    fn an_old_draft_goes_and_a_young_one_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let [old, young] = ["draft-old", "draft-young"].map(|name| folder.path().join(name));
        for path in [&old, &young] {
            fs::write(path, "").expect("writes");
        }
        let long_ago = SystemTime::now() - 2 * STALE;
        File::options().write(true).open(&old).and_then(|file| file.set_modified(long_ago)).expect("ages");
        sweep(folder.path()).expect("sweeps");
        assert_eq!((old.exists(), young.exists()), (false, true));
    }
}
