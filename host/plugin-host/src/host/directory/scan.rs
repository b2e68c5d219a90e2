//! Lists the directory without reading files.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::sources::{Encoding, is_name};

/// More than this is not a directory of plugins; a wrong path is more likely.
const MOST_PLUGINS: usize = 1_000;

/// More than this is not a plugin's folder. All that has a meaning are twelve names.
const MOST_FILES: usize = 100;

/// A writer may pause for this long.
const REST: Duration = Duration::from_secs(2);

/// Made by file systems, for themselves.
const LOST: &str = "lost+found";

/// Why the directory, or a folder in it, cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("failed to read the folder {}", folder.display())]
    Read {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} has more than {most} entries: is it the right folder?", folder.display())]
    TooMany { folder: PathBuf, most: usize },
}

#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) plugins: BTreeMap<String, Stamps>,
    /// Names that are no plugin's.
    pub(super) invalid: Vec<String>,
}

/// The files of one plugin, by their path in the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(pub(super) BTreeMap<PathBuf, Stamp>);

/// Tells two contents of a path apart without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    File {
        device: u64,
        inode: u64,
        bytes: u64,
        /// Seconds and nanoseconds of the last write.
        modified: (i64, i64),
        /// The last change of the content, the name or the permissions.
        changed: (i64, i64),
    },
    /// It is no file.
    Other,
    /// It cannot be looked at, such as a link to nowhere.
    Unknown,
}

impl Stamps {
    /// True if no file is being written, as far as one scan can tell: a rename, or another change, came after the last
    /// write, or the last write was long ago.
    pub(super) fn is_at_rest(&self, now: SystemTime) -> bool {
        self.0.values().all(|stamp| stamp.is_at_rest(now))
    }
}

impl Stamp {
    fn of(metadata: io::Result<Metadata>) -> Self {
        match metadata {
            Ok(metadata) if metadata.is_file() => Self::File {
                device: metadata.dev(),
                inode: metadata.ino(),
                bytes: metadata.size(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
            Ok(_) => Self::Other,
            Err(_) => Self::Unknown,
        }
    }

    fn is_at_rest(&self, now: SystemTime) -> bool {
        let Self::File { modified, changed, .. } = *self else { return true };
        let seconds = u64::try_from(modified.0).unwrap_or_default();
        let age = now.duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        changed > modified || age.is_ok_and(|age| age > REST + Duration::from_secs(1))
    }
}

/// All that lies there.
pub(super) fn scan(root: &Path) -> Result<Scan, Error> {
    let mut scan = Scan::default();
    for name in names(root, MOST_PLUGINS)? {
        let path = root.join(&name);
        let is_folder = fs::metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        match alone(&name) {
            // An invalid folder name is reported when the folder is read.
            Some((plugin, _)) if is_name(plugin) => {
                let stamp = Stamp::of(fs::metadata(&path));
                let plugin = plugin.to_owned();
                scan.plugins.entry(plugin).or_default().0.insert(PathBuf::from(name), stamp);
            }
            None if is_folder && name == LOST => {}
            None if is_folder && is_name(&name) => {
                let stamps = folder(root, &name);
                scan.plugins.entry(name).or_default().0.extend(stamps.0);
            }
            Some(_) | None => scan.invalid.push(name),
        }
    }
    Ok(scan)
}

/// One plugin, as [`scan`] finds it.
pub(super) fn plugin(root: &Path, name: &str) -> Stamps {
    let is_folder = fs::metadata(root.join(name)).is_ok_and(|metadata| metadata.is_dir());
    let mut stamps = if is_folder { folder(root, name) } else { Stamps::default() };
    for suffix in Encoding::ALL.into_iter().filter_map(suffix) {
        let file = format!("{name}{suffix}");
        let path = root.join(&file);
        // A link to nowhere is there as well.
        if fs::symlink_metadata(&path).is_ok() {
            stamps.0.insert(PathBuf::from(file), Stamp::of(fs::metadata(&path)));
        }
    }
    stamps
}

/// Returns the suffix of a file that is a whole plugin.
fn suffix(encoding: Encoding) -> Option<&'static str> {
    encoding.key().strip_prefix("plugin")
}

/// Of a file that is a whole plugin: the plugin's name, and how it is packed.
pub(super) fn alone(file: &str) -> Option<(&str, Encoding)> {
    Encoding::ALL.into_iter().find_map(|encoding| {
        let plugin = file.strip_suffix(suffix(encoding)?)?;
        Some((plugin, encoding))
    })
}

/// A folder that cannot be read is one of which nothing is known: reading it will say why.
fn folder(root: &Path, name: &str) -> Stamps {
    let Ok(files) = names(&root.join(name), MOST_FILES) else {
        return Stamps(BTreeMap::from([(PathBuf::from(name), Stamp::Unknown)]));
    };
    let stamp = |file: String| {
        let path = Path::new(name).join(file);
        let stamp = Stamp::of(fs::metadata(root.join(&path)));
        (path, stamp)
    };
    Stamps(files.into_iter().map(stamp).collect())
}

/// The names in a folder that are not hidden, in order.
pub(super) fn names(folder: &Path, most: usize) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Read { folder: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if names.len() == most {
            return Err(Error::TooMany { folder: folder.to_owned(), most });
        }
        names.push(name);
    }
    names.sort();
    Ok(names)
}

/// The names in a plugin's folder.
pub(super) fn files(root: &Path, name: &str) -> Result<Vec<String>, Error> {
    names(&root.join(name), MOST_FILES)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(root: &Path) -> (Vec<String>, Vec<String>) {
        let scan = scan(root).unwrap();
        for (name, stamps) in &scan.plugins {
            assert_eq!(plugin(root, name), *stamps, "{name} is found alike by itself");
        }
        (scan.plugins.into_keys().collect(), scan.invalid)
    }

    #[test]
    fn files_and_folders_are_plugins_and_the_rest_is_invalid() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in
            ["a.wasm", "b.wasm.gz", "c.wasm.zst", "README.md", ".hidden.wasm", "no name.wasm", ".wasm"]
        {
            fs::write(root.join(name), "").unwrap();
        }
        for name in ["d", "lost+found", ".git", "e.wasm"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("d/plugin.wasm"), "").unwrap();
        symlink("nowhere", root.join("f.wasm")).unwrap();
        let (plugins, invalid) = found(root);
        assert_eq!(plugins, ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(invalid, ["README.md", "no name.wasm"]);
        assert_eq!(plugin(root, "nobody"), Stamps::default());
    }

    #[test]
    fn the_switch_of_a_mounted_configmap_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for version in ["..1", "..2"] {
            fs::create_dir_all(root.join("sim").join(version)).unwrap();
            fs::write(root.join("sim").join(version).join("plugin.wasm"), "same").unwrap();
        }
        symlink("..1", root.join("sim/..data")).unwrap();
        symlink("..data/plugin.wasm", root.join("sim/plugin.wasm")).unwrap();
        let before = plugin(root, "sim");
        assert_eq!((before.0.len(), &before), (1, &plugin(root, "sim")));
        symlink("..2", root.join("sim/..next")).unwrap();
        fs::rename(root.join("sim/..next"), root.join("sim/..data")).unwrap();
        assert_ne!(plugin(root, "sim"), before);
    }

    #[test]
    fn a_folder_with_far_too_much_in_it_is_not_taken_for_one_of_plugins() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MOST_PLUGINS {
            fs::write(folder.path().join(format!("p{number}.wasm")), "").unwrap();
        }
        let error = scan(folder.path()).unwrap_err().to_string();
        assert!(error.contains("more than 1000 entries"), "{error}");
    }
}
