//! Notes about packed components, so that megabytes are unpacked and hashed once.
//!
//! A note has the digest, the size, and the imports and exports of a packed component. It is beside the code that the
//! digest leads to, and a wrong note would lead to wrong code, so it is authenticated like code. Without a right tag,
//! or without the file, the component is unpacked. The host checks the content of a note each time.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::key::MacKey;
use super::{DRAFT, TAG_BYTES, prune};
use crate::loading::verify::Names;
use crate::sources::Packed;
use machinist_artifacts::ContentDigest;

const SUFFIX: &str = "note";
/// A few kilobytes each.
const MOST_FILES: usize = 256;
const CONTENT: &str = "machinist packed component 1";
const PURPOSE: &str = "machinist note of a packed component 1";

/// The content of a packed component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) digest: ContentDigest,
    pub(crate) size_bytes: usize,
    pub(crate) names: Names,
}

#[derive(Serialize, Deserialize)]
struct RawNote {
    digest: String,
    size_bytes: usize,
    imports: Vec<String>,
    exports: Vec<String>,
}

/// The folder of compiled code, for notes.
pub(crate) struct Notes {
    folder: PathBuf,
    key: MacKey,
}

/// Names packed bytes: a second text with the same name cannot be found.
pub(crate) struct ContentId(blake3::Hash);

impl Notes {
    /// In a folder that is there and closed to others.
    pub(crate) fn new(folder: &Path, key: MacKey) -> Self {
        Self { folder: folder.to_owned(), key }
    }

    /// Reads all of it: not for a thread that others wait for.
    pub(crate) fn content(&self, packed: &Packed) -> ContentId {
        let mut tagger = self.key.tagger(CONTENT);
        tagger.update(packed.encoding().name().as_bytes()).update(&[0]);
        for piece in packed.pieces() {
            tagger.update(piece);
        }
        ContentId(tagger.finalize())
    }

    /// Returns the note about this content, if this installation wrote it.
    pub(crate) fn read(&self, content: &ContentId) -> Option<Note> {
        let path = self.path(content);
        let bytes = fs::read(&path).ok()?;
        let (text, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES as usize)?)?;
        if self.tag(content, text) != blake3::Hash::from_bytes(tag.try_into().ok()?) {
            return None;
        }
        let raw: RawNote = serde_json::from_slice(text).ok()?;
        // The time only decides which file is removed first when there are too many.
        let _touched = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        let names = Names { imports: raw.imports, exports: raw.exports };
        Some(Note { digest: raw.digest.parse().ok()?, size_bytes: raw.size_bytes, names })
    }

    /// Notes what was found in this content.
    pub(crate) fn write(&self, content: &ContentId, note: &Note) -> io::Result<()> {
        let Note { digest, size_bytes, names: Names { imports, exports } } = note.clone();
        let text = serde_json::to_vec(&RawNote { digest: digest.to_string(), size_bytes, imports, exports })?;
        // Temporary files are created with mode 0600.
        let mut draft = tempfile::Builder::new().prefix(DRAFT).tempfile_in(&self.folder)?;
        draft.write_all(&text)?;
        draft.write_all(self.tag(content, &text).as_bytes())?;
        // A note that a crash truncates has no right tag, so nothing waits for the disk.
        draft.persist(self.path(content)).map_err(|error| error.error)?;
        prune(&self.folder, SUFFIX, MOST_FILES)
    }

    fn path(&self, content: &ContentId) -> PathBuf {
        self.folder.join(format!("{}.{SUFFIX}", content.0.to_hex()))
    }

    fn tag(&self, content: &ContentId, text: &[u8]) -> blake3::Hash {
        self.key.tagger(PURPOSE).update(content.0.as_bytes()).update(text).finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loading::code_cache::key::CacheKey;
    use crate::sources::Encoding;

    fn notes(folder: &Path, key: u8) -> Notes {
        Notes::new(folder, MacKey::open(&CacheKey::Bytes([key; 32])).expect("a key"))
    }

    fn note() -> Note {
        let names = Names { imports: vec!["a:b/c@0.1.0".to_owned()], exports: vec!["d".to_owned()] };
        Note { digest: ContentDigest::of(b"component"), size_bytes: 9, names }
    }

    #[test]
    fn a_note_is_of_its_content_alone_however_that_is_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let notes = notes(folder.path(), 1);
        let content = notes.content(&Packed::whole(Encoding::Zstd, &b"packed"[..]));
        assert_eq!(notes.read(&content), None);
        notes.write(&content, &note()).expect("writable");
        let pieces = Packed::new(Encoding::Zstd, vec![b"pack"[..].into(), b"ed"[..].into()]);
        assert_eq!(notes.read(&notes.content(&pieces)), Some(note()));
        for other in
            [Packed::whole(Encoding::Zstd, &b"packet"[..]), Packed::whole(Encoding::Gzip, &b"packed"[..])]
        {
            let other = notes.content(&other);
            assert_eq!(notes.read(&other), None);
            // Another's note under its name.
            fs::copy(notes.path(&content), notes.path(&other)).expect("writable");
            assert_eq!(notes.read(&other), None);
        }
    }

    #[test]
    fn a_note_that_is_changed_truncated_or_of_another_installation_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let ours = notes(folder.path(), 1);
        let content = ours.content(&Packed::whole(Encoding::Zstd, &b"packed"[..]));
        ours.write(&content, &note()).expect("writable");
        let good = fs::read(ours.path(&content)).expect("readable");
        for place in 0..good.len() {
            let mut bytes = good.clone();
            bytes[place] ^= 1;
            fs::write(ours.path(&content), &bytes).expect("writable");
            assert_eq!(ours.read(&content), None, "byte {place}");
            fs::write(ours.path(&content), &good[..place]).expect("writable");
            assert_eq!(ours.read(&content), None, "{place} bytes");
        }
        fs::write(ours.path(&content), &good).expect("writable");
        assert_eq!(ours.read(&content), Some(note()));
        let others = notes(folder.path(), 2);
        assert_eq!(others.read(&content), None);
    }
}
