//! Recordings as files: one per call, in a folder for each plugin, readable for this user alone. A file is complete or
//! absent. The oldest are removed when the folder is full.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::recording::model::{FORMAT, Recording};

/// A recording is 16 MiB of bodies at most, which JSON may make longer.
const MOST_FILE_BYTES: u64 = 128 * 1024 * 1024;
const EXTENSION: &str = "json";

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("failed to read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} has {bytes} bytes, and a recording has {MOST_FILE_BYTES} at most", path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("{} is cut off in line {line}: a recording is written as a whole, so copy it again", path.display())]
    CutOff { path: PathBuf, line: usize },
    #[error("{} is no recording", path.display())]
    NoRecording {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{} has the format {found}, and this host reads {FORMAT}: record again", path.display())]
    Format { path: PathBuf, found: String },
    #[error("there is no recording (*.{EXTENSION}) in {}", .0.display())]
    Empty(PathBuf),
}

/// Why a recording was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("it has {bytes} bytes, which is more than the limit of {limit_bytes} for all of them")]
    TooLarge { bytes: u64, limit_bytes: u64 },
    #[error("failed to write it")]
    Io(#[from] io::Error),
    #[error("failed to put it into JSON")]
    Json(#[from] serde_json::Error),
}

pub fn read(path: &Path) -> Result<Recording, ReadError> {
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    let bytes = fs::metadata(path).map_err(io)?.len();
    if bytes > MOST_FILE_BYTES {
        return Err(ReadError::TooLarge { path: path.to_owned(), bytes });
    }
    parse(&fs::read(path).map_err(io)?, path)
}

/// Reads a file, or all of a folder and its folders, in the order of their names. Each with where it lies.
pub fn read_all(path: &Path) -> Result<Vec<(PathBuf, Recording)>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![(path.to_owned(), read(path)?)]);
    }
    let mut files = Vec::new();
    files_in(path, &mut files).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    if files.is_empty() {
        return Err(ReadError::Empty(path.to_owned()));
    }
    files.sort();
    files.into_iter().map(|file| read(&file).map(|recording| (file, recording))).collect()
}

pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Recording, ReadError> {
    let no_recording = |source: serde_json::Error| {
        let path = path.to_owned();
        if source.is_eof() {
            ReadError::CutOff { path, line: source.line() }
        } else {
            ReadError::NoRecording { path, source }
        }
    };
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(no_recording)?;
    // Before all else: a host of another format has other fields.
    match value.get("format") {
        Some(format) if *format != FORMAT => {
            return Err(ReadError::Format { path: path.to_owned(), found: format.to_string() });
        }
        Some(_) | None => {}
    }
    serde_json::from_value(value).map_err(no_recording)
}

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            files_in(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    Ok(())
}

/// Writes one file, as a whole or not at all.
pub fn write(path: &Path, recording: &Recording) -> io::Result<u64> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let text = text_of(recording)?;
    // Made for this user alone, as temporary files are.
    let mut draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder)?;
    draft.write_all(text.as_bytes())?;
    draft.persist(path).map_err(|error| error.error)?;
    Ok(u64::try_from(text.len()).unwrap_or(u64::MAX))
}

fn text_of(recording: &Recording) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(recording)?;
    text.push('\n');
    Ok(text)
}

/// A folder that this host writes into.
pub(crate) struct Folder {
    root: PathBuf,
    limit_bytes: u64,
    /// By name, which begins with the time.
    files: BTreeMap<(String, PathBuf), u64>,
    used_bytes: u64,
    written: u64,
}

impl Folder {
    /// Makes it where it is not there. Recordings of an earlier process count, too.
    pub(crate) fn open(root: &Path, limit_bytes: u64) -> io::Result<Self> {
        make(root)?;
        // A folder that cannot be written shows it here and not at the first call.
        tempfile::Builder::new().prefix(".draft-").tempfile_in(root)?;
        let mut found = Vec::new();
        files_in(root, &mut found)?;
        let mut folder =
            Self { root: root.to_owned(), limit_bytes, files: BTreeMap::new(), used_bytes: 0, written: 0 };
        for path in found {
            let bytes = fs::metadata(&path)?.len();
            folder.count(path, bytes);
        }
        Ok(folder)
    }

    /// Writes a recording, and takes the oldest away until it has room.
    pub(crate) fn write(&mut self, recording: &Recording) -> Result<PathBuf, WriteError> {
        let limit_bytes = self.limit_bytes;
        let bytes = u64::try_from(text_of(recording)?.len()).unwrap_or(u64::MAX);
        if bytes > limit_bytes {
            return Err(WriteError::TooLarge { bytes, limit_bytes });
        }
        while self.used_bytes.saturating_add(bytes) > limit_bytes {
            let Some(((_, oldest), freed)) = self.files.pop_first() else { break };
            self.used_bytes = self.used_bytes.saturating_sub(freed);
            match fs::remove_file(&oldest) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
        }
        let folder = self.root.join(file_name(&recording.plugin));
        make(&folder)?;
        self.written += 1;
        let time = recording.at.strftime("%Y%m%dT%H%M%S%.6fZ");
        let name = format!("{time}-{:06}-{}.{EXTENSION}", self.written, file_name(&recording.operation));
        let path = folder.join(name);
        let bytes = write(&path, recording)?;
        self.count(path.clone(), bytes);
        Ok(path)
    }

    fn count(&mut self, path: PathBuf, bytes: u64) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        self.files.insert((name, path), bytes);
    }
}

/// For this user alone. One that is there stays as it is.
fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A name that stays in its folder.
fn file_name(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let plain: String =
        name.chars().map(|character| if is_plain(character) { character } else { '_' }).take(100).collect();
    if plain.trim_start_matches('.').is_empty() {
        "_".to_owned()
    } else {
        plain.replacen('.', "_", usize::from(plain.starts_with('.')))
    }
}
