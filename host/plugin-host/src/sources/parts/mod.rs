//! A component in parts: the index names the parts in order, each with its digest, and the digest of the whole. Pure:
//! the parts that are there come in; the component, or the missing or wrong parts, come out.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::configmap::RawConfigMap;
use super::{Encoding, Packed};
use crate::loading::digest::{Digest, NotADigest};

/// The value of the label `machinist.dev/plugin` on a part.
pub const PART_KIND: &str = "part";
/// On a part of `machinist plugin push`: the index that the part belongs to.
pub const INDEX_LABEL: &str = "machinist.dev/plugin-index";
/// The key of `data` that makes a ConfigMap an index.
pub const INDEX_KEY: &str = "parts.json";
/// The key of `data` under which a part says its place.
pub const PLACE_KEY: &str = "part";
/// The key of `binaryData` under which a part holds its bytes. A ConfigMap has no key twice, in either of the two.
pub const BYTES_KEY: &str = "plugin.wasm.part";
/// Thirty-two ConfigMaps hold the largest component that may be.
pub const MOST_PARTS: usize = 32;
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

/// One part, as the index names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRef {
    /// The ConfigMap, in the namespace of the index.
    pub config_map: String,
    /// Digest of the part's bytes.
    pub digest: Digest,
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
    /// Not JSON, or other fields.
    #[error("write {{\"encoding\":\"zstd\",\"parts\":[{{\"configMap\":\"…\",\"sha256\":\"…\"}}, …]}}")]
    Json(#[source] serde_json::Error),
    #[error("encoding {name:?} is unknown; this host reads none, gzip and zstd")]
    Encoding { name: String },
    #[error("it names no part")]
    Empty,
    /// More parts than the largest component needs.
    #[error("it names {count} parts, and {MOST_PARTS} are the most")]
    TooMany { count: usize },
    /// A digest that is none.
    #[error("the digest of part {number} is wrong")]
    Digest {
        number: usize,
        #[source]
        source: NotADigest,
    },
    /// One ConfigMap in two places.
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
        if count > MOST_PARTS {
            return Err(IndexError::TooMany { count });
        }
        let mut seen = BTreeMap::new();
        let mut parts = Vec::with_capacity(count);
        for (number, part) in (1..).zip(raw.parts) {
            let digest = part.sha256.parse().map_err(|source| IndexError::Digest { number, source })?;
            if let Some(first) = seen.insert(part.config_map.clone(), number) {
                let config_map = part.config_map;
                return Err(IndexError::Twice { config_map, first, second: number });
            }
            parts.push(PartRef { config_map: part.config_map, digest });
        }
        Ok(Self { encoding, parts })
    }

    /// As `parts.json` has it.
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
    pub digest: Digest,
}

/// A problem of a part's ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// It does not say which part it is.
    #[error("its data has no {PLACE_KEY}, such as \"1/5\"")]
    NoPlace,
    /// It says nothing that is a place.
    #[error("its {PLACE_KEY} is {text:?}, not a place such as \"1/5\"")]
    Place { text: String },
    #[error("its binaryData has no {BYTES_KEY}")]
    NoBytes,
    /// It holds more than a ConfigMap can.
    #[error("its {bytes} bytes are more than the {MOST_PART_BYTES} that a part may have")]
    TooLarge { bytes: usize },
}

impl Part {
    /// A part with these bytes.
    pub fn new(place: PartNumber, bytes: Bytes) -> Self {
        let digest = Digest::of(&bytes);
        Self { place, bytes, digest }
    }

    /// Reads a ConfigMap. Hashes up to a megabyte.
    ///
    /// # Errors
    /// When it holds no part.
    pub fn read(raw: &RawConfigMap) -> Result<Self, PartError> {
        let text = raw.data.get(PLACE_KEY).ok_or(PartError::NoPlace)?;
        let place = PartNumber::read(text).ok_or_else(|| PartError::Place { text: text.clone() })?;
        let bytes = raw.binary_data.get(BYTES_KEY).ok_or(PartError::NoBytes)?;
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
    /// All are there and fit.
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
    /// A ConfigMap that is no part.
    #[error("{}, ConfigMap {config_map}, is wrong", place.words())]
    Part {
        /// Where the index has it.
        place: PartNumber,
        config_map: String,
        #[source]
        source: PartError,
    },
    /// A part of another place.
    #[error("{}, ConfigMap {config_map}, says that it is part {says}", place.words())]
    OtherPlace {
        /// Where the index has it.
        place: PartNumber,
        config_map: String,
        /// Where it says it belongs.
        says: PartNumber,
    },
    /// A part of another version, or a damaged one.
    #[error("{}, ConfigMap {config_map}, has digest {found}, and {INDEX_KEY} says {expected}", place.words())]
    OtherContent {
        /// Where the index has it.
        place: PartNumber,
        config_map: String,
        /// The digest in the index.
        expected: Digest,
        found: Digest,
    },
    /// A part whose bytes were dropped.
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

/// Assembles the parts. A wrong part takes precedence over a missing one, since waiting does not fix it.
///
/// # Errors
///
/// If a part exists that does not fit its place.
pub fn assemble<'a>(index: &Index, find: impl Fn(&str) -> Option<&'a FoundPart>) -> Result<Assembly, Error> {
    let mut pieces = Vec::with_capacity(index.parts.len());
    let mut missing = Vec::new();
    for (place, PartRef { config_map, digest }) in index.places() {
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
                return Err(Error::OtherContent { place, config_map, expected: *digest, found: part.digest });
            }
            Some(FoundPart::Part(part)) => pieces.push(part.bytes.clone()),
        }
    }
    if missing.is_empty() {
        Ok(Assembly::Complete(Packed::new(index.encoding, pieces)))
    } else {
        Ok(Assembly::Waits { missing: missing.join("; ") })
    }
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
