//! The pages about the functions of the contracts.

use std::collections::{BTreeMap, BTreeSet};

use crate::Complaint;
use crate::tree::File;

/// The contracts that authors of drivers and policies implement.
const CONTRACTS: [&str; 7] = [
    "provider.wit", "policy.wit", "delete-by-id.wit", "node-id.wit", "placement.wit", "interruption.wit",
    "capacity.wit",
];
const PAGES: &str = "docs/authors/functions/";

/// Each function that a component exports has a page that quotes it as the newest contract has it, and no page quotes
/// another.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let mut pages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(PAGES)) {
        for function in file.lines().filter_map(|(_, line)| function(line)) {
            pages.entry(function).or_default().push(&file.path);
        }
    }
    let mut wanted: BTreeMap<&str, usize> = BTreeMap::new();
    for name in CONTRACTS {
        for function in
            newest(files, name).into_iter().flat_map(File::lines).filter_map(|(_, line)| function(line))
        {
            *wanted.entry(function).or_default() += 1;
        }
    }
    let missing =
        wanted.iter().filter(|(function, count)| pages.get(*function).map_or(0, Vec::len) < **count);
    let known: BTreeSet<&str> = wanted.keys().copied().collect();
    let old = pages.iter().filter(|(function, _)| !known.contains(*function));
    missing
        .map(|(function, _)| format!("{PAGES}: no page quotes `{function}`"))
        .chain(old.map(|(function, paths)| format!("{}: no contract has `{function}`", paths.join(", "))))
        .collect()
}

/// The part `name: func(…) -> …;` of a line.
fn function(line: &str) -> Option<&str> {
    let line = line.trim();
    (line.contains(": func(") && line.ends_with(';')).then_some(line)
}

/// The newest file of a name: folders are versions.
fn newest<'a>(files: &'a [File], name: &str) -> Option<&'a File> {
    let of_version = |path: &str| path.starts_with("wit/") && path.rsplit('/').next() == Some(name);
    files.iter().filter(|file| of_version(&file.path)).max_by_key(|file| &file.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(contract: &str, page: &str) -> usize {
        let files = [
            File::new("wit/provider/0.1.0/provider.wit", contract),
            File::new("docs/authors/functions/describe.md", page),
        ];
        check(&files).len()
    }

    #[test]
    fn a_function_without_a_page_and_a_page_of_an_old_one_are_found() {
        let now = "  describe: func() -> about;\n";
        assert_eq!(complaints(now, "```wit\ndescribe: func() -> about;\n```\n"), 0);
        assert_eq!(complaints(now, "nothing\n"), 1);
        assert_eq!(complaints(now, "```wit\ndescribe: func() -> old;\n```\n"), 2);
    }

    #[test]
    fn a_function_of_two_contracts_needs_two_pages() {
        let contract = File::new("wit/provider/0.1.0/provider.wit", "describe: func() -> about;\n");
        let policy = File::new("wit/policy/0.1.0/policy.wit", "describe: func() -> about;\n");
        let page = |name: &str| File::new(&format!("{PAGES}{name}.md"), "describe: func() -> about;\n");
        assert_eq!(check(&[contract.clone(), policy.clone(), page("a")]).len(), 1);
        assert!(check(&[contract, policy, page("a"), page("b")]).is_empty());
    }
}
