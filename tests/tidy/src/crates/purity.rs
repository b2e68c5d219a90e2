//! The core decides from its arguments: nothing in it reads a clock, files or the network.

use crate::tree::File;
use crate::{Complaint, has_word};

const SOURCES: &str = "host/core/src/";

/// Words that bring a clock, randomness, the environment, IO or an order that differs from run to run.
const FORBIDDEN: [(&str, &str); 25] = [
    ("std::time", "time is an argument"),
    ("SystemTime", "time is an argument"),
    ("Instant", "time is an argument"),
    ("Timestamp::now", "time is an argument"),
    ("Zoned::now", "time is an argument"),
    ("HashMap", "its order differs from run to run: BTreeMap"),
    ("HashSet", "its order differs from run to run: BTreeSet"),
    ("tokio", "the core is synchronous"),
    ("async", "the core is synchronous"),
    ("await", "the core is synchronous"),
    ("rand", "randomness is an argument"),
    ("std::env", "settings are arguments"),
    ("std::fs", "the core has no IO"),
    ("std::net", "the core has no IO"),
    ("std::process", "the core has no IO"),
    ("std::thread", "the core is synchronous"),
    ("env::", "settings are arguments"),
    ("fs::", "the core has no IO"),
    ("net::", "the core has no IO"),
    ("process::", "the core has no IO"),
    ("thread::", "the core is synchronous"),
    ("Mutex", "state has one owner"),
    ("RwLock", "state has one owner"),
    ("println!", "the core has no IO"),
    ("eprintln!", "the core has no IO"),
];

/// The name of an API group belongs to the front-end.
const API_GROUP: &str = "machine.sapcloud.io";

/// No such word in the core's code, comments aside; no API group's name at all.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(SOURCES)) {
        for (number, line) in file.lines() {
            let code = line.split("//").next().unwrap_or_default();
            for (word, why) in FORBIDDEN.iter().filter(|(word, _)| has_word(code, word)) {
                complaints.push(format!("{}:{number}: {word}: {why}", file.path));
            }
            if line.contains(API_GROUP) {
                complaints.push(format!("{}:{number}: {API_GROUP} belongs to the API crate", file.path));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(line: &str) -> usize {
        check(&[File::new("host/core/src/a.rs", line)]).len()
    }

    #[test]
    fn each_word_is_found_in_code() {
        for (word, _) in FORBIDDEN {
            assert!(complaints(&format!("    let x = {word}();")) > 0, "{word}");
        }
    }

    #[test]
    fn comments_may_speak_of_what_is_absent() {
        assert_eq!(complaints("//! No tokio, no async."), 0);
    }

    #[test]
    fn the_api_group_is_not_even_mentioned() {
        assert_eq!(complaints("/// As in machine.sapcloud.io/v1alpha1."), 1);
    }

    #[test]
    fn other_crates_are_let_through() {
        assert!(check(&[File::new("host/runtime/src/a.rs", "use tokio;")]).is_empty());
    }
}
