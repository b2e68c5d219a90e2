//! The head of a file that declares modules: its table of contents.

use std::collections::BTreeSet;

use crate::not_yet::Finding;
use crate::tree::rust::{Outline, outline};
use crate::tree::{File, written};

/// A single module is the subject of the file's prose.
const MODULES: usize = 2;

/// The module of unit tests explains itself.
const TESTS: &str = "tests";

/// The head of the column that lists modules.
const COLUMN: &str = "module";

/// The head of a Rust file that declares two or more modules in files of their own names each of them in backticks,
/// `tests` aside, and the column of modules in its table names no module that the file does not declare.
pub fn find(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written(files).filter(|file| file.path.ends_with(".rs")) {
        // The check of type names complains of files that are no Rust.
        let outline = outline(file).unwrap_or_default();
        findings.extend(missing(file, &outline));
        findings.extend(undeclared(file, &outline));
    }
    findings
}

fn missing(file: &File, outline: &Outline) -> Vec<Finding> {
    let named: BTreeSet<&str> = prose(&outline.head).flat_map(code).collect();
    let mut seen = BTreeSet::new();
    let mut children: Vec<_> =
        outline.modules.iter().filter(|it| it.has_own_file && it.name != TESTS).collect();
    // A module is declared twice if each declaration is for another platform.
    children.retain(|it| seen.insert(it.name.as_str()));
    if children.len() < MODULES {
        return Vec::new();
    }
    let missing = children.into_iter().filter(|it| !named.contains(it.name.as_str()));
    missing
        .map(|it| {
            let (path, line, name) = (&file.path, it.line, &it.name);
            let complaint = format!(
                "{path}:{line}: the head of the file does not name `{name}`: add one line about it to the table of modules"
            );
            Finding::one(path, complaint)
        })
        .collect()
}

fn undeclared(file: &File, outline: &Outline) -> Vec<Finding> {
    let declared: BTreeSet<&str> = outline.modules.iter().map(|it| it.name.as_str()).collect();
    let mut findings = Vec::new();
    let mut column = None;
    let mut in_table = false;
    for line in prose(&outline.head) {
        let Some(row) = line.strip_prefix('|') else {
            in_table = false;
            continue;
        };
        let mut cells = row.split('|').map(str::trim);
        if !in_table {
            in_table = true;
            column = cells.position(|cell| cell == COLUMN);
        } else if let Some(cell) = column.and_then(|column| cells.nth(column)) {
            for name in code(cell).filter(|name| is_module_name(name) && !declared.contains(name)) {
                let path = &file.path;
                let complaint = format!(
                    "{path}: the table of modules names `{name}`, which the file does not declare: correct the name, or remove the row"
                );
                findings.push(Finding::one(path, complaint));
            }
        }
    }
    findings
}

/// The lines of documentation without blocks of code.
fn prose(head: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    head.lines().map(str::trim).filter(move |line| {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The texts in backticks, of paths the first part: `a::b` names module `a`.
fn code(line: &str) -> impl Iterator<Item = &str> {
    let texts = line.split('`').skip(1).step_by(2);
    texts.map(|text| text.split("::").next().unwrap_or_default())
}

/// False for types, for texts that are no names, and for paths from the root.
fn is_module_name(text: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.chars().all(is_of_name) && !matches!(text, "crate" | "self" | "super")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [File::new("a/src/lib.rs", text)];
        let short = |it: Finding| it.complaint.split(':').take(3).collect::<Vec<_>>().join(":");
        find(&files).into_iter().map(short).collect()
    }

    #[test]
    fn a_module_that_the_head_does_not_name_is_found() {
        let modules = "mod a;\n#[cfg(test)]\npub(crate) mod b;\n";
        assert!(found(&format!("//! A crate of `a` and [`b::C`].\n\n{modules}")).is_empty());
        let expected = ["a/src/lib.rs:4: the head of the file does not name `b`"];
        assert_eq!(found(&format!("//! `a` and b.\n{modules}")), expected);
        assert_eq!(found(modules).len(), 2);
        assert_eq!(found(&format!("/// `a` and `b`.\nconst A: u8 = 1;\n{modules}")).len(), 2);
        assert_eq!(found(&format!("//! ```\n//! // `a`\n//! ```\n//! `b`\n{modules}")).len(), 1);
    }

    #[test]
    fn single_modules_tests_and_modules_inside_of_the_file_need_no_name() {
        assert!(found("mod a;\n#[cfg(test)]\nmod tests;\nmod b { mod c; }\n").is_empty());
        assert!(found("#[cfg(unix)]\nmod a;\n#[cfg(not(unix))]\nmod a;\n").is_empty());
    }

    #[test]
    fn a_row_of_a_module_that_is_not_there_is_found() {
        let table = "//! | topic | module |\n//! | --- | --- |\n";
        let head = format!("{table}//! | `c` | `a`, [`crate::d`], `b::e`, [`F`] |\n");
        assert!(found(&format!("{head}mod a;\nmod b {{}}\n")).is_empty());
        let found_rows = found(&format!("{head}mod a;\n"));
        let expected = "a/src/lib.rs: the table of modules names `b`, ";
        assert!(found_rows.len() == 1 && found_rows[0].starts_with(expected), "{found_rows:?}");
        assert!(found(&head.replace("module", "items")).is_empty());
    }

    #[test]
    fn generated_code_needs_no_head() {
        assert!(found("// Generated by a tool.\nmod a;\nmod b;\n").is_empty());
    }
}
