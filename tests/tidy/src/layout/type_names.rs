//! Types of a crate that have one name.

use std::collections::{BTreeMap, BTreeSet};

use crate::not_yet::Finding;
use crate::tree::File;
use crate::tree::packages::{Crate, crates};
use crate::tree::rust::sources::{Source, sources};

/// The name that each module may have.
const FREE: &str = "Error";

/// No two structs, enums, unions, traits or aliases of a crate have one name, but `Error`. Integration tests with
/// several files are crates of their own. Unit tests are left out: each may have its own small model.
pub fn find(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for of in crates(files) {
        let source_folder = format!("{}/src", of.folder);
        let test_folders = test_folders(&of, files);
        for (folder, name) in [(source_folder, of.folder.to_owned())].into_iter().chain(test_folders) {
            match sources(&folder, files) {
                Ok(sources) => findings.extend(doubles(&name, &sources)),
                Err(complaints) => findings.extend(complaints.into_iter().map(|it| Finding::one(&name, it))),
            }
        }
    }
    findings
}

/// The folders of integration tests, which are also their names.
fn test_folders(of: &Crate<'_>, files: &[File]) -> Vec<(String, String)> {
    let roots = files.iter().filter_map(|file| file.path.strip_suffix("/main.rs"));
    let folders = roots.filter(|folder| of.inner(folder).is_some_and(|inner| inner.starts_with("tests/")));
    folders.map(|folder| (folder.to_owned(), folder.to_owned())).collect()
}

fn doubles(name_of_crate: &str, sources: &[Source<'_>]) -> Vec<Finding> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    // A module has a name twice if each is for another platform.
    let mut seen = BTreeSet::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        for it in source.outline.types.iter().filter(|it| !it.is_test && it.name != FREE) {
            if seen.insert((&source.module, &it.inner, &it.name)) {
                places.entry(&it.name).or_default().push(format!("{}:{}", source.file.path, it.line));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        for place in places {
            let others: Vec<&str> = places.iter().filter(|it| *it != place).map(String::as_str).collect();
            let complaint = format!(
                "{place}: {name_of_crate} has another type {name} ({}): give each the name of its meaning",
                others.join(", ")
            );
            findings.push(Finding::one(format!("{name_of_crate} {name}"), complaint));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let manifests = ["a/Cargo.toml", "b/Cargo.toml"].map(|path| File::new(path, ""));
        let files: Vec<File> =
            manifests.into_iter().chain(files.iter().map(|(path, text)| File::new(path, text))).collect();
        find(&files).into_iter().map(|finding| format!("{} {}", finding.item, finding.complaint)).collect()
    }

    #[test]
    fn a_name_that_is_there_twice_is_found_at_each_place() {
        for kind in ["struct A;", "enum A {}", "trait A {}", "type A = u8;", "mod c { union A { b: u8 } }"] {
            let found = found(&[("a/src/b.rs", "struct A;"), ("a/src/lib.rs", &format!("\n{kind}"))]);
            assert_eq!(found.len(), 2, "{kind}");
            assert!(
                found[1].starts_with("a A a/src/lib.rs:2: a has another type A (a/src/b.rs:1)"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn errors_tests_platforms_and_other_crates_may_share_names() {
        let text = "struct A; struct Error; #[cfg(test)] mod tests { struct B; } fn f() { struct C; }\n\
                    #[cfg(unix)] struct D; #[cfg(not(unix))] struct D;";
        let files = [("a/src/b.rs", "struct Error; struct B; struct C;"), ("a/src/lib.rs", text)];
        assert!(found(&files).is_empty(), "{:?}", found(&files));
        assert!(found(&[("a/src/lib.rs", "struct A;"), ("b/src/lib.rs", "struct A;")]).is_empty());
    }

    #[test]
    fn an_integration_test_is_a_crate_of_its_own() {
        let main = ("a/tests/b/main.rs", "struct A;");
        assert!(found(&[("a/src/lib.rs", "struct A;"), main]).is_empty());
        let both = found(&[("a/tests/b/c.rs", "struct A;"), main]);
        assert!(both.len() == 2 && both[0].starts_with("a/tests/b A a/tests/b/c.rs:1: "), "{both:?}");
    }

    #[test]
    fn a_file_that_is_no_rust_is_found() {
        assert_eq!(found(&[("a/src/lib.rs", "fn (")]).len(), 1);
    }
}
