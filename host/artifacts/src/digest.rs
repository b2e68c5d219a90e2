//! Digests as registries write them.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// SHA-256 of some bytes, written `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest([u8; 32]);

/// Why a text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a digest: write sha256: and 64 hex digits")]
pub struct NotADigest {
    pub text: String,
}

impl ContentDigest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest that was computed elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// 64 lower-case hex digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ContentDigest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let wrong = || NotADigest { text: text.chars().take(80).collect() };
        let hex = text.strip_prefix("sha256:").ok_or_else(wrong)?;
        if hex.len() != 64 {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(pair).map_err(|_| wrong())?;
            let are_digits = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
            *byte = u8::from_str_radix(digits, 16).ok().filter(|_| are_digits).ok_or_else(wrong)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_nothing_else_is_one() {
        let digest = ContentDigest::of(b"component");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        let upper = digest.to_string().to_uppercase();
        let short = digest.to_string().replace("sha256:", "sha256:0");
        for wrong in ["", "sha256:", "sha512:00", &digest.hex(), &upper, &short, &"sha256:+".repeat(32)] {
            assert!(wrong.parse::<ContentDigest>().is_err(), "{wrong}");
        }
        // Characters of several bytes are cut nowhere.
        assert!(format!("sha256:{}", "é".repeat(32)).parse::<ContentDigest>().is_err());
    }
}
