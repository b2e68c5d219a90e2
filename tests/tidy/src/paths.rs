//! Paths and hosts of a single machine or company.

use crate::Complaint;
use crate::tree::File;

/// Folders of people and machines, and kinds of private registries.
fn words() -> [String; 5] {
    [
        ["/ro", "ot/"].concat(),
        ["/wo", "rk/"].concat(),
        ["/ho", "me/"].concat(),
        ["artif", "actory"].concat(),
        ["jf", "rog."].concat(),
    ]
}

/// No absolute path into a home or work folder, no host of a private registry.
pub fn check(files: &[File]) -> Vec<Complaint> {
    let words = words();
    let mut complaints = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            // Users of VMs have their keys in their folders, which are on no machine of ours.
            let is_of_vm = |word: &str| word == words[2] && line.contains(".ssh/authorized_keys");
            for word in words.iter().filter(|word| is_in(line, word) && !is_of_vm(word)) {
                complaints.push(format!("{}:{number}: {word} is of one machine only", file.path));
            }
        }
    }
    complaints
}

/// A path counts only at its beginning: `a/home/b` is inside of something.
fn is_in(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '}' | '~' | '$');
        !word.starts_with('/') || !before.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(line: &str) -> usize {
        check(&[File::new("a.md", line)]).len()
    }

    #[test]
    fn each_word_is_found() {
        for word in words() {
            assert_eq!(complaints(&format!("see {word}x")), 1, "{word}");
        }
    }

    #[test]
    fn a_path_inside_another_is_none_of_a_machine() {
        assert_eq!(complaints(&["https://example.org/a", "/ho", "me/ and ~/.cache"].concat()), 0);
    }
}
