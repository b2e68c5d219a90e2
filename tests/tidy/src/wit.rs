//! Contracts: those that lie in the tree more than once, and those that are frozen.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::Complaint;
use crate::tree::{FROZEN, File};

/// A package of one version has one text, wherever it lies, and lies in folders that name released versions.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let mut first: BTreeMap<&str, &File> = BTreeMap::new();
    let mut complaints = Vec::new();
    let contracts = files.iter().filter(|file| file.path.starts_with("wit/") && file.path.ends_with(".wit"));
    for file in contracts {
        let Some(package) = package(file) else {
            complaints.push(format!("{}: no package with a version", file.path));
            continue;
        };
        match first.get(package) {
            Some(known) if known.text != file.text => {
                complaints.push(format!("{}: {package} differs from {}", file.path, known.path));
            }
            Some(_) => {}
            None => {
                first.insert(package, file);
            }
        }
    }
    complaints
}

/// No file of a released version changes, is removed, or is added.
pub fn check_frozen(files: &[File]) -> Vec<Complaint> {
    let list = files.iter().find(|file| file.path == FROZEN).and_then(|file| file.text.as_deref());
    let Some(list) = list else { return vec![format!("{FROZEN}: it is missing")] };
    let frozen: BTreeMap<&str, &str> =
        list.lines().filter_map(|line| line.split_once("  ").map(|(digest, path)| (path, digest))).collect();
    let versions: BTreeSet<&str> = frozen.keys().filter_map(|path| version_of(path)).collect();
    let mut left = frozen.clone();
    let mut complaints = Vec::new();
    for file in files {
        let Some(path) = file.path.strip_prefix("wit/") else { continue };
        let Some(version) = version_of(path) else { continue };
        let digest = file.text.as_deref().map(digest_of);
        match left.remove(path) {
            Some(known) if digest.as_deref() == Some(known) => {}
            Some(_) => complaints.push(format!(
                "{}: {version} is frozen, and drivers are built against it; what is new goes into the next folder or into an interface of its own",
                file.path
            )),
            None if versions.contains(version) => {
                complaints.push(format!("{}: {version} is frozen, and this file was not in it", file.path));
            }
            None => {}
        }
    }
    complaints
        .extend(left.keys().map(|path| format!("wit/{path}: it belongs to a frozen version, and is gone")));
    complaints
}

/// The part `package/version` of a path `package/version/…`.
fn version_of(path: &str) -> Option<&str> {
    let (at, _) = path.match_indices('/').nth(1)?;
    path.get(..at)
}

fn digest_of(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the package in a file, as `namespace:name@version`.
fn package(file: &File) -> Option<&str> {
    let line = file.lines().find_map(|(_, line)| line.strip_prefix("package "))?;
    line.trim_end().strip_suffix(';').filter(|package| package.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(folder: &str, text: &str) -> File {
        File::new(&format!("wit/{folder}/deps/io.wit"), text)
    }

    #[test]
    fn copies_that_differ_are_found() {
        let one = contract("provider/0.1.0", "package wasi:io@0.2.12;\ninterface a {}\n");
        let same = contract("policy/0.1.0", "package wasi:io@0.2.12;\ninterface a {}\n");
        let other = contract("policy/0.1.0", "package wasi:io@0.2.12;\ninterface b {}\n");
        let later = contract("policy/0.2.0", "package wasi:io@0.3.0;\ninterface b {}\n");
        assert!(check(&[one.clone(), same, later]).is_empty());
        assert_eq!(check(&[one, other]).len(), 1);
    }

    #[test]
    fn a_contract_without_a_version_is_found() {
        assert_eq!(check(&[contract("provider/0.1.0", "package wasi:io;\n")]).len(), 1);
    }

    #[test]
    fn what_is_frozen_stays_and_what_is_new_may_change() {
        let text = "package machinist:policy@0.1.0;\n";
        let list = File::new(FROZEN, &format!("{}  policy/0.1.0/deps/io.wit\n", digest_of(text)));
        let kept = contract("policy/0.1.0", text);
        let next = contract("policy/0.2.0", "package machinist:policy@0.2.0;\n");
        let readme = File::new("wit/README.md", "text");
        let all = |files: &[&File]| check_frozen(&files.iter().map(|&file| file.clone()).collect::<Vec<_>>());
        assert_eq!(all(&[&list, &kept, &next, &readme]), Vec::<String>::new());
        let say = |files: &[&File], part: &str| {
            let said = all(files);
            assert!(said.len() == 1 && said[0].contains(part), "{said:?}");
        };
        say(
            &[&list, &contract("policy/0.1.0", "package machinist:policy@0.1.0;\n\n"), &next],
            "is frozen, and drivers",
        );
        say(&[&list, &next], "is gone");
        say(&[&list, &kept, &File::new("wit/policy/0.1.0/more.wit", text)], "was not in it");
        say(&[&kept], "it is missing");
    }
}
