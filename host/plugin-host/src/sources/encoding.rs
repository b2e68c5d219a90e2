//! The compression of a component in its source: its key, and its magic bytes.

use std::fmt;
use std::io::{self, Read, Write as _};

use bytes::Bytes;

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

/// A component's bytes as the source holds them: pieces that belong together in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    encoding: Encoding,
    pieces: Vec<Bytes>,
}

/// Why there is no component inside.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("{bytes} bytes are more than the {most} that a source may hold")]
    TooLarge { bytes: usize, most: usize },
    /// It grows beyond any component, or beyond any honest compression.
    #[error("the component is larger than {most} bytes when decompressed")]
    GrowsTooLarge {
        /// The limit for this input.
        most: usize,
    },
    #[error("the {encoding} data is damaged")]
    Damaged {
        encoding: Encoding,
        #[source]
        source: io::Error,
    },
}

/// Larger sources do not exist: as many parts as an index may name, each as large as a ConfigMap can be.
pub(crate) const MOST_PACKED_BYTES: usize = 32 << 20;
/// The largest known drivers (Python with its standard library) have 18 MiB, and 4.5 to 6 MiB when packed.
const MOST_BYTES: usize = 64 << 20;
/// Components shrink to a third or a quarter. A hundredth is an attack on memory.
const MOST_RATIO: usize = 100;

impl Packed {
    /// A component in pieces.
    pub fn new(encoding: Encoding, pieces: Vec<Bytes>) -> Self {
        Self { encoding, pieces }
    }

    /// A component in one piece.
    pub fn whole(encoding: Encoding, bytes: impl Into<Bytes>) -> Self {
        Self::new(encoding, vec![bytes.into()])
    }

    /// How it is packed.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Bytes as they travel.
    pub fn size(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Bytes as they travel, in order.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// The component's bytes. Works for milliseconds: not for a thread that others wait for.
    pub fn unpack(&self) -> Result<Bytes, UnpackError> {
        let bytes = self.size();
        if bytes > MOST_PACKED_BYTES {
            return Err(UnpackError::TooLarge { bytes, most: MOST_PACKED_BYTES });
        }
        let pieces = Pieces(self.pieces.clone());
        let damaged = |source| UnpackError::Damaged { encoding: self.encoding, source };
        match self.encoding {
            Encoding::None => match self.pieces.as_slice() {
                [whole] => Ok(whole.clone()),
                several => Ok(Bytes::from(several.concat())),
            },
            Encoding::Gzip => self.unpack_from(flate2::read::MultiGzDecoder::new(pieces)),
            Encoding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(pieces).map_err(damaged)?;
                // A window of 64 MiB is the largest that output within the limit can use.
                decoder.window_log_max(26).map_err(damaged)?;
                self.unpack_from(decoder)
            }
        }
    }

    fn unpack_from(&self, decoder: impl Read) -> Result<Bytes, UnpackError> {
        let most = MOST_BYTES.min(self.size().saturating_mul(MOST_RATIO));
        let one_more = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let mut component = Vec::new();
        decoder
            .take(one_more)
            .read_to_end(&mut component)
            .map_err(|source| UnpackError::Damaged { encoding: self.encoding, source })?;
        if component.len() > most {
            return Err(UnpackError::GrowsTooLarge { most });
        }
        Ok(Bytes::from(component))
    }
}

/// Reads pieces one after the other.
struct Pieces(Vec<Bytes>);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.0.iter_mut().find(|piece| !piece.is_empty()) else { return Ok(0) };
        let taken = piece.split_to(piece.len().min(buffer.len()));
        let Some(target) = buffer.get_mut(..taken.len()) else { return Ok(0) };
        target.copy_from_slice(&taken);
        Ok(taken.len())
    }
}

#[cfg(test)]
mod unpack_tests {
    use super::*;

    fn noise() -> Vec<u8> {
        (0..100_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
    }

    fn packed(encoding: Encoding, bytes: &[u8]) -> Packed {
        Packed::whole(encoding, encoding.pack(bytes).expect("packs"))
    }

    fn error(encoding: Encoding, bytes: &[u8]) -> String {
        Packed::whole(encoding, bytes.to_vec()).unpack().expect_err("damaged").to_string()
    }

    #[test]
    fn packed_bytes_are_unpacked() {
        for encoding in Encoding::ALL {
            assert_eq!(packed(encoding, &noise()).unpack().expect("unpacks"), noise(), "{encoding}");
        }
    }

    #[test]
    fn several_members_or_frames_are_one_component() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let two = [&noise()[..1000], &noise()[1000..]].map(|half| encoding.pack(half).expect("packs"));
            assert_eq!(Packed::whole(encoding, two.concat()).unpack().expect("unpacks"), noise());
        }
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_large() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let bomb = packed(encoding, &vec![0; 8 << 20]);
            assert!(bomb.size() < 10_000, "{encoding}: {}", bomb.size());
            let refused = bomb.unpack();
            assert!(matches!(refused, Err(UnpackError::GrowsTooLarge { most }) if most < 1 << 20));
        }
    }

    #[test]
    fn damaged_truncated_and_oversized_data_is_refused() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let expected = format!("the {encoding} data is damaged");
            let whole = encoding.pack(&noise()).expect("packs");
            assert_eq!(error(encoding, &whole[..whole.len() - 3]), expected);
            assert_eq!(error(encoding, &[&whole[..], b"and more"].concat()), expected);
            assert_eq!(error(encoding, b"none"), expected);
            let mut flipped = whole.clone();
            flipped[whole.len() / 2] ^= 0x55;
            assert_ne!(Packed::whole(encoding, flipped).unpack().ok(), Some(Bytes::from(noise())));
        }
        assert_eq!(error(Encoding::Gzip, b""), "the gzip data is damaged");
        let oversized = Packed::whole(Encoding::None, vec![0; MOST_PACKED_BYTES + 1]);
        assert!(matches!(oversized.unpack(), Err(UnpackError::TooLarge { .. })));
    }

    #[test]
    fn the_largest_known_component_fits_packed_or_not() {
        let python = vec![7; 18 << 20];
        assert!(Packed::whole(Encoding::None, python).unpack().is_ok());
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
