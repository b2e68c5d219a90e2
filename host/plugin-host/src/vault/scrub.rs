//! Removes known secret values from outputs of the host.
//!
//! A value is searched in the spellings in which clouds echo it: plain, escaped for JSON, XML and URLs, in hexadecimal,
//! in base64 of both alphabets, also inside of a larger text that was encoded as a whole, and in the form in which a
//! placeholder sent it. These are exact, including punctuation; `search` finds all others. Values below
//! [`SCRUBBED_FROM_BYTES`] are ignored: `true` or a region would mask half of every answer, and no credential is that
//! short.

use std::fmt::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use memchr::memmem;
use zeroize::Zeroizing;

use super::beginnings::Beginnings;
use super::encode::json_inside;

/// Shorter values are not scrubbed.
pub(crate) const SCRUBBED_FROM_BYTES: usize = 8;
/// Longer values are not looked for in exact spellings.
const EXACT_BYTES: usize = 1024;
/// The text in the place of a value.
pub const MASK: &str = "***";

/// The values of a call. Spellings are created when a text comes that is long enough to contain one, because user data
/// has many thousand bytes and most answers have a few hundred.
#[derive(Default)]
pub(super) struct Needles {
    sources: Vec<Arc<SecretSource>>,
    longest_bytes: usize,
    /// Of all sources that are not long.
    beginnings: OnceLock<Beginnings>,
}

/// A value, and how it is spelled.
pub(super) struct SecretSource {
    bytes: Zeroizing<Vec<u8>>,
    kind: ValueForm,
    spellings: OnceLock<Vec<Zeroizing<Vec<u8>>>>,
}

#[derive(Clone, Copy)]
enum ValueForm {
    /// As the Secret has it: found in all spellings.
    Value,
    /// As a placeholder was sent: found as it is and in base64.
    Encoded,
}

impl Needles {
    /// Adds the value as it is, and without the blanks around it, which a text file ends with and a cloud trims. A long
    /// value is found by its pieces only: otherwise each answer would be read once for each of its spellings. `kept`
    /// returns the source of a value that other calls have had, too.
    pub(super) fn add_value(&mut self, value: &[u8], kept: impl Fn(&[u8]) -> Option<Arc<SecretSource>>) {
        if value.len() > EXACT_BYTES {
            return;
        }
        for value in [value, value.trim_ascii()] {
            self.add(value, || kept(value).unwrap_or_else(|| Arc::new(SecretSource::value(value))));
        }
    }

    pub(super) fn add_encoded(&mut self, bytes: &[u8]) {
        self.add(bytes, || Arc::new(SecretSource::of(bytes, ValueForm::Encoded)));
    }

    fn add(&mut self, bytes: &[u8], source: impl FnOnce() -> Arc<SecretSource>) {
        let is_known = self.sources.iter().any(|source| source.bytes.as_slice() == bytes);
        if bytes.len() >= SCRUBBED_FROM_BYTES && !is_known {
            self.longest_bytes = self.longest_bytes.max(longest_spelling_bytes(bytes));
            self.sources.push(source());
            self.beginnings = OnceLock::new();
        }
    }

    /// The length of the longest spelling; 0 when there is nothing to look for.
    pub(super) fn longest_bytes(&self) -> usize {
        self.longest_bytes
    }

    /// Adds the places of values.
    pub(super) fn find(&self, bytes: &[u8], found: &mut Vec<Range<usize>>) {
        // No spelling is shorter than what it spells.
        if !self.sources.iter().any(|source| source.bytes.len() <= bytes.len()) {
            return;
        }
        let short = || self.sources.iter().filter(|source| !source.is_long());
        self.beginnings.get_or_init(|| Beginnings::of(short())).find(bytes, found);
        let is_possible = |source: &&Arc<SecretSource>| source.is_long() && source.bytes.len() <= bytes.len();
        for spelling in self.sources.iter().filter(is_possible).flat_map(|source| source.spellings()) {
            let places = memmem::find_iter(bytes, spelling.as_slice());
            found.extend(places.map(|start| start..start + spelling.len()));
        }
    }
}

/// Six characters for one byte (`\u0001`, `&quot;`), or four for three and three for each of these; and some padding.
fn longest_spelling_bytes(bytes: &[u8]) -> usize {
    bytes.len() * 6 + 16
}

impl SecretSource {
    /// Of a value as a Secret has it.
    pub(super) fn value(bytes: &[u8]) -> Self {
        Self::of(bytes, ValueForm::Value)
    }

    fn of(bytes: &[u8], kind: ValueForm) -> Self {
        Self { bytes: Zeroizing::new(bytes.to_vec()), kind, spellings: OnceLock::new() }
    }

    fn is_long(&self) -> bool {
        self.bytes.len() > EXACT_BYTES
    }

    pub(super) fn spellings(&self) -> &[Zeroizing<Vec<u8>>] {
        self.spellings.get_or_init(|| {
            let mut spellings = Spellings::default();
            match self.kind {
                ValueForm::Value => {
                    spellings.encoded(&self.bytes);
                    spellings.escaped(&self.bytes);
                }
                ValueForm::Encoded => spellings.encoded(&self.bytes),
            }
            spellings.list
        })
    }
}

#[derive(Default)]
struct Spellings {
    list: Vec<Zeroizing<Vec<u8>>>,
}

impl Spellings {
    fn escaped(&mut self, value: &[u8]) {
        self.add(hex(value).as_bytes());
        self.add(hex(value).to_uppercase().as_bytes());
        // Most credentials look the same in every escape.
        if value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(byte)) {
            return;
        }
        let form: String = url::form_urlencoded::byte_serialize(value).collect();
        for form in [form.replace('+', "%20"), percent_encoded(value), form] {
            self.add(lower_escapes(&form).as_bytes());
            self.add(form.as_bytes());
        }
        if let Ok(text) = std::str::from_utf8(value) {
            self.text(text);
        }
    }

    fn encoded(&mut self, bytes: &[u8]) {
        self.add(bytes);
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
            self.base64(&engine.encode(bytes));
        }
        for offset in 0..3 {
            for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
                self.base64(&base64_core(engine, bytes, offset));
            }
        }
    }

    fn base64(&mut self, encoded: &str) {
        self.add(encoded.as_bytes());
        if encoded.contains(['+', '/', '=']) {
            let form: String = url::form_urlencoded::byte_serialize(encoded.as_bytes()).collect();
            self.add(lower_escapes(&form).as_bytes());
            self.add(form.as_bytes());
            self.add(encoded.replace('/', "\\/").as_bytes());
        }
    }

    fn text(&mut self, text: &str) {
        if text.contains('/') {
            self.add(text.replace('/', "\\/").as_bytes());
        }
        let is_special = |character: char| {
            !character.is_ascii() || character.is_ascii_control() || "<>&'\"\\".contains(character)
        };
        if !text.contains(is_special) {
            return;
        }
        if let Some(inside) = json_inside(text) {
            self.add(inside.replace('/', "\\/").as_bytes());
            for (line, tab) in [("\\n", "\\t"), ("\\u000a", "\\u0009")] {
                let inside = inside.replace("\\n", line).replace("\\t", tab);
                self.add(ascii_json(&inside, "").as_bytes());
                self.add(ascii_json(&inside, "<>&").as_bytes());
                self.add(ascii_json(&inside, "<>&'").as_bytes());
                self.add(inside.as_bytes());
            }
        }
        let xml = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.add(xml.as_bytes());
        for (quote, apostrophe) in
            [("&quot;", "&apos;"), ("&quot;", "&#39;"), ("&#34;", "&#39;"), ("&quot;", "&#x27;")]
        {
            let xml = xml.replace('"', quote).replace('\'', apostrophe);
            self.add(xml.replace('\n', "&#10;").as_bytes());
            self.add(xml.replace('\n', "&#xA;").as_bytes());
            self.add(xml.as_bytes());
        }
    }

    fn add(&mut self, spelling: &[u8]) {
        let is_known = self.list.iter().any(|known| known.as_slice() == spelling);
        if spelling.len() >= SCRUBBED_FROM_BYTES && !is_known {
            self.list.push(Zeroizing::new(spelling.to_vec()));
        }
    }
}

/// With [`MASK`] in the place of each range; these are sorted and apart.
pub(super) fn masked(bytes: &[u8], found: &[Range<usize>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for range in found {
        out.extend_from_slice(bytes.get(from..range.start).unwrap_or_default());
        out.extend_from_slice(MASK.as_bytes());
        from = range.end;
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out
}

/// Returns the characters that encode only `bytes` behind `offset` other bytes of a larger text. Characters that also
/// depend on a neighbour are left out.
pub(super) fn base64_core(engine: &impl Engine, bytes: &[u8], offset: usize) -> Zeroizing<String> {
    let mut padded = Zeroizing::new(vec![0; offset]);
    padded.extend_from_slice(bytes);
    let encoded = Zeroizing::new(engine.encode(&padded));
    let first = (offset * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    Zeroizing::new(encoded.get(first..end).unwrap_or_default().to_owned())
}

fn lower_escapes(text: &str) -> String {
    let mut lowered = String::with_capacity(text.len());
    let mut left = 0;
    for character in text.chars() {
        if character == '%' {
            left = 3;
        }
        lowered.push(if left > 0 { character.to_ascii_lowercase() } else { character });
        left = usize::saturating_sub(left, 1);
    }
    lowered
}

/// Encodes as RFC 3986: only letters, digits and `-._~` stay.
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// As programs write JSON that escape all but ASCII, and some of that too.
fn ascii_json(inside: &str, also: &str) -> String {
    inside.chars().fold(String::with_capacity(inside.len()), |mut text, character| {
        if character.is_ascii() && !also.contains(character) {
            text.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
        text
    })
}
