//! The version of a driver, by the digest of its component.

use std::fmt;
use std::str::FromStr;

/// SHA-256 of a driver's component, written `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverDigest([u8; 32]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a sha256 digest of 64 hex digits")]
pub struct NotADigest(String);

impl DriverDigest {
    /// A digest that was computed.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn bytes(self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for DriverDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DriverDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DriverDigest {
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
        let digest = DriverDigest::from_bytes(std::array::from_fn(|byte| byte as u8 * 7));
        let text = digest.to_string();
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(format!(" {} \n", text["sha256:".len()..].to_uppercase()).parse(), Ok(digest));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        for text in ["", "sha256:", "abc", "sha512:00", &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
            assert!(text.parse::<DriverDigest>().is_err(), "{text}");
        }
    }
}
