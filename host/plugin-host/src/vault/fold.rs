//! A view of bytes in which the spellings of a value look the same: escapes of several layers are decoded, all but
//! letters and digits of ASCII is dropped, and case is folded. Each character knows where it came from.
//!
//! A value is folded in the same way before it is looked for. So an escape that one side has and the other has not, a
//! line end, an indentation, the NULs of UTF-16 or the colons between hexadecimal digits make no difference.

use memchr::memchr3;
use zeroize::Zeroizing;

/// Layers of different escapes in each other: URL in XML in JSON, and one more.
const ROUNDS: usize = 4;

/// Bytes after the decoding of escapes.
pub(super) struct Decoded {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    /// Where each stood in the original: from, to.
    spans: Vec<(u32, u32)>,
}

/// Letters and digits, in lower case.
#[derive(Default)]
pub(super) struct Folded {
    pub(super) characters: Zeroizing<Vec<u8>>,
    spans: Vec<(u32, u32)>,
}

impl Folded {
    pub(super) fn of(bytes: &[u8]) -> Self {
        if memchr3(b'\\', b'%', b'&', bytes).is_none() {
            return Self::kept(bytes.iter().copied().zip(places(bytes.len())), bytes.len());
        }
        let decoded = Decoded::of(bytes);
        Self::kept(decoded.bytes.iter().copied().zip(decoded.spans), decoded.bytes.len())
    }

    fn kept(units: impl Iterator<Item = (u8, (u32, u32))>, most: usize) -> Self {
        let mut folded =
            Self { characters: Zeroizing::new(Vec::with_capacity(most)), spans: Vec::with_capacity(most) };
        for (byte, span) in units {
            if byte.is_ascii_alphanumeric() {
                folded.characters.push(byte.to_ascii_lowercase());
                folded.spans.push(span);
            }
        }
        folded
    }

    /// Where this character began in the original.
    pub(super) fn start(&self, at: usize) -> Option<usize> {
        self.spans.get(at).map(|(start, _)| *start as usize)
    }

    /// Where this character ended in the original.
    pub(super) fn end(&self, at: usize) -> Option<usize> {
        self.spans.get(at).map(|(_, end)| *end as usize)
    }
}

/// The characters alone, for a value that is looked for.
pub(super) fn folded(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    Folded::of(bytes).characters
}

/// The same for what has no escapes: base64 and digits.
pub(super) fn folded_digits(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let kept = bytes.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase);
    Zeroizing::new(kept.collect())
}

impl Decoded {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut decoded =
            Self { bytes: Zeroizing::new(bytes.to_vec()), spans: places(bytes.len()).collect() };
        for _ in 0..ROUNDS {
            match decoded.round() {
                Some(next) => decoded = next,
                None => break,
            }
        }
        decoded
    }

    /// `None` when nothing was an escape.
    fn round(&self) -> Option<Self> {
        let mut next = Self {
            bytes: Zeroizing::new(Vec::with_capacity(self.bytes.len())),
            spans: Vec::with_capacity(self.bytes.len()),
        };
        let (mut has_changed, mut at) = (false, 0);
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match memchr3(b'\\', b'%', b'&', rest) {
                Some(0) => match unit(rest) {
                    Unit::Escape { byte, taken } => {
                        has_changed = true;
                        next.bytes.push(byte);
                        let start = self.spans.get(at).map_or(0, |span| span.0);
                        let end = self.spans.get(at + taken - 1).map_or(start, |span| span.1);
                        next.spans.push((start, end));
                        at += taken;
                    }
                    Unit::Literal { taken } => {
                        next.copy(self, at, at + taken);
                        at += taken;
                    }
                },
                found => {
                    let to = at + found.unwrap_or(rest.len());
                    next.copy(self, at, to);
                    at = to;
                }
            }
        }
        has_changed.then_some(next)
    }

    fn copy(&mut self, from: &Self, start: usize, end: usize) {
        self.bytes.extend_from_slice(from.bytes.get(start..end).unwrap_or_default());
        self.spans.extend_from_slice(from.spans.get(start..end).unwrap_or_default());
    }
}

fn places(length: usize) -> impl Iterator<Item = (u32, u32)> {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    (0..length).map(|at| (at, at + 1))
}

enum Unit {
    /// Means this one byte.
    Escape {
        byte: u8,
        taken: usize,
    },
    Literal {
        taken: usize,
    },
}

/// Replaces each character that no folded value has.
const OTHER: u8 = 0x80;

/// `bytes` begins with `\`, `%` or `&`.
fn unit(bytes: &[u8]) -> Unit {
    match bytes.first() {
        Some(b'\\') => backslash(bytes),
        Some(b'%') => percent(bytes),
        Some(b'&') => entity(bytes),
        _ => Unit::Literal { taken: 1 },
    }
}

/// Each layer doubles the backslashes: a run of them is one escape.
fn backslash(bytes: &[u8]) -> Unit {
    let run = bytes.iter().take_while(|byte| **byte == b'\\').count();
    let behind = bytes.get(run..).unwrap_or_default();
    let escape = match behind.first() {
        Some(b'n' | b'r') => Some((b'\n', 1)),
        Some(b't' | b'b' | b'f' | b'v' | b'a') => Some((b' ', 1)),
        Some(b'u') => digits(behind.get(1..5), 4, 16).map(|value| (ascii(value), 5)),
        Some(b'x') => digits(behind.get(1..3), 2, 16).map(|value| (ascii(value), 3)),
        Some(b'0'..=b'3') => digits(behind.get(..3), 3, 8).map(|value| (ascii(value), 3)),
        _ => None,
    };
    match escape {
        Some((byte, taken)) => Unit::Escape { byte, taken: run + taken },
        None => Unit::Literal { taken: run },
    }
}

/// Each layer makes `%25` of `%`: such a run is one escape.
fn percent(bytes: &[u8]) -> Unit {
    let pair = |at: usize| digits(bytes.get(at..at + 2), 2, 16);
    let mut at = 1;
    while bytes.get(at..at + 2) == Some(b"25") && pair(at + 2).is_some() {
        at += 2;
    }
    match pair(at) {
        Some(value) => Unit::Escape { byte: u8::try_from(value).unwrap_or(OTHER), taken: at + 2 },
        None => Unit::Literal { taken: at },
    }
}

/// Each layer makes `&amp;` of `&`: such a run is one escape.
fn entity(bytes: &[u8]) -> Unit {
    const AMP: &[u8] = b"amp;";
    const NAMED: [(&[u8], u8); 5] =
        [(b"lt;", b'<'), (b"gt;", b'>'), (b"quot;", b'"'), (b"apos;", b'\''), (b"nbsp;", b' ')];
    let mut at = 1;
    while bytes.get(at..).is_some_and(|rest| rest.starts_with(AMP)) {
        at += AMP.len();
    }
    let behind = bytes.get(at..).unwrap_or_default();
    if let Some((name, byte)) = NAMED.iter().find(|(name, _)| behind.starts_with(name)) {
        return Unit::Escape { byte: *byte, taken: at + name.len() };
    }
    if let Some((byte, taken)) = numeric(behind) {
        return Unit::Escape { byte, taken: at + taken };
    }
    if at > 1 { Unit::Escape { byte: b'&', taken: at } } else { Unit::Literal { taken: 1 } }
}

fn numeric(behind: &[u8]) -> Option<(u8, usize)> {
    const MOST_DIGITS: usize = 8;
    let rest = behind.strip_prefix(b"#")?;
    let (rest, radix, taken) = match rest.split_first() {
        Some((b'x' | b'X', rest)) => (rest, 16, 2),
        _ => (rest, 10, 1),
    };
    let length = rest.iter().take(MOST_DIGITS + 1).position(|byte| *byte == b';')?;
    let value = digits(rest.get(..length), length, radix)?;
    Some((ascii(value), taken + length + 1))
}

/// A number of so many digits.
fn digits(text: Option<&[u8]>, length: usize, radix: u32) -> Option<u32> {
    let text = text.filter(|text| text.len() == length && length > 0)?;
    text.iter().try_fold(0u32, |value, byte| {
        let digit = char::from(*byte).to_digit(radix)?;
        value.checked_mul(radix)?.checked_add(digit)
    })
}

fn ascii(value: u32) -> u8 {
    u8::try_from(value).ok().filter(u8::is_ascii).unwrap_or(OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(std::str::from_utf8(&folded(bytes)).unwrap(), expected);
    }

    #[test]
    fn escapes_of_any_number_of_layers_look_like_what_they_stand_for() {
        for text in [
            "Ab1/c\n\"d\" & e",
            r#"Ab1/c\n\"d\" & e"#,
            r#"Ab1\/c\\n\\\"d\\\" \u0026 e"#,
            r#"Ab1\u002fc\\\\n\\\\\\\"d\\\\\\\" \\u0026 \u0065"#,
            "Ab1%2Fc%0A%22d%22+%26+e",
            "Ab1%252fc%250a%2522d%2522%2B%2526%2Be",
            "Ab1%5Cu002Fc%5Cn%5C%22d%5C%22",
            "Ab1/c&#10;&quot;d&quot; &amp; &#101;",
            "Ab1/c&amp;#xA;&amp;amp;quot;d&quot; &amp;amp; &#x65;",
            "A\0b\0\x31\0/\0c\0d\0",
        ] {
            let all = folded(text.as_bytes());
            let all = String::from_utf8(all.to_vec()).unwrap();
            assert!(["ab1cd", "ab1cde"].contains(&all.as_str()), "{text}: {all}");
        }
    }

    #[test]
    fn a_text_that_is_no_escape_stays() {
        check(b"100% of C:\\data & more; 5%zz", "100ofcdatamore5zz");
        check(b"\\\\server\\share %2", "servershare2");
        check(b"&unknown; &#; &#x; &", "unknownx");
        check(b"", "");
    }

    #[test]
    fn each_character_knows_where_it_came_from() {
        let text = br"x\u0041-%2542&#67;";
        let folded = Folded::of(text);
        assert_eq!(&folded.characters[..], b"xabc");
        let spans: Vec<_> = (0..4).map(|at| (folded.start(at).unwrap(), folded.end(at).unwrap())).collect();
        assert_eq!(spans, [(0, 1), (1, 7), (8, 13), (13, 18)]);
        assert_eq!(folded.start(4), None);
    }

    #[test]
    fn runs_of_escapes_cost_no_more_than_other_bytes() {
        for run in ["\\", "%25", "&amp;", "%", "&"] {
            let _ = folded(run.repeat(200_000).as_bytes());
        }
    }
}
