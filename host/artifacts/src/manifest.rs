//! The layout of a component in a registry: an OCI manifest whose configuration is
//! `application/vnd.wasm.config.v0+json` and whose only layer is `application/wasm`. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::digest::{ContentDigest, NotADigest};

/// The media type of a manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of a list of manifests.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of a component's configuration.
pub const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The media type of a component.
pub const COMPONENT: &str = "application/wasm";

/// All types that a request accepts, so that the error names an artifact of another type instead of "absent".
pub(crate) const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";

/// A component has one manifest, and perhaps signatures and proofs beside it. More is not read.
const MOST_ENTRIES: usize = 32;

/// The document that a manifest leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    Component(Blob),
    /// Another manifest, which has the component.
    Index(Blob),
}

/// Bytes in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub digest: ContentDigest,
    pub size_bytes: u64,
}

/// Why a manifest is not of a component. No text of the manifest is in it: whoever answers may be no registry.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// No JSON, or no manifest.
    #[error("the manifest cannot be read{0}")]
    Json(JsonPlace),
    /// Another version of the format.
    #[error("the manifest has schemaVersion {found}, and 2 is known")]
    SchemaVersion { found: u64 },
    /// Something else, such as a container image of Docker.
    #[error("it is {found}, not a manifest of OCI: push the component with `machinist plugin push --oci`")]
    Kind { found: Kind },
    /// An artifact of another kind, such as a container image.
    #[error(
        "its configuration is {found}, that of a component is {}: it is another kind of artifact",
        CONFIG
    )]
    Config { found: Kind },
    #[error("it has {count} layers, and a component is one of {}", COMPONENT)]
    Layers { count: usize },
    /// The layer is no component.
    #[error("its layer is {found}, and a component is {}", COMPONENT)]
    Layer { found: Kind },
    #[error("the index names {count} manifests, and {most} are the most")]
    LargeIndex { count: usize, most: usize },
    /// None or several of its manifests are of a component.
    #[error(
        "the index names {count} manifests for wasm, and one is needed: name that manifest by its digest"
    )]
    Ambiguous { count: usize },
    /// An index in an index.
    #[error("the index leads to another index, and only one is followed")]
    Deep,
    /// A digest is none.
    #[error("the manifest has a wrong digest: none of sha256: and 64 hex digits")]
    Digest,
}

/// A media type that people know by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Known(&'static str),
    Missing,
    Unknown,
}

/// Media types of other artifacts in registries.
const KNOWN: [&str; 16] = [
    MANIFEST,
    INDEX,
    CONFIG,
    COMPONENT,
    "application/json",
    "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
    "application/vnd.cncf.helm.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.oci.empty.v1+json",
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "text/html",
];

impl Kind {
    fn of(media_type: &str) -> Self {
        match KNOWN.iter().find(|known| **known == media_type) {
            Some(known) => Self::Known(known),
            None if media_type.is_empty() => Self::Missing,
            None => Self::Unknown,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(name) => f.write_str(name),
            Self::Missing => f.write_str("without a media type"),
            Self::Unknown => f.write_str("of a media type that is not known"),
        }
    }
}

/// Where JSON ends to be what is expected. The parser's own message repeats what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonPlace {
    pub line: usize,
    pub column: usize,
}

impl From<&serde_json::Error> for JsonPlace {
    fn from(error: &serde_json::Error) -> Self {
        Self { line: error.line(), column: error.column() }
    }
}

impl fmt::Display for JsonPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": it is no such JSON at line {} column {}", self.line, self.column)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawManifest {
    #[serde(default)]
    schema_version: u64,
    media_type: Option<String>,
    config: Option<RawBlob>,
    #[serde(default)]
    layers: Vec<RawBlob>,
    #[serde(default)]
    manifests: Vec<RawBlob>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawBlob {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    platform: Option<RawPlatform>,
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub(crate) annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct RawPlatform {
    #[serde(default)]
    architecture: String,
}

impl RawBlob {
    pub(crate) fn new(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: ContentDigest::of(bytes).to_string(),
            size: bytes.len() as u64,
            platform: None,
            annotations: std::collections::BTreeMap::new(),
        }
    }

    pub(crate) fn blob(&self) -> Result<Blob, NotADigest> {
        Ok(Blob { digest: self.digest.parse()?, size_bytes: self.size })
    }
}

/// Reads a manifest. `kind` is the media type that the registry gave it; empty where that is not known, and then one
/// that does not name it itself goes by its shape.
pub fn read(bytes: &[u8], kind: &str) -> Result<Document, ManifestError> {
    let raw: RawManifest =
        serde_json::from_slice(bytes).map_err(|error| ManifestError::Json((&error).into()))?;
    let shape = if raw.manifests.is_empty() { MANIFEST } else { INDEX };
    let given = raw.media_type.as_deref().unwrap_or(if kind.is_empty() { shape } else { kind });
    if raw.schema_version != 2 {
        return Err(ManifestError::SchemaVersion { found: raw.schema_version });
    }
    match given.split(';').next().unwrap_or_default().trim() {
        MANIFEST => component(&raw),
        INDEX => chosen(&raw.manifests),
        found => Err(ManifestError::Kind { found: Kind::of(found) }),
    }
}

fn component(raw: &RawManifest) -> Result<Document, ManifestError> {
    let config = raw.config.as_ref().map(|config| config.media_type.as_str()).unwrap_or_default();
    if config != CONFIG {
        return Err(ManifestError::Config { found: Kind::of(config) });
    }
    let [layer] = raw.layers.as_slice() else {
        return Err(ManifestError::Layers { count: raw.layers.len() });
    };
    if layer.media_type != COMPONENT {
        return Err(ManifestError::Layer { found: Kind::of(&layer.media_type) });
    }
    layer.blob().map(Document::Component).map_err(|_| ManifestError::Digest)
}

fn chosen(manifests: &[RawBlob]) -> Result<Document, ManifestError> {
    if manifests.len() > MOST_ENTRIES {
        return Err(ManifestError::LargeIndex { count: manifests.len(), most: MOST_ENTRIES });
    }
    let is_wasm =
        |entry: &&RawBlob| entry.platform.as_ref().is_some_and(|platform| platform.architecture == "wasm");
    let of_wasm: Vec<&RawBlob> = manifests.iter().filter(is_wasm).collect();
    let entry = match (of_wasm.as_slice(), manifests) {
        (&[one], _) | ([], [one]) => one,
        (none_or_several, _) => return Err(ManifestError::Ambiguous { count: none_or_several.len() }),
    };
    if entry.media_type != MANIFEST {
        return Err(ManifestError::Deep);
    }
    entry.blob().map(Document::Index).map_err(|_| ManifestError::Digest)
}

/// A component's configuration and manifest. The same component is the same artifact, whenever it is made.
pub fn of_component(component: &[u8], imports: &[String], exports: &[String]) -> (Vec<u8>, Vec<u8>) {
    let layer = RawBlob::new(COMPONENT, component);
    let config = json!({
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [layer.digest],
        "component": { "imports": imports, "exports": exports },
    })
    .to_string()
    .into_bytes();
    let manifest = manifest(&RawBlob::new(CONFIG, &config), &[layer]);
    (config, manifest)
}

pub(crate) fn manifest(config: &RawBlob, layers: &[RawBlob]) -> Vec<u8> {
    json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers })
        .to_string()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut serde_json::Value), expected: &str) {
        let (_, manifest) = of_component(b"component", &[], &[]);
        let mut value: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
        change(&mut value);
        let outcome = match read(value.to_string().as_bytes(), MANIFEST) {
            Ok(document) => format!("{document:?}"),
            Err(error) => error.to_string(),
        };
        assert!(outcome.contains(expected), "{outcome} lacks {expected}");
    }

    #[test]
    fn a_component_is_one_layer_of_wasm_under_its_own_configuration() {
        check(|_| {}, "Component(Blob");
        check(
            |value| value["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json"),
            "another kind",
        );
        check(|value| value["config"] = json!(null), "its configuration is without a media type");
        check(|value| value["layers"] = json!([]), "it has 0 layers");
        check(
            |value| value["layers"][0]["mediaType"] = json!("text/plain"),
            "its layer is of a media type that is not known",
        );
        check(|value| value["layers"][0]["digest"] = json!("sha512:00"), "wrong digest");
        check(|value| value["schemaVersion"] = json!(1), "schemaVersion 1");
        check(
            |value| value["mediaType"] = json!("application/vnd.docker.distribution.manifest.v2+json"),
            "not a manifest of OCI",
        );
        check(
            |value| {
                let layer = value["layers"][0].clone();
                value["layers"] = json!([layer, layer]);
            },
            "it has 2 layers, and",
        );
    }

    fn index(entries: &serde_json::Value) -> String {
        let text = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": entries }).to_string();
        match read(text.as_bytes(), INDEX) {
            Ok(document) => format!("{document:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_index_leads_to_one_component_and_no_further() {
        let digest = ContentDigest::of(b"x").to_string();
        let entry = |kind: &str, architecture: &str| json!({ "mediaType": kind, "digest": digest, "size": 1, "platform": { "architecture": architecture } });
        assert!(index(&json!([entry(MANIFEST, "wasm"), entry(MANIFEST, "amd64")])).contains("Index(Blob"));
        assert!(index(&json!([entry(MANIFEST, "unknown")])).contains("Index(Blob"));
        assert!(index(&json!([])).contains("names 0 manifests"));
        assert!(
            index(&json!([entry(MANIFEST, "wasm"), entry(MANIFEST, "wasm")])).contains("names 2 manifests")
        );
        assert!(index(&json!([entry(INDEX, "wasm")])).contains("another index"));
        let many = vec![entry(MANIFEST, "wasm"); MOST_ENTRIES + 1];
        assert!(index(&json!(many)).contains("33 manifests, and 32 are the most"));
    }

    #[test]
    fn depth_is_no_way_to_the_end_of_the_stack() {
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(deep.as_bytes(), MANIFEST).is_err());
        let deep = deep.replace('x', "layers");
        assert!(matches!(read(deep.as_bytes(), MANIFEST), Err(ManifestError::Json(_))));
    }

    #[test]
    fn the_same_component_is_the_same_artifact() {
        assert_eq!(of_component(b"a", &[], &[]), of_component(b"a", &[], &[]));
    }
}
