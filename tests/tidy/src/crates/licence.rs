//! The licence of the tree, and of each crate.

use crate::Complaint;
use crate::tree::File;

/// The whole text is there, and each crate says that it is under it.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let licence = files.iter().find(|file| file.path == "LICENSE").and_then(|file| file.text.as_deref());
    let is_whole = licence.is_some_and(|text| {
        ["Apache License", "Version 2.0, January 2004", "END OF TERMS AND CONDITIONS"]
            .iter()
            .all(|part| text.contains(part))
    });
    if !is_whole {
        complaints.push("LICENSE: the text of the Apache License 2.0 is missing or cut".into());
    }
    let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    complaints.extend(
        manifests
            .filter(|file| !file.lines().any(|(_, line)| line.trim() == "license.workspace = true"))
            .map(|file| format!("{}: license.workspace = true is missing", file.path)),
    );
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "Apache License\nVersion 2.0, January 2004\n…\nEND OF TERMS AND CONDITIONS\n";

    #[test]
    fn a_missing_or_cut_text_is_found() {
        assert!(check(&[File::new("LICENSE", WHOLE)]).is_empty());
        assert_eq!(check(&[]).len(), 1);
        assert_eq!(check(&[File::new("LICENSE", "Apache License\nVersion 2.0, January 2004")]).len(), 1);
    }

    #[test]
    fn a_crate_without_a_licence_is_found() {
        let files = [File::new("LICENSE", WHOLE), File::new("a/Cargo.toml", "[package]\nname = \"a\"\n")];
        assert_eq!(check(&files), ["a/Cargo.toml: license.workspace = true is missing"]);
    }
}
