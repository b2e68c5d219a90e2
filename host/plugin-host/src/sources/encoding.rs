//! The compression of a component in its source: its key, and its magic bytes.

use std::fmt;
use std::io::{self, Write as _};

/// How a component's bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    None,
    /// gzip, one member or several.
    Gzip,
    /// zstd, one frame or several.
    Zstd,
}

/// A component is packed once and loaded often.
const ZSTD_LEVEL: i32 = 19;

impl Encoding {
    /// Every encoding that this host reads.
    pub const ALL: [Self; 3] = [Self::None, Self::Gzip, Self::Zstd];

    /// As `parts.json` and the command line write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// Returns the key of `binaryData` for a whole component.
    pub fn key(self) -> &'static str {
        match self {
            Self::None => "plugin.wasm",
            Self::Gzip => "plugin.wasm.gz",
            Self::Zstd => "plugin.wasm.zst",
        }
    }

    /// Detects the compression by the first bytes. Unknown bytes count as uncompressed, and are refused later.
    pub fn of(bytes: &[u8]) -> Self {
        const GZIP: &[u8] = &[0x1f, 0x8b];
        const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
        if bytes.starts_with(GZIP) {
            Self::Gzip
        } else if bytes.starts_with(ZSTD) {
            Self::Zstd
        } else {
            Self::None
        }
    }

    /// Packs a component, the same bytes each time. Takes seconds for a large one.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn pack(self, component: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(component.to_vec()),
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                encoder.write_all(component)?;
                encoder.finish()
            }
            Self::Zstd => zstd::encode_all(component, ZSTD_LEVEL),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_known_by_its_name_and_by_its_bytes() {
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::named(encoding.name()), Some(encoding));
            assert_eq!(Encoding::of(&encoding.pack(b"\0asm").expect("packs")), encoding);
        }
        assert_eq!(Encoding::named("lzma"), None);
        assert_eq!(Encoding::of(b""), Encoding::None);
    }
}
