//! A component in parts: the index names the parts in order, each with its digest, and the digest of the whole. Pure:
//! the parts that are there come in; the component, or the missing or wrong parts, come out.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use machinist_artifacts::ContentDigest;
use machinist_core::value::digest::NotADigest;
use serde::{Deserialize, Serialize};

use super::configmap::RawConfigMap;
use super::{Encoding, Packed};
use crate::sources::keys::PluginKeys;

/// No ConfigMap is larger.
pub(crate) const MOST_PART_BYTES: usize = 1 << 20;

/// The content of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// How the whole is packed.
    pub encoding: Encoding,
    /// The parts in order.
    pub parts: Vec<PartRef>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRef {
    /// The ConfigMap, in the namespace of the index.
    pub config_map: String,
    /// ContentDigest of the part's bytes.
    pub digest: ContentDigest,
}

/// A part's number, from 1, among so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartNumber {
    pub number: usize,
    pub total: usize,
}

impl fmt::Display for PartNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.total)
    }
}

impl PartNumber {
    fn words(self) -> String {
        format!("part {} of {}", self.number, self.total)
    }

    fn read(text: &str) -> Option<Self> {
        let (number, total) = text.trim().split_once('/')?;
        Some(Self { number: number.parse().ok()?, total: total.parse().ok()? })
    }
}

/// A problem of an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("write {{\"encoding\":\"zstd\",\"parts\":[{{\"configMap\":\"…\",\"sha256\":\"…\"}}, …]}}")]
    Json(#[source] serde_json::Error),
    #[error("encoding {name:?} is unknown; this host reads none, gzip and zstd")]
    Encoding { name: String },
    #[error("it names no part")]
    Empty,
    #[error("it names {count} parts, and {} are the most", Index::MOST_PARTS)]
    TooMany { count: usize },
    #[error("the digest of part {number} is wrong")]
    Digest {
        number: usize,
        #[source]
        source: NotADigest,
    },
    #[error("it names ConfigMap {config_map} twice, as part {first} and part {second}")]
    Twice { config_map: String, first: usize, second: usize },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIndex {
    encoding: String,
    parts: Vec<RawPartRef>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPartRef {
    #[serde(rename = "configMap")]
    config_map: String,
    sha256: String,
}

impl Index {
    /// Thirty-two ConfigMaps hold the largest component that may be.
    pub const MOST_PARTS: usize = 32;

    /// Reads `parts.json`.
    ///
    /// # Errors
    /// When it is not as it must be; the error names the part.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let raw: RawIndex = serde_json::from_str(text).map_err(IndexError::Json)?;
        let Some(encoding) = Encoding::named(&raw.encoding) else {
            return Err(IndexError::Encoding { name: raw.encoding });
        };
        let count = raw.parts.len();
        if count == 0 {
            return Err(IndexError::Empty);
        }
        if count > Self::MOST_PARTS {
            return Err(IndexError::TooMany { count });
        }
        let mut seen = BTreeMap::new();
        let mut parts = Vec::with_capacity(count);
        for (number, part) in (1..).zip(raw.parts) {
            let digest =
                super::digest(&part.sha256).map_err(|source| IndexError::Digest { number, source })?;
            if let Some(first) = seen.insert(part.config_map.clone(), number) {
                let config_map = part.config_map;
                return Err(IndexError::Twice { config_map, first, second: number });
            }
            parts.push(PartRef { config_map: part.config_map, digest });
        }
        Ok(Self { encoding, parts })
    }

    /// Assembles the parts. A wrong part takes precedence over a missing one, since waiting does not fix it.
    ///
    /// # Errors
    ///
    /// If a part exists that does not fit its place.
    pub fn assemble<'a>(&self, find: impl Fn(&str) -> Option<&'a FoundPart>) -> Result<Assembly, Error> {
        let mut pieces = Vec::with_capacity(self.parts.len());
        let mut missing = Vec::new();
        for (place, PartRef { config_map, digest }) in self.places() {
            let config_map = config_map.clone();
            match find(&config_map) {
                None => missing.push(format!("{}, ConfigMap {config_map}", place.words())),
                Some(FoundPart::Wrong(source)) => {
                    return Err(Error::Part { place, config_map, source: source.clone() });
                }
                Some(FoundPart::Forgotten) => return Err(Error::Forgotten { place, config_map }),
                Some(FoundPart::Part(part)) if part.place != place => {
                    return Err(Error::OtherPlace { place, config_map, says: part.place });
                }
                Some(FoundPart::Part(part)) if part.digest != *digest => {
                    return Err(Error::OtherContent {
                        place,
                        config_map,
                        expected: *digest,
                        found: part.digest,
                    });
                }
                Some(FoundPart::Part(part)) => pieces.push(part.bytes.clone()),
            }
        }
        if missing.is_empty() {
            Ok(Assembly::Complete(Packed::new(self.encoding, pieces)))
        } else {
            Ok(Assembly::Waits { missing: missing.join("; ") })
        }
    }

    pub fn to_json(&self) -> String {
        let parts = self.parts.iter();
        let parts =
            parts.map(|part| RawPartRef { config_map: part.config_map.clone(), sha256: part.digest.hex() });
        let raw = RawIndex { encoding: self.encoding.name().to_owned(), parts: parts.collect() };
        // Texts and a list: nothing that could fail.
        serde_json::to_string(&raw).unwrap_or_default()
    }

    fn places(&self) -> impl Iterator<Item = (PartNumber, &PartRef)> {
        let total = self.parts.len();
        (1..).zip(&self.parts).map(move |(number, part)| (PartNumber { number, total }, part))
    }
}

/// A part as its ConfigMap holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub place: PartNumber,
    pub bytes: Bytes,
    pub digest: ContentDigest,
}

/// A problem of a part's ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    #[error("its data has no {}, such as \"1/5\"", PluginKeys::PLACE_KEY)]
    NoPlace,
    #[error("its {} is {text:?}, not a place such as \"1/5\"", PluginKeys::PLACE_KEY)]
    Place { text: String },
    #[error("its binaryData has no {}", PluginKeys::BYTES_KEY)]
    NoBytes,
    #[error("its {bytes} bytes are more than the {MOST_PART_BYTES} that a part may have")]
    TooLarge { bytes: usize },
}

impl Part {
    pub fn new(place: PartNumber, bytes: Bytes) -> Self {
        let digest = ContentDigest::of(&bytes);
        Self { place, bytes, digest }
    }

    /// Reads a ConfigMap. Hashes up to a megabyte.
    ///
    /// # Errors
    /// When it holds no part.
    pub fn read(raw: &RawConfigMap) -> Result<Self, PartError> {
        let text = raw.data.get(PluginKeys::PLACE_KEY).ok_or(PartError::NoPlace)?;
        let place = PartNumber::read(text).ok_or_else(|| PartError::Place { text: text.clone() })?;
        let bytes = raw.binary_data.get(PluginKeys::BYTES_KEY).ok_or(PartError::NoBytes)?;
        if bytes.len() > MOST_PART_BYTES {
            return Err(PartError::TooLarge { bytes: bytes.len() });
        }
        Ok(Self::new(place, bytes.clone()))
    }
}

/// The state of a part's ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundPart {
    /// It holds a part.
    Part(Part),
    Wrong(PartError),
    /// It was there, and its bytes were not kept.
    Forgotten,
}

/// The parts of an index, together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assembly {
    Complete(Packed),
    /// These are missing; the others fit.
    Waits {
        /// Their places and ConfigMaps, for people.
        missing: String,
    },
}

/// Why parts do not make a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{}, ConfigMap {config_map}, is wrong", place.words())]
    Part {
        /// Where the index has it.
        place: PartNumber,
        config_map: String,
        #[source]
        source: PartError,
    },
    #[error("{}, ConfigMap {config_map}, says that it is part {says}", place.words())]
    OtherPlace {
        /// Where the index has it.
        place: PartNumber,
        config_map: String,
        /// Where it says it belongs.
        says: PartNumber,
    },
    /// A part of another version, or a damaged one.
    #[error("{}, ConfigMap {config_map}, has digest {found}, and {} says {expected}", place.words(), PluginKeys::INDEX_KEY)]
    OtherContent {
        /// Where the index has it.
        place: PartNumber,
        config_map: String,
        /// The digest in the index.
        expected: ContentDigest,
        found: ContentDigest,
    },
    #[error(
        "{}, ConfigMap {config_map}, was not kept, since parts that no index names fill the memory for them: delete \
         those, then this part, and push again",
        place.words()
    )]
    Forgotten {
        /// Where the index has it.
        place: PartNumber,
        config_map: String,
    },
}

/// Splits a packed component into parts of at most `part_bytes`, named `prefix-1` and so on, with the index that names
/// them.
pub fn split(
    packed: &Bytes,
    encoding: Encoding,
    part_bytes: usize,
    prefix: &str,
) -> (Index, Vec<(String, Part)>) {
    let part_bytes = part_bytes.max(1);
    let total = packed.len().div_ceil(part_bytes).max(1);
    let mut rest = packed.clone();
    let mut parts = Vec::with_capacity(total);
    for number in 1..=total {
        let bytes = rest.split_to(part_bytes.min(rest.len()));
        parts.push((format!("{prefix}-{number}"), Part::new(PartNumber { number, total }, bytes)));
    }
    let names = parts.iter().map(|(name, part)| PartRef { config_map: name.clone(), digest: part.digest });
    (Index { encoding, parts: names.collect() }, parts)
}

#[cfg(test)]
mod tests;
