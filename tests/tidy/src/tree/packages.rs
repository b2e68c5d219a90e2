//! The crates and packages of the tree.

use super::File;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crate<'a> {
    /// The folder of its `Cargo.toml`.
    pub folder: &'a str,
    /// Others depend on it from a registry.
    pub is_published: bool,
}

/// The crates, by folder.
pub fn crates(files: &[File]) -> Vec<Crate<'_>> {
    let root = files.iter().find(|file| file.path == "Cargo.toml");
    let by_default = root.is_none_or(|file| !has_line(file, "publish = false"));
    let manifests = files.iter().filter_map(|file| Some((file, file.path.strip_suffix("/Cargo.toml")?)));
    manifests
        .map(|(file, folder)| {
            let is_private = has_line(file, "publish = false")
                || (has_line(file, "publish.workspace = true") && !by_default);
            Crate { folder, is_published: !is_private }
        })
        .collect()
}

fn has_line(file: &File, wanted: &str) -> bool {
    file.lines().any(|(_, line)| line.trim() == wanted)
}

impl Crate<'_> {
    /// The path of a file below the folder of the crate.
    pub fn inner<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(self.folder)?.strip_prefix('/')
    }
}

const MANIFESTS: [&str; 4] = ["Cargo.toml", "go.mod", "package.json", "pyproject.toml"];

/// The folder that a file is counted for: the package that it belongs to, else the folder at the root, else `.`.
pub fn home<'p>(files: &[File], path: &'p str) -> &'p str {
    let is_there = |path: &str| files.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
    let mut folder = path;
    while let Some((above, _)) = folder.rsplit_once('/') {
        if MANIFESTS.iter().any(|name| is_there(&format!("{above}/{name}"))) {
            return above;
        }
        folder = above;
    }
    if folder == path { "." } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_published_unless_it_or_the_workspace_says_no() {
        let files = [
            File::new("Cargo.toml", "[workspace.package]\npublish = false\n"),
            File::new("a/Cargo.toml", "publish.workspace = true\n"),
            File::new("b/Cargo.toml", "publish = true\n"),
            File::new("c/Cargo.toml", "publish = false\n"),
        ];
        let published: Vec<bool> = crates(&files).iter().map(|it| it.is_published).collect();
        assert_eq!(published, [false, true, false]);
    }

    #[test]
    fn a_file_is_counted_for_the_nearest_package() {
        let files = [File::new("sdk/go/component/Cargo.toml", ""), File::new("sdk/go/go.mod", "")];
        for (path, expected) in [
            ("sdk/go/component/src/lib.rs", "sdk/go/component"),
            ("sdk/go/driver/http.go", "sdk/go"),
            ("docs/a/b.md", "docs"),
            ("README.md", "."),
        ] {
            assert_eq!(home(&files, path), expected);
        }
    }
}
