//! Paths of this repository that pages name in backticks.

use std::collections::BTreeSet;

use crate::Complaint;
use crate::tree::File;
use crate::tree::prose::{blocks, is_document};

/// Pages about the past name files that are gone.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "host/decisions/0"];

/// Each path in backticks that looks like one of this repository leads to a file or a folder: from the page's folder or
/// one above it, or, if it ends in `.rs` or `/`, from any folder below the page. Folders `src` may be left out.
///
/// Such a path ends in `.rs` or `/`, or its first part is a file or folder beside the page or above it.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let known: BTreeSet<String> =
        files.iter().flat_map(|file| with_folders(&file.path)).map(without_src).collect();
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| is_page(file)) {
        let lines = blocks(file).into_iter().flat_map(|block| block.lines);
        for (number, span) in lines.flat_map(|line| in_backticks(line.text).map(move |it| (line.number, it)))
        {
            for path in alternatives(span) {
                if leads_nowhere(&file.path, &path, &known) {
                    complaints.push(format!("{}:{number}: no file or folder is at {path}", file.path));
                }
            }
        }
    }
    complaints
}

fn is_page(file: &File) -> bool {
    is_document(&file.path) && !file.is_foreign() && !HISTORY.iter().any(|it| file.path.starts_with(it))
}

/// A path and all folders above it.
pub(super) fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    std::iter::once(path).chain(path.match_indices('/').map(move |(at, _)| &path[..at]))
}

fn without_src(path: &str) -> String {
    path.split('/').filter(|part| !matches!(*part, "src" | "")).collect::<Vec<_>>().join("/")
}

fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The paths that `a/{b,c}.rs` means.
fn alternatives(span: &str) -> Vec<String> {
    let parts = span.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        None => vec![span.into()],
        Some((before, (names, after))) => {
            names.split(',').map(|name| format!("{before}{name}{after}")).collect()
        }
    }
}

fn leads_nowhere(page: &str, path: &str, known: &BTreeSet<String>) -> bool {
    let is_ours = path.ends_with(".rs") || path.ends_with('/');
    if !(is_ours || path.contains('/')) || !is_path(path) {
        return false;
    }
    let first = path.split('/').next().unwrap_or_default();
    let bases: Vec<String> = with_folders(page).skip(1).chain([""]).map(without_src).collect();
    let stripped = without_src(path);
    let is_there = |path: &str| {
        bases.iter().any(|base| {
            let whole = format!("{base}/{path}");
            let whole = whole.trim_start_matches('/');
            known.contains(whole) || (path.contains('*') && known.iter().any(|it| matches(it, whole)))
        })
    };
    if is_ours {
        let folder = page.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let end = format!("/{stripped}");
        let is_below = known.iter().any(|it| it.starts_with(&folder) && it.ends_with(&end));
        return !is_below && !is_there(&stripped);
    }
    // The reader's project may have any `src`.
    first != "src" && is_there(first) && !is_there(&stripped)
}

/// True for relative paths without names that the reader has to fill in: `NAME`, `vX.Y.Z`.
fn is_path(text: &str) -> bool {
    let is_placeholder = |part: &str| {
        let letters = part.trim_start_matches('v');
        letters.contains(|c: char| c.is_ascii_uppercase())
            && !letters.contains(|c: char| c.is_ascii_lowercase())
    };
    let mut parts = text.split('/');
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./*".contains(c))
        && parts
            .next()
            .is_some_and(|first| !first.is_empty() && (!first.contains('.') || first.ends_with(".rs")))
        && !text.split('/').any(is_placeholder)
}

/// True if the parts are the same; `*` is any part.
fn matches(path: &str, pattern: &str) -> bool {
    let (mut parts, mut wanted) = (path.split('/'), pattern.split('/'));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some(name)) if name == "*" || part == name => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<Complaint> {
        check(&[
            File::new(path, text),
            File::new("host/core/src/drain/mod.rs", ""),
            File::new("host/core/tests/life/main.rs", ""),
            File::new("docs/use/limits.md", ""),
            File::new("wit/0.1.0/world.wit", ""),
        ])
    }

    #[test]
    fn paths_from_the_page_from_above_and_from_its_crates_pass() {
        let text = "`core/src/drain/mod.rs`, `core/drain`, `drain/mod.rs`, `mod.rs`, `drain/`, `host/core/tests/life`,\n\
                    `core/{src,tests}/`, `host/*/src`, `wit/0.1.0/world.wit`, `docs/use/limits.md`\n";
        assert!(complaints("host/A.md", text).is_empty(), "{:?}", complaints("host/A.md", text));
    }

    #[test]
    fn paths_of_others_are_not_looked_for() {
        let text = "`/debug/x`, `example.org/role/`, `plugin.yaml`, `src/driver.js`, `docs/NAME`, `wit/vX.Y.Z`, `pods/log`\n\
                    ```\n`host/gone`\n```\n";
        assert!(complaints("README.md", text).is_empty(), "{:?}", complaints("README.md", text));
        assert!(complaints("CHANGELOG.md", "`host/gone`").is_empty());
        assert!(complaints("host/decisions/0001-a.md", "`host/gone.rs`").is_empty());
    }

    #[test]
    fn paths_that_lead_nowhere_are_found() {
        let gone = |path| format!("host/A.md:1: no file or folder is at {path}");
        assert_eq!(complaints("host/A.md", "see `core/gone`"), [gone("core/gone")]);
        assert_eq!(complaints("host/A.md", "`gone.rs`"), [gone("gone.rs")]);
        assert_eq!(complaints("host/A.md", "`gone/`"), [gone("gone/")]);
        assert_eq!(complaints("host/A.md", "`core/{drain,gone}`"), [gone("core/gone")]);
        assert_eq!(complaints("host/A.md", "`core/*/gone`"), [gone("core/*/gone")]);
        assert_eq!(complaints("docs/use/a.md", "`drain/mod.rs`").len(), 1);
    }
}
