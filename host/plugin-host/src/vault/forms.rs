//! By which needles a value is looked for in the folded view of an answer.
//!
//! A credential or a token is found by any [`PIECE`] characters of it in a row. Of user data, and of other texts with
//! many lines, ordinary words would blank out honest answers: found are its tokens, the bodies of its keys, its long
//! lines as a whole, and any [`TEXT_PIECE`] characters. All of these are also found in hexadecimal, in base64, and in
//! base64 of base64.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;
use zeroize::Zeroizing;

use super::encode::json_inside;
use super::fold::{Decoded, folded, folded_digits};
use super::index::Needle;
use super::scrub::base64_core;

/// So many characters of a credential in a row are found.
pub(super) const PIECE: usize = 24;
/// So many of a text.
pub(super) const TEXT_PIECE: usize = 64;
/// So many digits, hexadecimal or decimal.
const DIGITS_PIECE: usize = 32;
/// Shorter lines occur in many texts.
const LINE: usize = 20;
/// A word that is shorter is no token.
const WORD: usize = 20;
/// A line of a key's body has 64 or 76 characters.
const BODY_LINE: usize = 40;
/// A Secret's value with blanks is a passphrase up to this length, and a text beyond it.
const PASSPHRASE_BYTES: usize = 128;

/// Kinds of values, which are looked for in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ValueKind {
    /// A value of a Secret, or a token.
    Credential,
    Text,
    BootstrapToken,
    /// A signature in hexadecimal.
    Signature,
}

pub(super) fn needles(kind: ValueKind, value: &[u8]) -> Vec<Needle> {
    let mut forms = Forms::default();
    match kind {
        ValueKind::Credential => forms.credential(value.trim_ascii()),
        ValueKind::Text => forms.text(value),
        ValueKind::BootstrapToken => forms.bootstrap_token(value),
        ValueKind::Signature => forms.push(folded_digits(value), DIGITS_PIECE),
    }
    forms.needles
}

/// Whether a value looks like a key or a token, or like a text that may contain one. Names, regions, URLs and ids of
/// cloud objects do not.
pub(super) fn is_like_a_credential(value: &[u8]) -> bool {
    is_text(value) || is_random(value)
}

/// Bootstrap tokens in a text: six characters, a dot, sixteen characters.
pub(super) fn bootstrap_tokens(text: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    const ID: usize = 6;
    const SECRET: usize = 16;
    let is_inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let token = |dot: usize| {
        let token = text.get(dot.checked_sub(ID)?..dot + 1 + SECRET)?;
        let is_token = token.iter().enumerate().all(|(at, byte)| at == ID || is_inside(byte));
        is_token.then(|| Zeroizing::new(token.to_vec()))
    };
    memchr::memchr_iter(b'.', text).filter_map(token).collect()
}

#[derive(Default)]
struct Forms {
    needles: Vec<Needle>,
}

impl Forms {
    fn push(&mut self, characters: Zeroizing<Vec<u8>>, piece: usize) {
        self.needles.push(Needle { accepted: piece.min(characters.len()), characters });
    }

    fn credential(&mut self, value: &[u8]) {
        if is_text(value) {
            self.text(value);
            self.members(value);
            return;
        }
        let piece = if is_address(value) { usize::MAX } else { PIECE };
        self.plain(value, piece);
        let digits_piece = if piece == PIECE { DIGITS_PIECE } else { usize::MAX };
        let escaped = escaped(value);
        for bytes in escaped.iter().chain([&utf16(value)]).map(|bytes| bytes.as_slice()).chain([value]) {
            self.base64(bytes, piece);
            self.base64_of_base64(bytes, piece);
        }
        for digits in escaped.iter().map(|bytes| hexadecimal(bytes, "")) {
            self.push(digits, digits_piece);
        }
        for digits in [hexadecimal(value, ""), hexadecimal(value, "0x"), decimal(value)] {
            if digits.len() >= DIGITS_PIECE / 2 {
                self.push(digits, digits_piece);
            }
        }
    }

    /// As it is, when it is long or mixed enough to be no word or number of an honest answer.
    fn plain(&mut self, value: &[u8], piece: usize) {
        let characters = folded(value);
        if is_telling(&characters) {
            self.push(characters, piece);
        }
    }

    fn base64(&mut self, bytes: &[u8], piece: usize) {
        for offset in 0..3 {
            self.encoded(&base64_core(&STANDARD_NO_PAD, bytes, offset), piece);
        }
    }

    fn base64_of_base64(&mut self, bytes: &[u8], piece: usize) {
        for offset in 0..3 {
            let standard = base64_core(&STANDARD_NO_PAD, bytes, offset);
            let other = base64_core(&URL_SAFE_NO_PAD, bytes, offset);
            self.base64(standard.as_bytes(), piece);
            if standard != other {
                self.base64(other.as_bytes(), piece);
            }
        }
    }

    fn encoded(&mut self, text: &str, piece: usize) {
        let characters = folded_digits(text.as_bytes());
        if characters.len() >= 10 {
            self.push(characters, piece);
        }
    }

    fn bootstrap_token(&mut self, token: &[u8]) {
        let secret = token.get(token.len().saturating_sub(16)..).unwrap_or(token);
        for part in [token, secret] {
            self.push(folded_digits(part), PIECE);
            for bytes in [part, &utf16(part)] {
                self.base64(bytes, PIECE);
                self.base64_of_base64(bytes, PIECE);
            }
            self.push(hexadecimal(part, ""), DIGITS_PIECE);
        }
    }

    fn text(&mut self, text: &[u8]) {
        for token in bootstrap_tokens(text) {
            self.bootstrap_token(&token);
        }
        let decoded = Decoded::of(text).bytes;
        let lines: Vec<&[u8]> = decoded.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
        for line in &lines {
            let characters = folded(line);
            if (LINE..TEXT_PIECE).contains(&characters.len()) {
                self.push(characters, TEXT_PIECE);
            }
        }
        self.bodies(&lines);
        for word in decoded.split(|byte| !is_in_word(*byte)).filter(|word| is_random(word)) {
            self.push(folded(word), PIECE);
        }
        self.push(folded(text), TEXT_PIECE);
        self.base64(text, TEXT_PIECE);
        self.base64(&utf16(text), TEXT_PIECE);
        // Tokens have another length than their placeholders, so that the text behind them has any offset.
        for offset in 0..3 {
            self.base64(base64_core(&STANDARD_NO_PAD, text, offset).as_bytes(), TEXT_PIECE);
        }
        self.push(hexadecimal(text, ""), TEXT_PIECE);
    }

    /// Lines of base64 below each other, as keys are written: pieces are found across the ends of lines, too.
    fn bodies(&mut self, lines: &[&[u8]]) {
        let is_base64 = |line: &&[u8]| {
            !line.is_empty() && line.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
        };
        for lines in lines.chunk_by(|one, next| is_base64(one) && is_base64(next)) {
            if lines.first().is_some_and(|line| line.len() >= BODY_LINE && is_base64(line)) {
                self.push(folded_digits(&Zeroizing::new(lines.concat())), PIECE);
            }
        }
    }

    /// The values within a JSON document, and behind the first colon or equals sign of each line of another text.
    fn members(&mut self, text: &[u8]) {
        if let Ok(value) = serde_json::from_slice::<Value>(text) {
            self.strings(&value);
            return;
        }
        for line in text.split(|byte| *byte == b'\n') {
            let Some(at) = line.iter().position(|byte| b":=".contains(byte)) else { continue };
            let value = line.get(at + 1..).unwrap_or_default().trim_ascii();
            let value = value.trim_ascii_start().strip_prefix(b"\"").unwrap_or(value);
            self.member(value.strip_suffix(b"\"").unwrap_or(value));
        }
    }

    fn strings(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.member(text.as_bytes()),
            Value::Array(list) => list.iter().for_each(|value| self.strings(value)),
            Value::Object(fields) => fields.values().for_each(|value| self.strings(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn member(&mut self, value: &[u8]) {
        if is_text(value) {
            self.text(value);
        } else if is_random(value) && !is_address(value) {
            self.credential(value);
        }
    }
}

/// More than one line, or a long one with blanks.
fn is_text(value: &[u8]) -> bool {
    value.contains(&b'\n')
        || value.starts_with(b"{")
        || (value.len() > PASSPHRASE_BYTES && value.contains(&b' '))
}

/// A URL, a path, a mail address or an AWS resource name: their beginnings and ends occur in honest answers, so they
/// are searched for as a whole only.
fn is_address(value: &[u8]) -> bool {
    value.starts_with(b"/")
        || value.starts_with(b"arn:")
        || memchr::memmem::find(value, b"://").is_some()
        || is_mail(value)
}

fn is_mail(value: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"._+-".contains(byte);
    let mut parts = value.split(|byte| *byte == b'@');
    let (name, domain) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    parts.next().is_none() && domain.contains(&b'.') && name.iter().chain(domain).all(is_part)
}

fn is_telling(characters: &[u8]) -> bool {
    let digits = characters.iter().filter(|character| character.is_ascii_digit()).count();
    match (digits, characters.len()) {
        (_, ..8) => false,
        (0, length) => length >= 20,
        (digits, length) if digits == length => length >= 16,
        (_, _) => true,
    }
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/_~-".contains(&byte)
}

/// Words of people and programs change seldom between letters, capitals and digits; random ones do so in each second
/// place. Ids of cloud objects look random, and are no secrets.
fn is_random(word: &[u8]) -> bool {
    const MOST_CHANGES: usize = 5;
    let class = |byte: &u8| (byte.is_ascii_uppercase(), byte.is_ascii_digit());
    let classes = || word.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(class);
    let changes = classes().zip(classes().skip(1)).filter(|(one, next)| one != next).count();
    word.len() >= WORD
        && word.iter().any(u8::is_ascii_digit)
        && word.iter().any(u8::is_ascii_alphabetic)
        && changes * MOST_CHANGES >= word.len()
        && !is_cloud_id(word)
}

/// `i-0123456789abcdef0`, or an UUID.
fn is_cloud_id(word: &[u8]) -> bool {
    const DIGITS: usize = 17;
    let is_uuid = word.len() == 36
        && word.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    let behind = word.rsplit(|byte| *byte == b'-').next().unwrap_or_default();
    let prefix = word.get(..word.len() - behind.len()).unwrap_or_default();
    is_uuid
        || (behind.len() <= DIGITS
            && behind.iter().all(u8::is_ascii_hexdigit)
            && !prefix.is_empty()
            && prefix.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-'))
}

/// Returns the value as it is written in JSON and in a form, if that differs: bodies are encoded as a whole.
fn escaped(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let json = std::str::from_utf8(value).ok().and_then(json_inside);
    let form: String = url::form_urlencoded::byte_serialize(value).collect();
    let both = json.map(|json| json.as_bytes().to_vec()).into_iter().chain([form.into_bytes()]);
    both.map(Zeroizing::new).filter(|escaped| escaped.as_slice() != value).collect()
}

fn utf16(value: &[u8]) -> Zeroizing<Vec<u8>> {
    let units = std::str::from_utf8(value).unwrap_or_default().encode_utf16();
    Zeroizing::new(units.flat_map(u16::to_le_bytes).collect())
}

fn hexadecimal(value: &[u8], prefix: &str) -> Zeroizing<Vec<u8>> {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).map_or(b'0', |digit| digit as u8);
    let mut digits = Zeroizing::new(Vec::with_capacity(value.len() * (2 + prefix.len())));
    for byte in value {
        digits.extend_from_slice(prefix.as_bytes());
        digits.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    digits
}

fn decimal(value: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(value.iter().flat_map(|byte| byte.to_string().into_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_are_distinguished_from_words_of_people() {
        for word in [
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "3f786850e387550fdab836ed7e6dc881de23001b",
            "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9",
            "x7k2m9q4w1z8p3v6b5n0",
        ] {
            assert!(is_random(word.as_bytes()), "{word}");
        }
        for word in [
            "i-0123456789abcdef0", "subnet-0123456789abcdef0", "123e4567-e89b-12d3-a456-426614174000",
            "/usr/local/bin/kubelet-v1.31.2", "https://oauth2.googleapis.com/token",
            "auth_provider_x509_cert_url", "eu-central-1.compute.internal", "20261125021830000000000",
        ] {
            assert!(!is_random(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn bootstrap_tokens_are_found_wherever_they_stand() {
        let text = b"a.b xabcdef.0123456789abcdefx 1.2.3 ABCDEF.0123456789abcdef fedcba.fedcba9876543210";
        let found: Vec<_> =
            bootstrap_tokens(text).iter().map(|token| String::from_utf8_lossy(token).into_owned()).collect();
        assert_eq!(found, ["abcdef.0123456789abcdef", "fedcba.fedcba9876543210"]);
    }
}
