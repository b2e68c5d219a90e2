//! Contracts that lie in the tree more than once.

use std::collections::BTreeMap;

use crate::Complaint;
use crate::tree::File;

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

/// `namespace:name@version`.
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
}
