//! The files of one control plane: a folder that only its owner can read.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Writes a file that only its owner can read; keys and kubeconfigs are among them.
pub(crate) fn write_private(path: &Path, content: &str) -> anyhow::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("failed to create {}", path.display()))?;
    file.write_all(content.as_bytes()).with_context(|| format!("failed to write {}", path.display()))
}

/// A file name for a user or account, whose name may hold `:` and `/`.
pub(crate) fn file_name_of(user: &str) -> String {
    user.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect()
}

/// The last lines of a log, for the error of a process that died.
pub(crate) fn tail(log: &Path, lines: usize) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

/// The YAML files at `path`: the file itself, or those of a folder in the order of their names.
pub(crate) fn manifests_at(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("failed to list {}", path.display()))?;
    let mut files = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| matches!(file.extension().and_then(|e| e.to_str()), Some("yaml" | "yml")));
    files.sort();
    anyhow::ensure!(!files.is_empty(), "no .yaml file in {}", path.display());
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_private(&path, "secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_tail_of_a_log_is_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(tail(&path, 2), "two\nthree");
        assert_eq!(tail(&path, 9), "one\ntwo\nthree");
        assert_eq!(tail(&folder.path().join("absent"), 2), "");
    }

    #[test]
    fn a_user_name_becomes_one_file_name() {
        assert_eq!(file_name_of("system:serviceaccount:a/b"), "system-serviceaccount-a-b");
    }
}
