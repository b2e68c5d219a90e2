//! Limits on texts and names of a component, and how log lines and bytes are written. They are applied where they come
//! in: all texts in a condition, an Event, a status or a log line have passed here.
//!
//! Texts for people are cut, since the rest still helps. Identifiers are refused: a changed identifier would be another
//! one.

use std::borrow::Cow;
use std::fmt::Write as _;

use machinist_core::driver::error::GuestFailure;
use machinist_core::value::error_chain::chain;

/// A text for people: an error, a warning, what is awaited. A status holds several of them.
pub(crate) const TEXT_BYTES: usize = 4 * 1024;
/// Why something is not loaded: what the host adds, such as the time of the next attempt, has room within
/// [`TEXT_BYTES`].
const REASON_BYTES: usize = 3 * 1024;
/// A word for people and alerts: a cloud's code, the reason of a condition.
pub(crate) const WORD_BYTES: usize = 256;
/// The longest names of Kubernetes and DNS.
pub(crate) const NAME_BYTES: usize = 253;
/// The longest ids of clouds have some 300 bytes.
pub(crate) const ID_BYTES: usize = 1024;
/// The state that a driver keeps with a Machine, an object in etcd of 1.5 MiB at most.
pub(crate) const STATE_BYTES: usize = 64 * 1024;
/// The schema of a class.
pub(crate) const SCHEMA_BYTES: usize = 512 * 1024;
/// Addresses of a VM, its conditions, warnings, providers of a driver.
pub(crate) const ITEMS: usize = 100;
/// Hosts that a driver would like to reach.
pub(crate) const HOSTS: usize = 1_000;
/// Machines of one page.
pub(crate) const PAGE_ITEMS: usize = 10_000;

/// Makes a text for people: one line of at most `most_bytes`, without characters that control a terminal or change the
/// direction of writing.
pub(crate) fn text(text: &str, most_bytes: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most_bytes));
    for (place, character) in text.char_indices() {
        let before = shown.len();
        push_visible(&mut shown, character);
        if shown.len() > most_bytes {
            shown.truncate(before);
            // Writing into a text cannot fail.
            let _written = write!(shown, "… ({} bytes left out)", text.len() - place);
            break;
        }
    }
    shown
}

/// Makes an error and its causes readable for people, whatever texts of others they contain.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    text(&chain(error), REASON_BYTES)
}

/// Makes a foreign text, such as an annotation or a text of a registry or a component, safe for a terminal or a status:
/// one line of at most 4 KiB without characters that control a terminal or change the direction of writing.
#[must_use]
pub fn shown(text: &str) -> String {
    self::text(text, TEXT_BYTES)
}

/// JSON for programs that a terminal may show: such characters are written as escapes of JSON, so that it means the
/// same.
#[must_use]
pub fn shown_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        // Line ends are between values; within values JSON has escaped them.
        if character == '\n' || !is_hidden(character) {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing into a text cannot fail.
            let _written = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// The same text with such characters written as escapes.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        push_visible(&mut shown, character);
    }
    Cow::Owned(shown)
}

fn push_visible(shown: &mut String, character: char) {
    if is_hidden(character) {
        shown.extend(character.escape_default());
    } else {
        shown.push(character);
    }
}

/// The fields of a log line as `key=value` pairs, values in quotes where they are not plain words.
pub(crate) fn fields_text(fields: &[(String, String)]) -> String {
    let mut text = String::new();
    for (key, value) in fields {
        if !text.is_empty() {
            text.push(' ');
        }
        let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
        text.push_str(&visible(key));
        text.push('=');
        if is_plain {
            text.push_str(value);
        } else {
            text.push_str(&visible(&format!("{value:?}")));
        }
    }
    text
}

/// Bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing into a text cannot fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// Controls, line ends of all kinds, directions of writing, marks of byte order, and what is no character.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fdd0}'..='\u{fdef}'
        )
        || u32::from(character) & 0xfffe == 0xfffe
}

/// Something by which others find a thing: kept as it is, or refused.
pub(crate) fn identifier(what: &str, value: String, most_bytes: usize) -> Result<String, GuestFailure> {
    if value.len() > most_bytes {
        return Err(too_long(what, value.len(), most_bytes));
    }
    if value.contains(is_hidden) {
        return Err(broken(format!("{what} {:?} has characters that nobody sees", text(&value, WORD_BYTES))));
    }
    Ok(value)
}

/// Something that only the driver reads: any characters, but not endless.
pub(crate) fn opaque(what: &str, value: String, most_bytes: usize) -> Result<String, GuestFailure> {
    if value.len() > most_bytes { Err(too_long(what, value.len(), most_bytes)) } else { Ok(value) }
}

/// As many as this, or refused.
pub(crate) fn few<T>(what: &str, items: Vec<T>, most: usize) -> Result<Vec<T>, GuestFailure> {
    if items.len() > most {
        return Err(broken(format!("{} {what}, at most {most} are taken", items.len())));
    }
    Ok(items)
}

/// A rule of the contract that an answer breaks.
pub(crate) fn broken(detail: impl Into<String>) -> GuestFailure {
    GuestFailure::Contract { detail: detail.into() }
}

fn too_long(what: &str, bytes: usize, most_bytes: usize) -> GuestFailure {
    broken(format!("{what} of {bytes} bytes, at most {most_bytes} are taken"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_one_line_that_commands_nothing() {
        for (invalid, shown) in [
            ("plain, ünïcode 👩\u{200d}👧", "plain, ünïcode 👩\u{200d}👧"),
            ("a\0b", "a\\u{0}b"),
            ("x\nlevel=error\r\tforged", "x\\nlevel=error\\r\\tforged"),
            ("\u{1b}[31mred\u{9b}2J", "\\u{1b}[31mred\\u{9b}2J"),
            ("1-\u{202e}gnp\u{2066}\u{2028}", "1-\\u{202e}gnp\\u{2066}\\u{2028}"),
            ("\u{feff}\u{fffe}\u{10ffff}\u{fdd0}", "\\u{feff}\\u{fffe}\\u{10ffff}\\u{fdd0}"),
        ] {
            assert_eq!(text(invalid, TEXT_BYTES), shown);
        }
    }

    #[test]
    fn a_long_text_says_how_much_is_missing() {
        let long = "x".repeat(10_000_000);
        assert_eq!(text(&long, TEXT_BYTES), format!("{}… (9995904 bytes left out)", "x".repeat(4096)));
        assert_eq!(text("ééé", 3), "é… (4 bytes left out)");
    }

    #[test]
    fn fields_cannot_break_a_line() {
        let fields = [("a", "plain"), ("b", "two words"), ("c", "x\ny"), ("d", ""), ("e\nlevel", "\u{202e}")];
        let fields = fields.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(fields_text(&fields), r#"a=plain b="two words" c="x\ny" d="" e\nlevel="\u{202e}""#);
    }

    #[test]
    fn identifiers_are_whole_or_refused() {
        let id = |value: &str| identifier("a provider id", value.to_owned(), 10);
        assert_eq!(id("aws:///i-1"), Ok("aws:///i-1".to_owned()));
        for (wrong, expected) in [
            ("12345678901", "a provider id of 11 bytes, at most 10 are taken"),
            ("a\nb", "a provider id \"a\\\\nb\" has characters that nobody sees"),
        ] {
            assert_eq!(id(wrong), Err(broken(expected)));
        }
        assert_eq!(opaque("a state", "a\nb".to_owned(), 3), Ok("a\nb".to_owned()));
        assert!(opaque("a state", "abcd".to_owned(), 3).is_err() && few("things", vec![1, 2], 1).is_err());
    }

    #[test]
    fn json_means_the_same_and_commands_nothing() {
        let value = serde_json::json!({ "reason": "x\u{1b}[2J\u{9b}1m\u{202e}\n\u{10ffff}ü" });
        let shown = shown_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.replace('\n', "").contains(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    proptest! {
        #[test]
        fn every_text_becomes_short_and_visible(invalid in any::<String>(), most in 0_usize..64) {
            let shown = text(&invalid, most);
            prop_assert!(!shown.contains(is_hidden));
            prop_assert!(shown.len() <= most + 48);
            prop_assert!(invalid.len() <= most || shown.ends_with(" bytes left out)"));
        }
    }
}
