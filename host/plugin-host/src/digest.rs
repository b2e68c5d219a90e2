//! Content digests.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// SHA-256 of a component, written `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a sha256 digest of 64 hex digits")]
pub struct NotADigest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// 64 lower-case hex digits.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    /// Takes the prefix `sha256:` or does without, digits of either case, and space around.
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let wrong = || NotADigest(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.strip_prefix("sha256:").unwrap_or(trimmed);
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_with_and_without_its_prefix() {
        let digest = Digest::of(b"component");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(format!(" {} \n", digest.hex().to_uppercase()).parse(), Ok(digest));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        for text in ["", "sha256:", "abc", "sha512:00", &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
