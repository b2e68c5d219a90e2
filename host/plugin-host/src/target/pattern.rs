//! Patterns of names and of scopes.

use std::fmt;

/// A name with at most one `*`, which matches any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamePattern(String);

impl NamePattern {
    /// The pattern of all names.
    pub(crate) fn any() -> Self {
        Self("*".to_owned())
    }

    /// Returns `None` if the text is no pattern of names of regions.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain = text.replacen('*', "", 1);
        let is_pattern = !text.is_empty() && text.len() <= NAME_BYTES && plain.bytes().all(is_name_byte);
        is_pattern.then(|| Self(text.to_owned()))
    }

    /// Returns `None` if the text is no pattern of scopes of OAuth 2.0.
    pub(crate) fn scope(text: &str) -> Option<Self> {
        is_scope(&text.replacen('*', "x", 1)).then(|| Self(text.to_owned()))
    }

    /// Whether this matches all names that the other matches.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        covers(&self.0, &other.0)
    }

    /// Whether the pattern matches this name.
    pub(crate) fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

/// Whether a name fits a pattern with at most one `*`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
    }
}

/// Whether each name that fits `other` also fits `wide`.
pub(crate) fn covers(wide: &str, other: &str) -> bool {
    match (wide.split_once('*'), other.split_once('*')) {
        (_, None) => matches(wide, other),
        (None, Some(_)) => false,
        (Some((before, after)), Some((own_before, own_after))) => {
            own_before.starts_with(before) && own_after.ends_with(after)
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// No service or region of a cloud has a longer name.
const NAME_BYTES: usize = 64;

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// Whether a text may be the name of a service or region: it fits into a host name and a signature's scope.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= NAME_BYTES && text.bytes().all(is_name_byte)
}

/// No scope of a cloud is longer.
const SCOPE_BYTES: usize = 256;

/// Whether a text may be one scope: RFC 6749 allows it, and it has neither the `*` of patterns nor the `;` and `,` of
/// marks.
pub(crate) fn is_scope(text: &str) -> bool {
    let is_scope_byte = |byte: u8| byte.is_ascii_graphic() && !b"\"\\*;,".contains(&byte);
    !text.is_empty() && text.len() <= SCOPE_BYTES && text.bytes().all(is_scope_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_scopes_means_what_it_says() {
        let azure = NamePattern::scope("https://management.*/.default").unwrap();
        assert!(azure.matches("https://management.azure.com/.default"));
        assert!(!azure.matches("https://graph.microsoft.com/.default") && !azure.matches(""));
        assert!(NamePattern::scope("*").unwrap().matches("anything"));
        for text in ["", "a b", "a;b", "**", "a*b*", "\"", "ü", "a\nb"] {
            assert_eq!(NamePattern::scope(text), None, "{text:?}");
        }
        assert_eq!(NamePattern::scope(&"x".repeat(300)), None);
    }
}
