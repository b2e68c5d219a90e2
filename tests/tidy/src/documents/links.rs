//! Links between documents and files of the tree.

use std::collections::BTreeSet;

use super::paths::with_folders;
use crate::Complaint;
use crate::tree::File;

/// Each relative link in a Markdown file leads to a file or a folder of the tree.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let known: BTreeSet<&str> = files.iter().flat_map(|file| with_folders(&file.path)).collect();
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md") && !file.is_foreign()) {
        let mut in_code = false;
        for (number, line) in file.lines() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            if in_code {
                continue;
            }
            for target in targets(line) {
                if leads_nowhere(&file.path, target, &known) {
                    complaints.push(format!("{}:{number}: nothing is at {target}", file.path));
                }
            }
        }
    }
    complaints
}

/// The targets in `](…)` and after `[name]: `.
fn targets(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .and_then(|(_, target)| target.split_whitespace().next());
    inline.chain(definition).filter(|target| !target.is_empty()).collect()
}

fn leads_nowhere(from: &str, target: &str, known: &BTreeSet<&str>) -> bool {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return false;
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let start = if path.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(path.split('/')).filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            if parts.pop().is_none() {
                return true;
            }
        } else {
            parts.push(part);
        }
    }
    !parts.is_empty() && !known.contains(parts.join("/").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<Complaint> {
        check(&[
            File::new("host/A.md", text),
            File::new("host/core/src/lib.rs", ""),
            File::new("README.md", ""),
        ])
    }

    #[test]
    fn links_to_files_folders_headings_and_the_web_pass() {
        let text = "[a](core/src/lib.rs) [b](../README.md#top) [c](core) [d](#here) [e](https://example.org/x)\n\
                    [f]: ../README.md\n```\n[in code](nowhere)\n```\n";
        assert!(complaints(text).is_empty(), "{:?}", complaints(text));
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(complaints("x [a](gone.md)"), ["host/A.md:1: nothing is at gone.md"]);
        assert_eq!(complaints("[a](../../outside.md)").len(), 1);
        assert_eq!(complaints("[a]: core/gone.rs").len(), 1);
        assert_eq!(complaints("[a](../README.md) [b](README.md)").len(), 1);
    }
}
