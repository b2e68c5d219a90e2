//! Where a component's bytes come from, and who has signed them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use machinist_artifacts::credentials::{Credentials, LoginsError};
use machinist_artifacts::manifest::{self, Document};
use machinist_artifacts::signature::cosign::Signed;
use machinist_artifacts::signature::{Keyring, SignatureError};
use machinist_artifacts::store::Store;
use machinist_artifacts::{ContentDigest, Limits, Logins, Registry, Target};
use tracing::{debug, info, warn};

use crate::bounds;
use crate::source::registries::LoopbackRegistries;
use crate::source::remote::{Origin, Remote};
use crate::source::{DIRECTORY, Declared, Encoding, Packed, SourceId};

/// Reads the Secrets with logins for registries.
pub trait PullSecrets: Send + Sync {
    /// What stands under `.dockerconfigjson` in this Secret, or why it cannot be had.
    fn read(&self, namespace: &str, name: &str) -> BoxFuture<'_, Result<Vec<u8>, String>>;
}

/// Whose signatures count, and where one is needed.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// One of these must have signed.
    pub keys: Keyring,
    /// Where what is not signed is refused.
    pub required: Required,
}

/// Where a signature is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Required {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In these namespaces.
    In(Vec<String>),
    /// Everywhere.
    Everywhere,
}

impl Required {
    /// The directory of plugins is as strict as this namespace.
    #[must_use]
    pub fn with_directory_as(self, namespace: &str) -> Self {
        match self {
            Self::In(mut namespaces) if namespaces.iter().any(|name| name == namespace) => {
                namespaces.push(DIRECTORY.to_owned());
                Self::In(namespaces)
            }
            other => other,
        }
    }
}

impl Trust {
    fn needs_signature(&self, source: &SourceId) -> bool {
        match &self.required {
            Required::Nowhere => false,
            Required::In(namespaces) => namespaces.iter().any(|name| name == source.namespace.as_str()),
            Required::Everywhere => true,
        }
    }
}

/// Why there are no bytes, or none that may be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to fetch {reference}")]
    Registry {
        reference: String,
        #[source]
        source: Box<machinist_artifacts::Error>,
    },
    #[error("failed to read Secret {name} for the registry: {detail}")]
    Secret { name: String, detail: String },
    #[error("Secret {name} has no logins for registries")]
    Logins {
        name: String,
        #[source]
        source: LoginsError,
    },
    #[error("plugins in this place must be signed, and it is not accepted")]
    Signature {
        #[source]
        source: SignatureError,
        /// One may be added to the artifact without a change here.
        is_beside_artifact: bool,
    },
    #[error("the signature beside it is not accepted")]
    GivenSignature(#[source] SignatureError),
}

impl Error {
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Registry { source, .. } => source.is_passing(),
            Self::Secret { .. } | Self::Logins { .. } => true,
            Self::Signature { is_beside_artifact, .. } => *is_beside_artifact,
            Self::GivenSignature(_) => false,
        }
    }
}

/// Gets components.
pub(crate) struct Fetcher {
    registry: Mutex<Option<Registry>>,
    limits: Limits,
    loopback: LoopbackRegistries,
    store: Store,
    secrets: Option<Arc<dyn PullSecrets>>,
    trust: Trust,
    /// Everything must be signed, whatever `trust` says.
    strict: Arc<AtomicBool>,
}

/// A component that nobody has looked into yet.
pub(crate) struct Fetched {
    pub(crate) packed: Packed,
    /// Whose signature beside its artifact was accepted.
    pub(crate) signer: Option<String>,
}

/// The note in the store with the signatures of a manifest.
const SIGNATURES: &str = "signatures";

impl Fetcher {
    pub(crate) fn new(
        folder: PathBuf,
        (limits, loopback): (Limits, LoopbackRegistries),
        secrets: Option<Arc<dyn PullSecrets>>,
        (trust, strict): (Trust, Arc<AtomicBool>),
    ) -> Self {
        let store = Store::new(folder);
        Self { registry: Mutex::default(), limits, loopback, store, secrets, trust, strict }
    }

    /// The component's bytes as they travel. Tells what a reference stands for as soon as that is known.
    pub(crate) async fn fetch(
        &self,
        declared: &Declared<Origin>,
        tell: impl Fn(ContentDigest),
    ) -> Result<Fetched, Error> {
        match &declared.component {
            Origin::Here(packed) => Ok(Fetched { packed: packed.clone(), signer: None }),
            Origin::Remote(remote) => {
                self.remote(&declared.source, declared.signature.is_none(), remote, tell).await
            }
        }
    }

    async fn remote(
        &self,
        source: &SourceId,
        is_unsigned_here: bool,
        remote: &Remote,
        tell: impl Fn(ContentDigest),
    ) -> Result<Fetched, Error> {
        let needs_signature = is_unsigned_here && self.needs_signature(source);
        let known = remote.pin.or(remote.reference.digest());
        if let Some((manifest, fetched)) =
            known.and_then(|manifest| Some((manifest, self.kept(manifest, needs_signature)?)))
        {
            tell(manifest);
            return Ok(fetched);
        }
        let target = remote.target();
        let failed = |error: machinist_artifacts::Error| {
            if let Some(said) = error.said() {
                let said = bounds::text(said, bounds::TEXT_BYTES);
                debug!(%source, reference = %target, said, "the registry refuses");
            }
            Error::Registry { reference: target.to_string(), source: Box::new(error) }
        };
        let login = self.login(source, remote).await?;
        let registry = self.registry().map_err(failed)?;
        let found = registry.resolve(&target, login.as_ref()).await.map_err(failed)?;
        let (manifest, blob) = (found.digest, &found.component);
        info!(%source, reference = %remote.reference, %manifest, "reference resolved");
        tell(manifest);
        let (signed, signer) = if needs_signature {
            let signed = registry.signatures(&target, manifest, login.as_ref()).await.map_err(failed)?;
            let signer = self.signer(manifest, &signed)?;
            (signed, Some(signer))
        } else {
            (Vec::new(), None)
        };
        let bytes = match self.store.find(blob.digest) {
            Some(bytes) => bytes,
            None => registry.component(&target, blob, login.as_ref()).await.map_err(failed)?,
        };
        if let Err(error) = self.keep(&found, &bytes, signed) {
            warn!(%source, error = %error, "the component is not kept for a start without its registry");
        }
        Ok(Fetched { packed: Packed::whole(Encoding::None, bytes), signer })
    }

    fn keep(&self, target: &Target, component: &[u8], signed: Vec<Signed>) -> std::io::Result<()> {
        self.store.keep(component)?;
        for document in &target.documents {
            self.store.keep(document)?;
        }
        if signed.is_empty() {
            return Ok(());
        }
        let text = |one: Signed| Some((String::from_utf8(one.payload).ok()?, one.signature));
        let signatures: Vec<(String, String)> = signed.into_iter().filter_map(text).collect();
        self.store.keep_note(target.digest, SIGNATURES, &serde_json::to_vec(&signatures)?)
    }

    /// What an earlier fetch has kept: from the digest through documents with the digests that they must have. Signatures are
    /// checked again, since keys may have gone.
    fn kept(&self, manifest: ContentDigest, needs_signature: bool) -> Option<Fetched> {
        let read = |digest| manifest::read(&self.store.find(digest)?, "").ok();
        let component = match read(manifest)? {
            Document::Component(blob) => blob,
            Document::Index(entry) => match read(entry.digest)? {
                Document::Component(blob) => blob,
                Document::Index(_) => return None,
            },
        };
        let signer = if needs_signature {
            let signatures: Vec<(String, String)> =
                serde_json::from_slice(&self.store.note(manifest, SIGNATURES)?).ok()?;
            let signed =
                |(payload, signature): (String, String)| Signed { payload: payload.into_bytes(), signature };
            let signed: Vec<Signed> = signatures.into_iter().map(signed).collect();
            Some(self.signer(manifest, &signed).ok()?)
        } else {
            None
        };
        let bytes = self.store.find(component.digest)?;
        Some(Fetched { packed: Packed::whole(Encoding::None, bytes), signer })
    }

    fn signer(&self, manifest: ContentDigest, signed: &[Signed]) -> Result<String, Error> {
        let key = self.trust.keys.check_artifact(manifest, signed);
        let key = key.map_err(|source| Error::Signature { source, is_beside_artifact: true })?;
        Ok(key.name().to_owned())
    }

    async fn login(&self, source: &SourceId, remote: &Remote) -> Result<Option<Credentials>, Error> {
        let Some(name) = &remote.pull_secret else { return Ok(None) };
        let of_secret = |detail: String| Error::Secret { name: name.clone(), detail };
        let secrets = self.secrets.as_ref();
        let secrets =
            secrets.ok_or_else(|| of_secret("this host reads no Secrets for plugins".to_owned()))?;
        let text = secrets.read(source.namespace.as_str(), name).await.map_err(of_secret)?;
        let logins = Logins::parse(&text).map_err(|source| Error::Logins { name: name.clone(), source })?;
        let login = logins.find(&remote.reference).cloned();
        let missing = || of_secret(format!("it has no login for {}", remote.reference.registry));
        login.ok_or_else(missing).map(Some)
    }

    /// Made when it is first needed: a host without artifacts needs no certificates.
    fn registry(&self) -> Result<Registry, machinist_artifacts::Error> {
        let mut slot = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(registry) = &*slot {
            return Ok(registry.clone());
        }
        let registry = Registry::new(self.limits.clone(), self.loopback.judge())?;
        Ok(slot.insert(registry).clone())
    }

    fn needs_signature(&self, source: &SourceId) -> bool {
        self.strict.load(Ordering::Acquire) || self.trust.needs_signature(source)
    }

    /// Whether [`Self::check`] reads the component's bytes.
    pub(crate) fn checks_bytes(&self, declared: &Declared<Origin>) -> bool {
        let is_checked = !self.trust.keys.is_empty() || self.needs_signature(&declared.source);
        declared.signature.is_some() && is_checked
    }

    /// Checks what stands beside the component, once it is unpacked. Answers who has signed; `signer` is who has signed its
    /// artifact.
    pub(crate) fn check(
        &self,
        declared: &Declared<Origin>,
        bytes: &[u8],
        signer: Option<String>,
    ) -> Result<Option<String>, Error> {
        let needs_signature = self.needs_signature(&declared.source);
        match &declared.signature {
            Some(signature) if self.checks_bytes(declared) => {
                let key = self.trust.keys.check_blob(bytes, signature).map_err(Error::GivenSignature)?;
                Ok(Some(key.name().to_owned()))
            }
            // Nobody has said whose signatures count.
            Some(_) => Ok(None),
            None if needs_signature && signer.is_none() => {
                Err(Error::Signature { source: SignatureError::Unsigned, is_beside_artifact: false })
            }
            None => Ok(signer),
        }
    }
}
