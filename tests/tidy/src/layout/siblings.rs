//! How many files and folders a folder has.

use std::collections::{BTreeMap, BTreeSet};

use crate::not_yet::Finding;
use crate::tree::comments::Language;
use crate::tree::{File, written};

const SIBLINGS: usize = 16;

/// No folder has more sources and folders with sources. Generated code, data, recordings and documents do not count.
pub fn find(files: &[File]) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in written(files).filter(|file| Language::of(&file.path).is_some_and(Language::is_code)) {
        let mut path = file.path.as_str();
        while let Some((folder, name)) = path.rsplit_once('/') {
            folders.entry(folder).or_default().insert(name);
            path = folder;
        }
    }
    let full = folders.iter().filter(|(_, names)| names.len() > SIBLINGS);
    full.map(|(folder, names)| Finding {
        item: (*folder).to_owned(),
        count: names.len() - SIBLINGS,
        complaint: format!(
            "{folder}: {} files and folders with sources, at most {SIBLINGS}: put files of one idea into a folder",
            names.len()
        ),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: usize, others: &[&str]) -> Vec<(String, usize)> {
        let sources = (0..sources).map(|number| File::new(&format!("a/src/b{number}.rs"), ""));
        let files: Vec<File> = sources.chain(others.iter().map(|path| File::new(path, ""))).collect();
        find(&files).into_iter().map(|finding| (finding.item, finding.count)).collect()
    }

    #[test]
    fn a_folder_at_the_limit_passes_and_a_file_or_folder_more_does_not() {
        assert!(found(SIBLINGS, &[]).is_empty());
        assert_eq!(found(SIBLINGS + 2, &[]), [("a/src".to_owned(), 2)]);
        assert_eq!(found(SIBLINGS, &["a/src/c/d/e.go"]), [("a/src".to_owned(), 1)]);
        assert_eq!(found(SIBLINGS, &["a/src/c.rs.in"]), [("a/src".to_owned(), 1)]);
    }

    #[test]
    fn documents_and_data_do_not_count() {
        assert!(
            found(SIBLINGS, &["a/src/README.md", "a/src/c.json", "a/src/d.toml", "a/src/e/f.json"])
                .is_empty()
        );
    }
}
