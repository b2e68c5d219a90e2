//! Text of others: quotes for messages, and escapes for URLs.

use std::fmt::Write as _;

/// The maximum length of a quote.
const QUOTED_CHARACTERS: usize = 200;

/// Quotes a foreign text in one line, shortened.
pub fn quoted(text: &str) -> String {
    quoted_up_to(text, QUOTED_CHARACTERS)
}

/// Quotes at most so many characters of a foreign text, in one line.
pub fn quoted_up_to(text: &str, characters: usize) -> String {
    let line = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    if text.chars().nth(characters).is_none() {
        return line.collect();
    }
    line.take(characters.saturating_sub(1)).chain(['…']).collect()
}

/// Escapes a segment of a path or a value of a query.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_cloud_wrote_is_quoted_in_part_and_in_one_line() {
        let long = quoted(&"ä\n".repeat(500));
        assert_eq!(long.chars().count(), QUOTED_CHARACTERS);
        assert!(!long.contains('\n') && long.ends_with('…'));
        assert_eq!(quoted("short"), "short");
        assert_eq!(quoted_up_to("1234", 3), "12…");
        assert_eq!(quoted_up_to("123", 3), "123");
    }

    #[test]
    fn what_a_url_would_read_otherwise_is_escaped() {
        assert_eq!(escaped("vm-1_a.b~c"), "vm-1_a.b~c");
        assert_eq!(escaped("a/b?c&d=e ü"), "a%2Fb%3Fc%26d%3De%20%C3%BC");
    }
}
