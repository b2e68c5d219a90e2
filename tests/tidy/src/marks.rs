//! Marks of unfinished work.

use crate::tree::File;
use crate::{Complaint, has_word};

/// Words, and calls or attributes in code.
fn marks() -> [String; 8] {
    let put = |parts: [&str; 2]| parts.concat();
    [
        put(["TO", "DO"]),
        put(["FIX", "ME"]),
        put(["HA", "CK"]),
        put(["XX", "X"]),
        put(["db", "g!"]),
        put(["to", "do!"]),
        put(["unimpl", "emented!"]),
        put(["#[ign", "ore"]),
    ]
}

/// A test that is long runs at night only, and says so: that is no mark.
fn is_for_the_night(line: &str) -> bool {
    line.contains(&["#[ign", "ore = \"nightly: "].concat())
}

/// No such mark in anything that was written here.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let marks = marks();
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !file.is_foreign()) {
        for (number, line) in file.lines().filter(|(_, line)| !is_for_the_night(line)) {
            for mark in marks.iter().filter(|mark| has_word(line, mark)) {
                complaints.push(format!("{}:{number}: {mark}: finish it, or open an issue", file.path));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(line: &str) -> usize {
        check(&[File::new("a.rs", line)]).len()
    }

    #[test]
    fn each_mark_is_found() {
        for mark in marks() {
            assert_eq!(complaints(&format!("fn f() {{ {mark}(\"x\")] }}")), 1, "{mark}");
        }
    }

    #[test]
    fn a_test_for_the_night_says_why_it_is_one() {
        let ignore = ["#[ign", "ore"].concat();
        assert_eq!(complaints(&format!("    {ignore} = \"nightly: takes ten minutes\"]")), 0);
        assert_eq!(complaints(&format!("    {ignore} = \"fails\"]")), 1);
    }

    #[test]
    fn words_that_only_look_alike_are_let_through() {
        assert_eq!(complaints("mktemp XXXXXX; let todos = 3; // a hack in lower case"), 0);
    }
}
