//! Components as they travel: raw or compressed, and never larger than they may be.

use std::io::Read as _;

use bytes::Bytes;

/// A component's bytes as the source holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packed {
    /// As they are.
    Raw(Bytes),
    /// One zstd frame.
    Zstd(Bytes),
}

/// Why there is no component inside.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// More than a source may hold.
    #[error("{bytes} bytes are more than the {most} that a source may hold")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// It grows beyond any component, or beyond any honest compression.
    #[error("the component is larger than {most} bytes when decompressed")]
    GrowsTooLarge {
        /// The limit for this input.
        most: usize,
    },
    /// Truncated or damaged.
    #[error("the zstd data is damaged")]
    Damaged(#[source] std::io::Error),
}

/// Larger sources do not exist: a ConfigMap holds 1 MiB, several of them a few.
const MOST_PACKED_BYTES: usize = 8 << 20;
/// The largest known drivers (Python with its standard library) have 18 MiB.
const MOST_BYTES: usize = 64 << 20;
/// Components shrink to a third or a quarter. A hundredth is an attack on memory.
const MOST_RATIO: usize = 100;

impl Packed {
    /// Bytes as they travel.
    pub fn size(&self) -> usize {
        match self {
            Self::Raw(bytes) | Self::Zstd(bytes) => bytes.len(),
        }
    }

    /// The component's bytes. Works for milliseconds: not for a thread that others wait for.
    pub fn unpack(&self) -> Result<Bytes, UnpackError> {
        let bytes = self.size();
        if bytes > MOST_PACKED_BYTES {
            return Err(UnpackError::TooLarge { bytes, most: MOST_PACKED_BYTES });
        }
        match self {
            Self::Raw(raw) => Ok(raw.clone()),
            Self::Zstd(packed) => unzstd(packed).map(Bytes::from),
        }
    }
}

fn unzstd(packed: &[u8]) -> Result<Vec<u8>, UnpackError> {
    let most = MOST_BYTES.min(packed.len().saturating_mul(MOST_RATIO));
    let mut decoder = zstd::stream::read::Decoder::new(packed).map_err(UnpackError::Damaged)?;
    // A window of 64 MiB is the largest that output within the limit can use.
    decoder.window_log_max(26).map_err(UnpackError::Damaged)?;
    let mut component = Vec::new();
    let one_more = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(one_more).read_to_end(&mut component).map_err(UnpackError::Damaged)?;
    if component.len() > most {
        return Err(UnpackError::GrowsTooLarge { most });
    }
    Ok(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zstd(bytes: &[u8]) -> Packed {
        Packed::Zstd(Bytes::from(zstd::encode_all(bytes, 3).expect("compresses")))
    }

    #[test]
    fn what_was_packed_comes_out() {
        let component: Vec<u8> =
            (0..100_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        assert_eq!(zstd(&component).unpack().expect("unpacks"), component);
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_large() {
        let bomb = zstd(&vec![0; 8 << 20]);
        assert!(bomb.size() < 10_000);
        assert!(matches!(bomb.unpack(), Err(UnpackError::GrowsTooLarge { most }) if most < 1 << 20));
    }

    #[test]
    fn damaged_truncated_and_oversized_data_is_refused() {
        let Packed::Zstd(whole) = zstd(b"component component component") else {
            unreachable!("packed above")
        };
        assert!(matches!(
            Packed::Zstd(whole.slice(..whole.len() - 3)).unpack(),
            Err(UnpackError::Damaged(_))
        ));
        assert!(matches!(Packed::Zstd(Bytes::from_static(b"none")).unpack(), Err(UnpackError::Damaged(_))));
        let oversized = Packed::Raw(Bytes::from(vec![0; MOST_PACKED_BYTES + 1]));
        assert!(matches!(oversized.unpack(), Err(UnpackError::TooLarge { .. })));
    }
}
