//! Documentation that only repeats a name.

use crate::not_yet::Finding;
use crate::tree::packages::{self, Crate};
use crate::tree::rust::outline;
use crate::tree::{File, written};

/// Documentation of so many words says no more than the name.
const WORDS: usize = 3;

/// Crates that are not published have no documentation of three words or fewer, unless a derive makes help, a schema or
/// labels of it.
pub fn find(files: &[File]) -> Vec<Finding> {
    let published: Vec<Crate<'_>> =
        packages::crates(files).into_iter().filter(|it| it.is_published).collect();
    let mut findings = Vec::new();
    for file in written(files).filter(|file| file.path.ends_with(".rs")) {
        if published.iter().any(|it| it.inner(&file.path).is_some()) {
            continue;
        }
        // The check of type names complains of files that are no Rust.
        for doc in outline(file).unwrap_or_default().docs {
            if !doc.is_output && words(&doc.text) <= WORDS {
                findings.push(Finding::one(
                    &file.path,
                    format!(
                        "{}:{}: the comment \"{}\" has {WORDS} words or fewer: remove it, or add a fact that the name lacks",
                        file.path,
                        doc.line,
                        doc.text.trim()
                    ),
                ));
            }
        }
    }
    findings
}

fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let files = [
            File::new("Cargo.toml", "publish = false\n"),
            File::new("a/Cargo.toml", "publish.workspace = true\n"),
            File::new("a/src/lib.rs", text),
            File::new("b/Cargo.toml", "publish = true\n"),
            File::new("b/src/lib.rs", text),
        ];
        let complaints = find(&files).into_iter().map(|finding| finding.complaint);
        complaints.map(|it| it.split(": ").next().unwrap_or_default().into()).collect()
    }

    #[test]
    fn documentation_of_three_words_is_found_and_of_four_is_not() {
        let text = "//! A crate.\n\n/// The `error` - here.\nenum Error {\n    /// Fails.\n    A,\n    /// Fails: it\n    /// timed out.\n    B,\n}\n";
        assert_eq!(lines(text), ["a/src/lib.rs:1", "a/src/lib.rs:3", "a/src/lib.rs:5"]);
        assert!(lines("/// The error of b.\nstruct Error;\n// Short.\n").is_empty());
    }

    #[test]
    fn documentation_that_is_output_may_be_short() {
        for derive in ["Args", "clap::Parser", "Debug, JsonSchema", "Clone, EncodeLabelSet"] {
            assert!(
                lines(&format!("#[derive({derive})]\n/// A.\nstruct A {{\n    /// B.\n    b: u8,\n}}\n"))
                    .is_empty()
            );
        }
        assert_eq!(lines("#[derive(Debug)]\n/// A.\nstruct A;\n"), ["a/src/lib.rs:2"]);
    }
}
