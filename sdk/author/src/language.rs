//! The languages that have an SDK.

use std::fmt;
use std::str::FromStr;

/// The language of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, built with cargo.
    Rust,
    /// Go, built with its own compiler.
    Go,
    /// JavaScript; TypeScript is built the same way.
    JavaScript,
    /// Python, built with componentize-py.
    Python,
}

impl Language {
    /// All languages, in the order in which messages name them.
    pub const ALL: [Self; 4] = [Self::Rust, Self::Go, Self::JavaScript, Self::Python];

    /// Returns the language's word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::JavaScript => "js",
            Self::Python => "python",
        }
    }

    /// Returns the file that identifies a project of this language.
    pub fn manifest(self) -> &'static str {
        match self {
            Self::Rust => "Cargo.toml",
            Self::Go => "go.mod",
            Self::JavaScript => "package.json",
            Self::Python => "pyproject.toml",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        })
    }
}

/// There is no SDK for this language.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no SDK for {given:?}: write {}", known())]
pub struct UnknownLanguage {
    /// The word on the command line.
    pub given: String,
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        let same = |language: &Self| language.word() == text || language.to_string().to_lowercase() == text;
        Self::ALL.into_iter().find(same).ok_or_else(|| UnknownLanguage { given: text.to_owned() })
    }
}

fn known() -> String {
    Language::ALL.map(Language::word).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_word_and_by_its_name() {
        for language in Language::ALL {
            assert_eq!(language.word().parse(), Ok(language));
        }
        assert_eq!("javascript".parse(), Ok(Language::JavaScript));
        let error = "cobol".parse::<Language>().unwrap_err().to_string();
        assert!(error.contains("cobol") && error.contains("rust, go, js, python"), "{error}");
    }
}
