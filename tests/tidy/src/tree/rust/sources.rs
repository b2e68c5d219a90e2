//! The sources of a crate or of an integration test, with the modules that they are.

use std::collections::BTreeSet;

use super::{Outline, outline};
use crate::Complaint;
use crate::tree::{File, written};

/// A source file of a crate.
#[derive(Debug)]
pub struct Source<'a> {
    pub file: &'a File,
    /// The path of its module; empty for `lib.rs` and `main.rs`.
    pub module: Vec<String>,
    pub outline: Outline,
    /// All of it is for tests.
    pub is_test: bool,
}

/// The sources below a folder with a root such as `lib.rs`, binaries in `bin` aside, or the files that are no Rust.
pub fn sources<'a>(folder: &str, files: &'a [File]) -> Result<Vec<Source<'a>>, Vec<Complaint>> {
    let mut sources = Vec::new();
    let mut complaints = Vec::new();
    for file in written(files) {
        let path = file.path.strip_prefix(folder).and_then(|path| path.strip_prefix('/'));
        let Some(module) = path.and_then(module) else { continue };
        match outline(file) {
            Ok(outline) => sources.push(Source { file, module, outline, is_test: false }),
            Err(error) => {
                let line = error.span().start().line;
                complaints.push(format!("{}:{line}: cannot be read: {error}", file.path));
            }
        }
    }
    mark_tests(&mut sources);
    if complaints.is_empty() { Ok(sources) } else { Err(complaints) }
}

/// The module of a path below the folder of the root.
fn module(path: &str) -> Option<Vec<String>> {
    let path = path.strip_suffix(".rs").filter(|path| !path.starts_with("bin/"))?;
    let path = if matches!(path, "lib" | "main") { "" } else { path.strip_suffix("/mod").unwrap_or(path) };
    Some(path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect())
}

fn mark_tests(sources: &mut [Source<'_>]) {
    let mut modules: BTreeSet<Vec<String>> = BTreeSet::new();
    let mut paths: BTreeSet<String> = BTreeSet::new();
    for source in sources.iter() {
        for test in &source.outline.test_files {
            if let Some(path) = &test.path {
                let folder = source.file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                paths.insert(format!("{folder}/{path}"));
            }
            let name = std::slice::from_ref(&test.name);
            modules.insert([&source.module[..], &test.inner, name].concat());
        }
    }
    for source in sources {
        let is_below = (1..=source.module.len()).any(|depth| modules.contains(&source.module[..depth]));
        source.is_test = is_below || paths.contains(&source.file.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_modules_and_those_of_tests_are_marked() {
        let files = [
            File::new("a/src/b.rs", "#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\n"),
            File::new("a/src/b_tests.rs", ""),
            File::new("a/src/bin/c.rs", ""),
            File::new("a/src/d/mod.rs", "#[cfg(test)]\nmod tests;\n"),
            File::new("a/src/d/tests/mod.rs", "mod e;\n"),
            File::new("a/src/d/tests/e.rs", ""),
            File::new("a/src/lib.rs", "mod b;\nmod d;\n"),
            File::new("a/tests/f.rs", ""),
            File::new("ab/src/lib.rs", ""),
        ];
        let found = sources("a/src", &files).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|it| format!("{}{}", it.module.join("::"), if it.is_test { "!" } else { "" }))
            .collect();
        assert_eq!(shown, ["b", "b_tests!", "d", "d::tests!", "d::tests::e!", ""]);
    }

    #[test]
    fn a_file_that_is_no_rust_is_named() {
        let files = [File::new("a/src/lib.rs", "\nfn (")];
        let found = sources("a/src", &files);
        let complaints = found.unwrap_err();
        assert!(
            complaints.len() == 1 && complaints[0].starts_with("a/src/lib.rs:2: cannot be read"),
            "{complaints:?}"
        );
    }
}
