//! Where plugins come from.

pub mod configmap;
mod unpack;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_core::id::{Name, Namespace, PluginName};

use crate::digest::{Digest, NotADigest};
use crate::grants::{self, Grants};

pub use unpack::{Packed, UnpackError};

/// Names one source: a ConfigMap by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId {
    /// Where it lives.
    pub namespace: Namespace,
    /// Its name there.
    pub name: Name,
}

impl SourceId {
    /// The source `namespace/name`.
    pub fn new(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self { namespace: Namespace::new(namespace), name: Name::new(name) }
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A plugin as its source declares it. Nothing of the component has been looked at.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Which plugin it is a version of.
    pub plugin: PluginName,
    /// Where it comes from.
    pub source: SourceId,
    /// When the source was made; decides which version is newer.
    pub created: Option<Timestamp>,
    /// The component.
    pub component: Packed,
    /// What the component's digest must be, where the source says.
    pub digest: Option<Digest>,
    /// Settings of the driver, a JSON object.
    pub settings: Arc<str>,
    /// What the driver may do.
    pub grants: Arc<Grants>,
    /// Oddities that do no harm, such as keys without meaning.
    pub warnings: Vec<String>,
}

/// Why a source declares no plugin that could be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The label is absent: this is not for us.
    #[error("the label {} is absent", configmap::KIND_LABEL)]
    NotAPlugin,
    /// The label names something else than a driver.
    #[error("label {} is {kind:?}; this host knows \"driver\"", configmap::KIND_LABEL)]
    UnknownKind {
        /// What it says.
        kind: String,
    },
    /// The plugin's name is empty.
    #[error("label {} is empty", configmap::NAME_LABEL)]
    EmptyName,
    /// No component at all.
    #[error("binaryData has neither {} nor {}", configmap::WASM, configmap::WASM_ZST)]
    NoComponent,
    /// The component stands in `data`, where bytes are text.
    #[error("{key} belongs into binaryData, not data")]
    ComponentAsText {
        /// Under this key.
        key: &'static str,
    },
    /// Two components.
    #[error("binaryData has both {} and {}", configmap::WASM, configmap::WASM_ZST)]
    TwoComponents,
    /// The digest is none.
    #[error("{} is wrong", configmap::SHA256)]
    Digest(#[source] NotADigest),
    /// The settings are no JSON object.
    #[error("{} is not a JSON object", configmap::SETTINGS)]
    Settings(#[source] Option<serde_json::Error>),
    /// Two grants documents.
    #[error("data has both {} and {}", configmap::GRANTS_YAML, configmap::GRANTS_JSON)]
    TwoGrants,
    /// The grants mean nothing.
    #[error("the grants are wrong")]
    Grants(#[source] grants::Error),
}
