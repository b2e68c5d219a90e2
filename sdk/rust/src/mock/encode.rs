//! Encodings of secrets, as the host applies them, and the spellings in which clouds return values.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::driver::{Encoding, escaped};

const ENCODINGS_PER_PLACEHOLDER: usize = 4;

/// Applies the encodings in order. `None` if they do not fit.
pub(super) fn encoded(value: &[u8], encodings: &[Encoding]) -> Option<Vec<u8>> {
    if encodings.len() > ENCODINGS_PER_PLACEHOLDER {
        return None;
    }
    encodings.iter().try_fold(value.to_vec(), |value, encoding| step(&value, *encoding))
}

fn step(value: &[u8], encoding: Encoding) -> Option<Vec<u8>> {
    Some(match encoding {
        Encoding::Plain => value.to_vec(),
        Encoding::Base64 => STANDARD.encode(value).into_bytes(),
        Encoding::Form => form_urlencoded::byte_serialize(value).collect::<String>().into_bytes(),
        Encoding::JsonEscape => inside_of_json(std::str::from_utf8(value).ok()?).into_bytes(),
        Encoding::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(value).and_then(|()| encoder.finish()).ok()?
        }
    })
}

/// Returns the text as it is between the quotes of a JSON string.
pub(super) fn inside_of_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the value in all spellings that clouds use.
pub(super) fn spellings(value: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(value);
    let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    let form: String = form_urlencoded::byte_serialize(value).collect();
    let texts =
        [inside_of_json(&text), escaped(&text), form, STANDARD.encode(value), URL_SAFE.encode(value), hex];
    [value.to_vec()].into_iter().chain(texts.into_iter().map(String::into_bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_applied_in_their_order() {
        let text = |encodings: &[Encoding]| {
            encoded(b"a b\"+", encodings).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(text(&[]).as_deref(), Some("a b\"+"));
        assert_eq!(text(&[Encoding::Base64]).as_deref(), Some("YSBiIis="));
        assert_eq!(text(&[Encoding::Base64, Encoding::Form]).as_deref(), Some("YSBiIis%3D"));
        assert_eq!(text(&[Encoding::JsonEscape]).as_deref(), Some("a b\\\"+"));
        assert_eq!(text(&[Encoding::Plain; 5]), None);
        assert_eq!(encoded(&[0xff], &[Encoding::JsonEscape]), None);
        let packed = encoded(b"many many many", &[Encoding::Gzip]).unwrap();
        let mut back = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut back)
            .unwrap();
        assert_eq!(back, "many many many");
    }
}
