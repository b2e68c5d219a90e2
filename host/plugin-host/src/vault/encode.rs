//! The encodings of a placeholder. The same value and encodings always give the same bytes, since an idempotent
//! request must not change between two tries.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use zeroize::Zeroizing;

/// Beyond this no request could carry it, and encodings of encodings would only eat memory.
const ENCODED_LIMIT_BYTES: usize = 4 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlaceholderEncoding {
    Plain,
    /// Standard alphabet with padding.
    Base64,
    Form,
    /// The inside of a JSON string, without the quotes.
    JsonEscape,
    /// A gzip stream without name and time.
    Gzip,
}

/// Applies each encoding to the result of the one before it; returns at least one entry. `None` if one does not fit.
pub(super) fn steps(value: &[u8], encodings: &[PlaceholderEncoding]) -> Option<Vec<Zeroizing<Vec<u8>>>> {
    let mut steps = vec![Zeroizing::new(value.to_vec())];
    for encoding in encodings {
        let next = apply(*encoding, steps.last()?)?;
        if next.len() > ENCODED_LIMIT_BYTES {
            return None;
        }
        steps.push(Zeroizing::new(next));
    }
    Some(steps)
}

fn apply(encoding: PlaceholderEncoding, value: &[u8]) -> Option<Vec<u8>> {
    match encoding {
        PlaceholderEncoding::Plain => Some(value.to_vec()),
        PlaceholderEncoding::Base64 => Some(STANDARD.encode(value).into_bytes()),
        PlaceholderEncoding::Form => {
            Some(url::form_urlencoded::byte_serialize(value).collect::<String>().into_bytes())
        }
        PlaceholderEncoding::JsonEscape => {
            json_inside(std::str::from_utf8(value).ok()?).map(String::into_bytes)
        }
        PlaceholderEncoding::Gzip => {
            let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
            writer.write_all(value).ok()?;
            writer.finish().ok()
        }
    }
}

/// Returns the JSON string without its quotes.
pub(super) fn json_inside(text: &str) -> Option<String> {
    let quoted = serde_json::to_string(text).ok()?;
    Some(quoted.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}
