//! Manifests: one version table, the same lints everywhere.

use std::collections::BTreeSet;

use crate::Complaint;
use crate::tree::File;

const ROOT: &str = "Cargo.toml";

/// Every crate takes lints and versions from the workspace; the workspace offers nothing that no crate takes.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut taken = BTreeSet::new();
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let entries = entries(file);
        if !entries.iter().any(|entry| entry.table == "lints" && entry.text == "workspace = true") {
            complaints.push(format!("{}: [lints] workspace = true is missing", file.path));
        }
        for entry in entries.iter().filter(|entry| entry.is_dependency()) {
            taken.insert(entry.name());
            if !entry.is_from_workspace() {
                let Entry { number, text, .. } = entry;
                complaints.push(format!("{}:{number}: not from the version table: {text}", file.path));
            }
        }
    }
    let root = files.iter().find(|file| file.path == ROOT).map(entries).unwrap_or_default();
    for entry in root.iter().filter(|entry| entry.table == "workspace.dependencies") {
        if !taken.contains(entry.name()) {
            complaints.push(format!("{ROOT}:{}: no crate takes {}", entry.number, entry.name()));
        }
    }
    complaints
}

/// One line of a table.
struct Entry<'a> {
    number: usize,
    table: &'a str,
    text: &'a str,
}

impl<'a> Entry<'a> {
    fn is_dependency(&self) -> bool {
        let last = self.table.rsplit('.').next().unwrap_or_default();
        last.ends_with("dependencies") && !self.table.starts_with("workspace")
    }

    /// The dependency's name in the table, also for `name.workspace = true`.
    fn name(&self) -> &'a str {
        self.text.split(['.', '=', ' ']).next().unwrap_or_default()
    }

    fn is_from_workspace(&self) -> bool {
        let bare: String = self.text.split_whitespace().collect();
        bare.ends_with(".workspace=true")
            || bare.contains("{workspace=true")
            || bare.contains(",workspace=true")
    }
}

fn entries(file: &File) -> Vec<Entry<'_>> {
    let mut table = "";
    let mut entries = Vec::new();
    for (number, line) in file.lines() {
        let text = line.trim();
        if let Some(header) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
            && !header.contains('"')
        {
            table = header.trim_matches(['[', ']']);
        } else if let Some(header) = text.strip_prefix("[target.") {
            table = header.trim_end_matches(']').rsplit('.').next().unwrap_or_default();
        } else if text.contains('=') && !text.starts_with('#') {
            entries.push(Entry { number, table, text });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "[workspace.dependencies]\nserde = \"1\"\n\n[workspace.lints.rust]\nunreachable_pub = \"warn\"\n";

    fn complaints(manifest: &str) -> Vec<Complaint> {
        check(&[File::new("Cargo.toml", TABLE), File::new("a/Cargo.toml", manifest)])
    }

    #[test]
    fn what_comes_from_the_workspace_passes() {
        let dotted = "[lints]\nworkspace = true\n\n[dependencies]\nserde.workspace = true\n";
        let inline = "[lints]\nworkspace = true\n\n[dependencies]\nserde = { workspace = true, features = [\"rc\"] }\n";
        assert!(complaints(dotted).is_empty());
        assert!(complaints(inline).is_empty());
    }

    #[test]
    fn missing_lints_are_found() {
        let found = complaints("[dependencies]\nserde.workspace = true\n");
        assert_eq!(found, ["a/Cargo.toml: [lints] workspace = true is missing"]);
    }

    #[test]
    fn a_version_outside_the_table_is_found_in_every_kind_of_dependency() {
        for table in [
            "dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies",
            "target.\"cfg(unix)\".dependencies",
        ] {
            let found = complaints(&format!("[lints]\nworkspace = true\n\n[{table}]\nserde = \"1\"\n"));
            assert_eq!(found, ["a/Cargo.toml:5: not from the version table: serde = \"1\""], "{table}");
        }
    }

    #[test]
    fn an_entry_that_nobody_takes_is_found() {
        let found = complaints("[lints]\nworkspace = true\n");
        assert_eq!(found, ["Cargo.toml:2: no crate takes serde"]);
    }
}
