//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    /// None for what is no UTF-8.
    pub text: Option<String>,
}

impl File {
    /// For tests of checks.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: Some(text.into()) }
    }

    /// Numbered from 1; none for what is no text.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.iter().flat_map(|text| text.lines()).enumerate().map(|(index, line)| (index + 1, line))
    }

    /// True for what was not written here: locks, checksums, the licence, contracts of others.
    pub fn is_foreign(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        matches!(name, "Cargo.lock" | "go.sum" | "package-lock.json" | "LICENSE")
            || (self.path.starts_with("wit/")
                && self.path.contains("/deps/")
                && !name.starts_with("machinist-"))
    }
}

/// The root of the clone.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What git tracks, and what it would track. Files that are listed but deleted are left out.
pub fn files() -> Result<Vec<File>> {
    let root = root();
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .context("failed to start git")?;
    ensure!(output.status.success(), "git failed: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("git lists a path that is no UTF-8")?;
    let mut files: Vec<File> = names
        .split_terminator('\0')
        .filter_map(|path| {
            let bytes = fs::read(root.join(path)).ok()?;
            Some(File { path: path.into(), text: String::from_utf8(bytes).ok() })
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_of_others_are_foreign_and_ours_are_not() {
        assert!(File::new("wit/provider/0.1.0/deps/http.wit", "").is_foreign());
        assert!(!File::new("wit/provider/0.1.0/deps/machinist-host.wit", "").is_foreign());
        assert!(!File::new("wit/provider/0.1.0/provider.wit", "").is_foreign());
    }
}
