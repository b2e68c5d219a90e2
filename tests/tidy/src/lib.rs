//! Checks of the tree itself: crates, documents, language, layout, contracts.
//!
//! Each check is a function from texts to complaints, tested here with a planted violation; `tests/tidy.rs` runs it on
//! the tree. Forbidden words are put together from parts here, so that the checks do not find themselves.
//!
//! Checks that the tree does not yet hold have lists of exceptions ([`not_yet`]), which only get shorter.
//!
//! | module | what it does |
//! | --- | --- |
//! | `crates`, `documents`, `language`, `layout` | the checks of each subject |
//! | `marks` | finds marks of unfinished work |
//! | `paths` | finds paths and hosts of a single machine or company |
//! | `wit` | compares copies of contracts, and frozen contracts with their digests |
//! | `checks` | the checks that have lists of exceptions |
//! | `not_yet` | reads and writes the lists of exceptions |
//! | `tree` | the files of the repository, and their parts |

pub mod checks;
pub mod crates;
pub mod documents;
pub mod language;
pub mod layout;
pub mod marks;
pub mod not_yet;
pub mod paths;
pub mod tree;
pub mod wit;

/// A violation: `path:line: the rule and the way to hold it`.
pub type Complaint = String;

/// True if `text` has `word` as a word of its own: neither letters, digits nor `_` beside it.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        // At an end of the word that is no letter, anything may follow.
        let goes_on_before = word.starts_with(is_part) && before.is_some_and(is_part);
        let goes_on_after = word.ends_with(is_part) && after.is_some_and(is_part);
        !goes_on_before && !goes_on_after
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn a_word_is_not_found_inside_another() {
        assert!(has_word("use rand::Rng;", "rand"));
        assert!(!has_word("an operand", "rand"));
        assert!(!has_word("random", "rand"));
        assert!(has_word("async fn f()", "async"));
        assert!(!has_word("is_async", "async"));
    }
}
