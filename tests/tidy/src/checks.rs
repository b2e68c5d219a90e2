//! The checks whose lists say where the tree does not yet hold them.

use crate::Complaint;
use crate::language::{columns, private_words, sentence_heads, short_docs};
use crate::layout::{circles, contents, siblings, type_names};
use crate::not_yet::{self, Finding};
use crate::tree::File;

/// A check with a list.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The name of its list.
    pub name: &'static str,
    pub find: fn(&[File]) -> Vec<Finding>,
}

pub const SENTENCE_HEADS: Check = Check { name: "sentence-heads", find: sentence_heads::find };
pub const COLUMNS: Check = Check { name: "columns", find: columns::find };
pub const SHORT_DOCS: Check = Check { name: "short-docs", find: short_docs::find };
pub const TYPE_NAMES: Check = Check { name: "type-names", find: type_names::find };
pub const SIBLINGS: Check = Check { name: "siblings", find: siblings::find };
pub const CIRCLES: Check = Check { name: "circles", find: circles::find };
pub const CONTENTS: Check = Check { name: "contents", find: contents::find };
pub const PRIVATE_WORDS: Check = Check { name: "private-words", find: private_words::find };

pub const ALL: [Check; 8] =
    [SENTENCE_HEADS, COLUMNS, SHORT_DOCS, TYPE_NAMES, SIBLINGS, CIRCLES, CONTENTS, PRIVATE_WORDS];

impl Check {
    /// Violations that the list does not allow, and lines of the list that allow too much.
    pub fn run(&self, files: &[File]) -> Vec<Complaint> {
        not_yet::check(self.name, &(self.find)(files), files)
    }
}

/// Complains of lists that belong to no check.
pub fn check_lists(files: &[File]) -> Vec<Complaint> {
    let lists = files.iter().filter(|file| file.path.starts_with(not_yet::FOLDER));
    lists
        .filter(|file| !ALL.iter().any(|check| not_yet::path(check.name) == file.path))
        .map(|file| format!("{}: no check has this list: remove it", file.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_run_against_its_list() {
        let document = File::new("a.md", "What is free lists.\n");
        assert_eq!(SENTENCE_HEADS.run(std::slice::from_ref(&document)).len(), 1);
        let list = File::new("tests/tidy/not-yet/sentence-heads.txt", "a.md 1\n");
        assert!(SENTENCE_HEADS.run(&[document, list.clone()]).is_empty());
        assert_eq!(SENTENCE_HEADS.run(&[list]).len(), 1);
    }

    #[test]
    fn a_list_without_a_check_is_found() {
        let paths = ["tests/tidy/not-yet/columns.txt", "tests/tidy/not-yet/old.txt"];
        assert_eq!(check_lists(&paths.map(|path| File::new(path, ""))).len(), 1);
    }
}
