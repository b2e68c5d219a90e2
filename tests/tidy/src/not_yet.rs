//! Lists of the places where the tree does not yet hold a rule. They only get shorter.
//!
//! A list has one line for each item, such as a file, with the number of violations that it still has. More violations
//! fail, and so do fewer: then the line has to say the lower number, or to go.

use std::collections::BTreeMap;

use crate::Complaint;
use crate::tree::File;

/// The folder of the lists.
pub const FOLDER: &str = "tests/tidy/not-yet/";

/// The command that makes the lists shorter.
const COMMAND: &str = "cargo run -p tidy -- --write-not-yet";

const HEAD: &str = "\
# Violations that are still in the tree: an item and their number on each line. No line may be added, and no number may
# grow. Fix some, then run `cargo run -p tidy -- --write-not-yet`, which takes out lines and lowers numbers. When a file
# has moved, or after a merge, add `--with-new`, and see in the diff that nothing else is new.
";

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, folder, type or edge that a list names.
    pub item: String,
    /// How many violations it is.
    pub count: usize,
    pub complaint: Complaint,
}

impl Finding {
    pub fn one(item: impl Into<String>, complaint: Complaint) -> Self {
        Self { item: item.into(), count: 1, complaint }
    }
}

/// How many violations each item may have.
pub type Allowed = BTreeMap<String, usize>;

/// The path of a list.
pub fn path(name: &str) -> String {
    format!("{FOLDER}{name}.txt")
}

/// Violations that the list does not allow, and lines of the list that allow too much.
pub fn check(name: &str, findings: &[Finding], files: &[File]) -> Vec<Complaint> {
    let path = path(name);
    let mut complaints = Vec::new();
    let list = files.iter().find(|file| file.path == path);
    let mut allowed = Allowed::new();
    let mut numbers = BTreeMap::new();
    for (number, line) in list.into_iter().flat_map(File::lines).filter(|(_, line)| !is_comment(line)) {
        match entry(line) {
            Some((item, _)) if allowed.contains_key(item) => {
                complaints.push(format!("{path}:{number}: {item} is there twice: run `{COMMAND}`"));
            }
            Some((item, count)) => {
                allowed.insert(item.to_owned(), count);
                numbers.insert(item.to_owned(), number);
            }
            None => complaints.push(format!("{path}:{number}: no item and number: {line}")),
        }
    }
    let there = counts(findings);
    for (item, count) in &allowed {
        let number = numbers.get(item).copied().unwrap_or_default();
        match there.get(item).copied().unwrap_or_default() {
            0 => complaints.push(format!(
                "{path}:{number}: {item} has no violation left: remove the line, or run `{COMMAND}`"
            )),
            left if left < *count => complaints.push(format!(
                "{path}:{number}: {item} has {left} of {count} violations left: lower the number, or run `{COMMAND}`"
            )),
            _ => {}
        }
    }
    for (item, count) in there {
        let limit = allowed.get(&item).copied().unwrap_or_default();
        if count > limit {
            if limit > 0 {
                complaints.push(format!(
                    "{path}: {item} may have {limit} violations and has {count}: fix the new ones among these"
                ));
            }
            complaints.extend(findings.iter().filter(|it| it.item == item).map(|it| it.complaint.clone()));
        }
    }
    complaints
}

/// The text of the shortest list that allows the findings; None if nothing is left to allow.
///
/// Items and numbers that `before` does not allow are left out, so that they go on to fail.
pub fn shortened(findings: &[Finding], before: &Allowed) -> Option<String> {
    let still = |(item, count): (String, usize)| {
        let limit = before.get(&item).copied()?;
        Some((item, count.min(limit)))
    };
    text(&counts(findings).into_iter().filter_map(still).collect())
}

/// The text of a list that allows all findings, also new ones; None if there are none.
pub fn complete(findings: &[Finding]) -> Option<String> {
    text(&counts(findings))
}

/// The items of a list.
pub fn parse(list: &str) -> Allowed {
    let entries = list.lines().filter(|line| !is_comment(line)).filter_map(entry);
    entries.map(|(item, count)| (item.to_owned(), count)).collect()
}

fn counts(findings: &[Finding]) -> Allowed {
    let mut counts = Allowed::new();
    for finding in findings {
        *counts.entry(finding.item.clone()).or_default() += finding.count;
    }
    counts
}

fn text(allowed: &Allowed) -> Option<String> {
    let lines: String = allowed.iter().map(|(item, count)| format!("{item} {count}\n")).collect();
    (!lines.is_empty()).then(|| format!("{HEAD}{lines}"))
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

fn entry(line: &str) -> Option<(&str, usize)> {
    let (item, count) = line.rsplit_once(' ')?;
    Some((item, count.parse().ok().filter(|count| *count > 0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(items: &[&str]) -> Vec<Finding> {
        items.iter().map(|item| Finding::one(*item, format!("{item}: wrong"))).collect()
    }

    fn complaints(list: &str, items: &[&str]) -> Vec<Complaint> {
        check("x", &findings(items), &[File::new(&path("x"), list)])
    }

    #[test]
    fn a_list_that_is_exact_passes() {
        assert!(
            complaints("# head\n\na.rs 2\nhost/core in vain 1\n", &["a.rs", "host/core in vain", "a.rs"])
                .is_empty()
        );
        assert!(check("x", &[], &[]).is_empty());
    }

    #[test]
    fn a_violation_that_no_line_allows_is_found() {
        assert_eq!(complaints("a.rs 1\n", &["a.rs", "b.rs"]), ["b.rs: wrong"]);
        let more = complaints("a.rs 1\n", &["a.rs", "a.rs"]);
        let head =
            "tests/tidy/not-yet/x.txt: a.rs may have 1 violations and has 2: fix the new ones among these";
        assert_eq!(more, [head, "a.rs: wrong", "a.rs: wrong"]);
    }

    #[test]
    fn a_line_that_allows_too_much_is_found() {
        let needless = complaints("# head\na.rs 1\n", &[]);
        assert!(
            needless.len() == 1
                && needless[0].starts_with("tests/tidy/not-yet/x.txt:2: a.rs has no violation")
        );
        let fewer = complaints("a.rs 2\n", &["a.rs"]);
        assert!(fewer.len() == 1 && fewer[0].contains("a.rs has 1 of 2 violations left"), "{fewer:?}");
    }

    #[test]
    fn lines_that_are_double_or_unclear_are_found() {
        assert_eq!(complaints("a.rs 1\na.rs 1\n", &["a.rs"]).len(), 1);
        assert_eq!(complaints("a.rs\n", &[]).len(), 1);
        assert_eq!(complaints("a.rs 0\n", &[]).len(), 1);
    }

    #[test]
    fn a_list_is_written_shorter_and_never_longer() {
        let before = parse("# head\na.rs 3\nb.rs 1\nc.rs 1\n");
        let after = shortened(&findings(&["a.rs", "c.rs", "c.rs", "d.rs"]), &before).unwrap();
        assert_eq!(parse(&after), parse("a.rs 1\nc.rs 1\n"));
        assert_eq!(shortened(&findings(&["d.rs"]), &before), None);
    }

    #[test]
    fn a_complete_list_allows_everything() {
        let found = findings(&["a.rs", "b.rs", "a.rs"]);
        let list = complete(&found).unwrap();
        assert!(check("x", &found, &[File::new(&path("x"), &list)]).is_empty());
        assert_eq!(complete(&[]), None);
    }
}
