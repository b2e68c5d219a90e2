//! Targets, and the ways in which they take an input.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::mutate::Grammar;

/// `Err` says which promise is broken.
pub type Verdict = Result<Shape, String>;

/// Something that reads what strangers send.
#[derive(Clone, Copy)]
pub struct Target {
    /// For the command line.
    pub name: &'static str,
    /// Names the parsers that read the input, and the promise that must hold.
    pub about: &'static str,
    /// The language of the samples.
    pub grammar: Grammar,
    /// Good inputs; each is taken without a broken promise.
    pub samples: fn() -> Vec<Vec<u8>>,
    /// Words that mean something there.
    pub words: &'static [&'static str],
    /// How many of a thousand inputs of all targets are for this one.
    pub share: u32,
    pub check: fn(&[u8]) -> Verdict,
}

/// How an input was taken. An input that is taken as none before is worth changing further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(u64);

/// As much of a text counts: errors repeat what they are about.
const MOST_LETTERS: usize = 100;

impl Shape {
    /// The shape of a text that describes a result, such as an error. Digits and quoted parts do not count.
    pub fn of(text: &str) -> Self {
        let mut is_quoted = false;
        let mut hasher = DefaultHasher::new();
        let letters = text.chars().filter(|letter| {
            is_quoted ^= matches!(letter, '"' | '`');
            !is_quoted && (letter.is_ascii_alphabetic() || *letter == ' ')
        });
        letters.take(MOST_LETTERS).for_each(|letter| letter.hash(&mut hasher));
        Self(hasher.finish())
    }

    /// Of what was read, or why it was not.
    pub fn of_result<T: std::fmt::Debug, E: std::fmt::Display>(result: &Result<T, E>) -> Self {
        match result {
            Ok(read) => Self::of(&format!("{read:?}")),
            Err(error) => Self::of(&error.to_string()),
        }
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut hasher = DefaultHasher::new();
        (self, other).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// A promise that is broken unless `holds`.
pub(crate) fn promise(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_is_about_does_not_make_another_shape() {
        let shape = Shape::of("no host at 17: \"x.example\" is wrong");
        assert_eq!(shape, Shape::of("no host at 3: \"*\" is wrong"));
        assert_ne!(shape, Shape::of("no port at 17: \"x.example\" is wrong"));
    }
}
