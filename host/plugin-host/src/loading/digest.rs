//! Digests of components, which are their versions.

use std::fmt;
use std::str::FromStr;

use machinist_core::value::digest::DriverDigest;
pub(crate) use machinist_core::value::digest::NotADigest;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a component, written `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

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

    /// As [`DriverDigest`] is read.
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        text.parse::<DriverDigest>().map(Self::from)
    }
}

impl From<DriverDigest> for Digest {
    fn from(digest: DriverDigest) -> Self {
        Self(digest.bytes())
    }
}

impl From<Digest> for DriverDigest {
    fn from(digest: Digest) -> Self {
        Self::from_bytes(digest.0)
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
}
