//! Where a component's bytes come from, and what is signed beside them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use machinist_artifacts::credentials::{Credentials, LoginsError};
use machinist_artifacts::manifest::{self, Document};
use machinist_artifacts::signature::cosign::{Beside, Signed as SignedBeside};
use machinist_artifacts::store::Store;
use machinist_artifacts::{ContentDigest, Limits, Logins, Registry, Target};
use tracing::{debug, info, warn};

use crate::output_limits as bounds;
use crate::sources::remote::LoopbackRegistries;
use crate::sources::remote::{Origin, Remote};
use crate::sources::signatures::{self, Evidence, Rule, Signed, Trust, TrustError};
use crate::sources::{Declared, Encoding, Packed, PluginKind, SignedBundle, SourceId};

/// Reads the Secrets with logins for registries.
pub trait PullSecrets: Send + Sync {
    /// Returns the value of `.dockerconfigjson` in this Secret, or the reason that it cannot be read.
    fn read(&self, namespace: &str, name: &str) -> BoxFuture<'_, Result<Vec<u8>, String>>;
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
    #[error(transparent)]
    Trust(TrustError),
    /// The same, where signatures may be added in the registry without a change here.
    #[error(transparent)]
    TrustBesideArtifact(TrustError),
}

impl Error {
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Registry { source, .. } => source.is_passing(),
            Self::Secret { .. } | Self::Logins { .. } | Self::TrustBesideArtifact(_) => true,
            Self::Trust(_) => false,
        }
    }
}

pub(crate) struct Fetcher {
    registry: Mutex<Option<Registry>>,
    limits: Limits,
    loopback: LoopbackRegistries,
    store: Store,
    secrets: Option<Arc<dyn PullSecrets>>,
    trust: Trust,
    /// Whether what drivers may do has an upper bound beside their grants.
    has_ceiling: bool,
    /// Everything must be signed, whatever `trust` says.
    strict: Arc<AtomicBool>,
}

/// A component that is not parsed yet.
pub(crate) struct Fetched {
    pub(crate) packed: Packed,
    /// Signed documents beside its artifact.
    pub(crate) beside: BesideArtifact,
}

/// Signed documents beside an artifact in a registry, as far as they are needed.
#[derive(Clone, Default)]
pub(crate) struct BesideArtifact {
    /// The key by which its signature was accepted.
    signer: Option<String>,
    bundles: Vec<SignedBundle>,
}

/// The notes in the store with the signatures and the bundles of a manifest.
const SIGNATURES: &str = "signatures";
const BUNDLES: &str = "bundles";

impl Fetcher {
    pub(crate) fn new(
        folder: PathBuf,
        (limits, loopback): (Limits, LoopbackRegistries),
        secrets: Option<Arc<dyn PullSecrets>>,
        (trust, has_ceiling, strict): (Trust, bool, Arc<AtomicBool>),
    ) -> Self {
        let store = Store::new(folder);
        Self { registry: Mutex::default(), limits, loopback, store, secrets, trust, has_ceiling, strict }
    }

    /// Fetches the packed component. Reports the resolution of a reference as soon as it is known.
    pub(crate) async fn fetch(
        &self,
        declared: &Declared<Origin>,
        tell: impl Fn(ContentDigest),
    ) -> Result<Fetched, Error> {
        match &declared.component {
            Origin::Here(packed) => Ok(Fetched { packed: packed.clone(), beside: BesideArtifact::default() }),
            Origin::Remote(remote) => self.remote(declared, remote, tell).await,
        }
    }

    async fn remote(
        &self,
        declared: &Declared<Origin>,
        remote: &Remote,
        tell: impl Fn(ContentDigest),
    ) -> Result<Fetched, Error> {
        let source = &declared.source;
        let is_unsigned_here = declared.signature.is_none() && declared.bundle.is_none();
        let needs_signature = is_unsigned_here && self.needs_signature(source);
        let known = remote.pin.or(remote.reference.digest());
        if let Some((manifest, fetched)) =
            known.and_then(|manifest| Some((manifest, self.kept(declared, manifest, needs_signature)?)))
        {
            tell(manifest);
            return Ok(fetched);
        }
        let target = remote.target();
        let failed = |error: machinist_artifacts::Error| {
            if let Some(said) = error.server_text() {
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
        let mut kept = [(SIGNATURES, Vec::new()), (BUNDLES, Vec::new())];
        if needs_signature {
            for ((_, signed), what) in kept.iter_mut().zip([Beside::Signatures, Beside::Bundles]) {
                let found = registry.beside(what, &target, manifest, login.as_ref()).await;
                *signed = found.map_err(failed)?;
            }
        }
        let [(_, signatures), (_, bundles)] = &kept;
        let beside = match needs_signature {
            true => self.accepted(manifest, signatures, bundles)?,
            false => BesideArtifact::default(),
        };
        let bytes = match self.store.find(blob.digest) {
            Some(bytes) => bytes,
            None => registry.component(&target, blob, login.as_ref()).await.map_err(failed)?,
        };
        if let Err(error) = self.keep(&found, &bytes, kept) {
            warn!(%source, error = %error, "the component is not kept for a start without its registry");
        }
        Ok(Fetched { packed: Packed::whole(Encoding::None, bytes), beside })
    }

    fn keep(
        &self,
        target: &Target,
        component: &[u8],
        notes: [(&str, Vec<SignedBeside>); 2],
    ) -> std::io::Result<()> {
        self.store.keep(component)?;
        for document in &target.documents {
            self.store.keep(document)?;
        }
        for (note, signed) in notes.into_iter().filter(|(_, signed)| !signed.is_empty()) {
            let text = |one: SignedBeside| Some((String::from_utf8(one.payload).ok()?, one.signature));
            let signed: Vec<(String, String)> = signed.into_iter().filter_map(text).collect();
            self.store.keep_note(target.digest, note, &serde_json::to_vec(&signed)?)?;
        }
        Ok(())
    }

    fn noted(&self, manifest: ContentDigest, note: &str) -> Vec<SignedBeside> {
        let note = self.store.note(manifest, note);
        let signed: Vec<(String, String)> =
            note.and_then(|note| serde_json::from_slice(&note).ok()).unwrap_or_default();
        let signed = signed
            .into_iter()
            .map(|(text, signature)| SignedBeside { payload: text.into_bytes(), signature });
        signed.collect()
    }

    /// Returns the component of an earlier fetch: from the digest through documents with the expected digests.
    /// Signatures are checked again, since keys may have been removed; if they are not enough for the current
    /// declaration, the registry may have others.
    fn kept(
        &self,
        declared: &Declared<Origin>,
        manifest: ContentDigest,
        needs_signature: bool,
    ) -> Option<Fetched> {
        let read = |digest| manifest::read(&self.store.find(digest)?, "").ok();
        let component = match read(manifest)? {
            Document::Component(blob) => blob,
            Document::Index(entry) => match read(entry.digest)? {
                Document::Component(blob) => blob,
                Document::Index(_) => return None,
            },
        };
        let beside = if needs_signature {
            let [signatures, bundles] = [SIGNATURES, BUNDLES].map(|note| self.noted(manifest, note));
            self.accepted(manifest, &signatures, &bundles).ok()?
        } else {
            BesideArtifact::default()
        };
        let bytes = self.store.find(component.digest)?;
        if needs_signature {
            self.check(declared, (ContentDigest::of(&bytes), &bytes), beside.clone()).ok()?;
        }
        Some(Fetched { packed: Packed::whole(Encoding::None, bytes), beside })
    }

    /// Returns the signed documents that may count. An artifact with signatures of unknown keys only is an error at
    /// once, before a megabyte is fetched.
    fn accepted(
        &self,
        manifest: ContentDigest,
        signatures: &[SignedBeside],
        bundles: &[SignedBeside],
    ) -> Result<BesideArtifact, Error> {
        let text = |one: &SignedBeside| {
            let text = String::from_utf8(one.payload.clone()).ok()?;
            Some(SignedBundle { text, signature: one.signature.clone() })
        };
        let bundles: Vec<SignedBundle> = bundles.iter().filter_map(text).collect();
        match self.trust.keys.check_artifact(manifest, signatures) {
            Ok(key) => Ok(BesideArtifact { signer: Some(key.name().to_owned()), bundles }),
            // It is known by its bundle.
            Err(_) if !bundles.is_empty() => Ok(BesideArtifact { signer: None, bundles }),
            Err(source) => Err(Error::TrustBesideArtifact(TrustError::Required(source))),
        }
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
        declared.signature.is_some() && declared.bundle.is_none() && is_checked
    }

    /// Checks what is signed, once the component is unpacked.
    pub(crate) fn check(
        &self,
        declared: &Declared<Origin>,
        (digest, bytes): (ContentDigest, &[u8]),
        beside: BesideArtifact,
    ) -> Result<Signed, Error> {
        let rule = self.rule(declared);
        let is_of_artifact = declared.bundle.is_none() && declared.signature.is_none();
        let bundles = declared.bundle.clone().map_or(beside.bundles, |bundle| vec![bundle]);
        let evidence = Evidence {
            parts: &declared.parts(digest),
            bundles: &bundles,
            signature: declared.signature.as_deref(),
            component: bytes,
            signer: beside.signer,
        };
        signatures::judge(&self.trust.keys, rule, evidence).map_err(|error| match &declared.component {
            Origin::Remote(_) if is_of_artifact => Error::TrustBesideArtifact(error),
            Origin::Remote(_) | Origin::Here(_) => Error::Trust(error),
        })
    }

    fn rule(&self, declared: &Declared<Origin>) -> Rule {
        match (self.needs_signature(&declared.source), &declared.kind) {
            (false, _) => Rule::Free,
            (true, PluginKind::Driver) if self.has_ceiling => Rule::Component,
            // No ceiling says of which Machines a policy may decide.
            (true, PluginKind::Driver | PluginKind::HealthPolicy(_)) => Rule::Bundle,
        }
    }
}
