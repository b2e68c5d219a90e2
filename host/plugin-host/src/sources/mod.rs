//! Where plugins come from.
//!
//! | module | what it does |
//! | --- | --- |
//! | `configmap`, `keys` | a plugin in a ConfigMap, and the names in it |
//! | `parts`, `part_store` | components in several ConfigMaps, and the parts that are there |
//! | `remote` | components in OCI registries, and the addresses at which registries are asked |
//! | `fetch` | gets the bytes of a component, and its signatures |
//! | `encoding` | packed components, unpacked within a limit |
//! | `age` | the order of a plugin's versions |
//! | `release` | `rollout.yaml`: how a version comes to serve |
//! | `status` | the annotation `machinist.dev/status`, written and read back |
//! | `signatures` | which signatures a plugin needs, counters, the grants ceiling |

pub(crate) mod age;
pub(crate) mod configmap;
pub(crate) mod encoding;
pub(crate) mod fetch;
pub(crate) mod keys;
pub(crate) mod part_store;
pub(crate) mod parts;
pub(crate) mod release;
pub(crate) mod remote;
pub(crate) mod signatures;
pub(crate) mod status;

use std::fmt;
use std::sync::Arc;

use machinist_artifacts::ContentDigest;
use machinist_artifacts::bundle::Parts;
use machinist_core::value::digest::{DriverDigest, NotADigest};
use machinist_core::value::id::{Name, Namespace, PluginName};

use crate::grants::Grants;
use crate::health_policy::{PolicyTerms, PolicyTermsError};
use crate::sources::keys::PluginKeys;
use crate::sources::release::{Release, ReleaseError};
use crate::target;

pub(crate) use age::Age;
pub(crate) use encoding::UnpackError;
pub use encoding::{Encoding, Packed};

/// The namespace of plugins in a folder. No Kubernetes namespace can have this name.
pub(crate) const DIRECTORY: &str = "directory:";

/// Names one source: a ConfigMap by namespace and name, or a plugin of the directory by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId {
    pub namespace: Namespace,
    pub name: Name,
}

impl SourceId {
    pub fn new(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self { namespace: Namespace::new(namespace), name: Name::new(name) }
    }

    /// The plugin `name` of the directory.
    pub fn in_directory(name: impl AsRef<str>) -> Self {
        Self::new(DIRECTORY, name)
    }

    /// True for a plugin of the directory, which has no object in the API server.
    pub fn is_in_directory(&self) -> bool {
        self.namespace.as_str() == DIRECTORY
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_in_directory() {
            return write!(f, "{DIRECTORY}{}", self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Whether a plugin can be called so: what the value of a label may be, if it is not empty.
pub fn is_name(name: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// The component of a source.
#[derive(Clone, Debug)]
pub enum Content {
    Whole(Packed),
    /// The names of its parts.
    Parts(parts::Index),
    /// Where in a registry it is.
    Remote(remote::Remote),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginKind {
    /// It manages machines of a cloud.
    Driver,
    /// It says which Machines are healthy.
    HealthPolicy(PolicyTerms),
}

impl PluginKind {
    pub fn terms(&self) -> Option<&PolicyTerms> {
        match self {
            Self::Driver => None,
            Self::HealthPolicy(terms) => Some(terms),
        }
    }

    pub(crate) fn contract(&self) -> Contract {
        match self {
            Self::Driver => Contract::Driver,
            Self::HealthPolicy(_) => Contract::HealthPolicy,
        }
    }

    /// As the label has it.
    pub fn name(&self) -> &'static str {
        self.contract().label()
    }
}

/// The contract of a component, and so the role of its plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contract {
    /// It manages machines of a cloud.
    Driver,
    /// It says which Machines are healthy.
    HealthPolicy,
}

impl Contract {
    /// The value of the label on a ConfigMap with such a component.
    pub fn label(self) -> &'static str {
        match self {
            Self::Driver => PluginKeys::DRIVER_KIND,
            Self::HealthPolicy => PluginKeys::POLICY_KIND,
        }
    }

    /// The interface that such a component exports.
    pub fn export(self) -> &'static str {
        match self {
            Self::Driver => "machinist:provider/driver",
            Self::HealthPolicy => "machinist:policy/policy",
        }
    }
}

/// Tells plugins apart: a driver and a policy of one name are two plugins, and neither takes the other's place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PluginKey {
    pub(crate) name: PluginName,
    pub(crate) role: Contract,
}

impl fmt::Display for PluginKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// Reads a digest that a person wrote, as core reads it: with or without its prefix, digits of either case.
pub(crate) fn digest(text: &str) -> Result<ContentDigest, NotADigest> {
    text.parse::<DriverDigest>().map(of_core)
}

pub(crate) fn of_core(digest: DriverDigest) -> ContentDigest {
    ContentDigest::from_bytes(digest.bytes())
}

/// A plugin as its source declares it. Nothing of the component has been looked at.
#[derive(Clone, Debug)]
pub struct Declared<C = Packed> {
    /// Which plugin it is a version of.
    pub plugin: PluginName,
    /// Where it comes from.
    pub source: SourceId,
    /// Decides which version is newer.
    pub age: Age,
    pub kind: PluginKind,
    /// The component, or what is known of it.
    pub component: C,
    /// The expected digest of the component, if the source names one.
    pub digest: Option<ContentDigest>,
    /// A signature over the component, as `cosign sign-blob` makes it.
    pub signature: Option<String>,
    /// A signature over the component and the texts beside it.
    pub bundle: Option<SignedBundle>,
    /// The texts that are deployed beside the component, byte for byte as a bundle has them.
    pub texts: Texts,
    /// Settings of the driver, a JSON object.
    pub settings: Arc<str>,
    /// The grants of the driver.
    pub grants: Arc<Grants>,
    /// How it comes to serve, unless at once.
    pub rollout: Option<Arc<Release>>,
    /// Oddities that do no harm, such as keys without meaning.
    pub warnings: Vec<String>,
}

/// A bundle and a signature over its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBundle {
    /// Where the bundle ends, blanks and ends of lines are passed over: editors and YAML add them.
    pub text: String,
    /// As `cosign sign-blob` makes it.
    pub signature: String,
}

/// Digests of the texts beside a component. `None`: there is no such text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    pub grants: Option<ContentDigest>,
    pub settings: Option<ContentDigest>,
    /// Of the terms of a policy.
    pub terms: Option<ContentDigest>,
}

impl<C> Declared<C> {
    /// Returns the parts that a bundle of this declaration covers, when this is its component.
    pub fn parts(&self, component: ContentDigest) -> Parts {
        Parts {
            kind: self.kind.name().to_owned(),
            name: self.plugin.to_string(),
            component,
            grants: self.texts.grants,
            settings: self.texts.settings,
            terms: self.texts.terms,
        }
    }

    /// The same with another component.
    pub fn with<D>(self, component: D) -> Declared<D> {
        let Self {
            plugin,
            source,
            age,
            kind,
            component: _,
            digest,
            signature,
            bundle,
            texts,
            settings,
            grants,
            rollout,
            warnings,
        } = self;
        Declared {
            plugin,
            source,
            age,
            kind,
            component,
            digest,
            signature,
            bundle,
            texts,
            settings,
            grants,
            rollout,
            warnings,
        }
    }

    #[cfg(test)]
    pub(crate) fn bare(source: SourceId, component: C) -> Self {
        Self {
            plugin: "plugin".into(),
            source,
            age: Age::default(),
            kind: PluginKind::Driver,
            component,
            digest: None,
            signature: None,
            bundle: None,
            texts: Texts::default(),
            settings: Arc::from("{}"),
            grants: Arc::default(),
            rollout: None,
            warnings: Vec::new(),
        }
    }
}

/// Why a source declares no plugin that could be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the label {} is absent", PluginKeys::KIND_LABEL)]
    NotAPlugin,
    #[error("label {} is {kind:?}; this host knows \"driver\" and \"health-policy\"", PluginKeys::KIND_LABEL)]
    UnknownKind { kind: String },
    #[error("label {} is empty", PluginKeys::NAME_LABEL)]
    EmptyName,
    #[error(
        "binaryData has neither plugin.wasm nor plugin.wasm.gz nor plugin.wasm.zst, and data has no {}: \
         `machinist plugin push` brings the component",
        PluginKeys::INDEX_KEY
    )]
    NoComponent,
    #[error("{key} belongs into binaryData, not data")]
    ComponentAsText { key: &'static str },
    #[error("there is both {first} and {second}: keep one of them")]
    TwoComponents { first: &'static str, second: &'static str },
    #[error("{} belongs into data, not binaryData", PluginKeys::INDEX_KEY)]
    IndexAsBytes,
    #[error("{} is wrong", PluginKeys::INDEX_KEY)]
    Index(#[source] parts::IndexError),
    #[error("{} is wrong", PluginKeys::OCI_KEY)]
    Reference(#[source] machinist_artifacts::reference::ReferenceError),
    #[error(
        "{} needs {} beside it, the digest of the whole component",
        PluginKeys::INDEX_KEY,
        PluginKeys::SHA256
    )]
    PartsWithoutDigest,
    #[error("it is a part of a plugin, not a plugin")]
    IsPart,
    #[error(
        "there is {present} without {absent}: they belong together, as `machinist plugin sign` writes them"
    )]
    HalfBundle {
        present: &'static str,
        /// The key that is missing.
        absent: &'static str,
    },
    #[error("{} is wrong", PluginKeys::SHA256)]
    Digest(#[source] NotADigest),
    #[error("{} is not a JSON object", PluginKeys::SETTINGS)]
    Settings(#[source] Option<serde_json::Error>),
    #[error("data has both {} and {}", PluginKeys::TERMS_YAML, PluginKeys::TERMS_JSON)]
    TwoTerms,
    #[error("{} is wrong", PluginKeys::TERMS_YAML)]
    Terms(#[source] PolicyTermsError),
    #[error(
        "{key} beside a health policy: a policy reaches nothing, so there is nothing to grant; limits belong into {}",
        PluginKeys::TERMS_YAML
    )]
    GrantsOfPolicy { key: &'static str },
    #[error("data has both {} and {}", PluginKeys::GRANTS_YAML, PluginKeys::GRANTS_JSON)]
    TwoGrants,
    #[error("{} is wrong", PluginKeys::ROLLOUT_YAML)]
    Release(#[source] ReleaseError),
    #[error(
        "{} beside a health policy: let it begin with mode observe in {}",
        PluginKeys::ROLLOUT_YAML,
        PluginKeys::TERMS_YAML
    )]
    ReleaseOfPolicy,
    #[error("the grants are wrong")]
    Grants(#[source] target::Error),
}
