//! A client for registries that trusts nothing: every answer has a limit of size and time, and a digest to match.
//!
//! | module | what it does |
//! | --- | --- |
//! | `clients` | dials, and checks each address |
//! | `session` | requests to one repository with one login |
//! | `challenge` | reads how a registry wants to be authenticated |
//! | `hop` | which redirects are followed, and where the login may be sent |
//! | `push` | uploads blobs and manifests |
//! | `error` | the failures of a registry |
//! | `attacks` | attacks by hostile registries, and by servers that are no registries |
//! | `fuzz` | for `tests/fuzz` alone: reads answers of registries without a connection |

#[cfg(test)]
mod attacks;
mod challenge;
mod clients;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod hop;
mod push;
mod session;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;

use crate::credentials::Credentials;
use crate::digest::ContentDigest;
use crate::manifest::{self, Blob, Document};
use crate::reference::Reference;
use crate::signature::cosign::{self, Beside};

use clients::Clients;
pub use clients::Judge;
pub use error::Error;
pub use hop::RedirectError;
use session::{Scope, Session};

/// How long a registry may take, and how much it may send.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The time limit for a connection.
    pub connect: Duration,
    /// Until the next bytes of an answer.
    pub silence: Duration,
    /// For a manifest or a token.
    pub question: Duration,
    /// For a whole component.
    pub transfer: Duration,
    /// Of a manifest, a token, a signature.
    pub document_bytes: u64,
    /// Of a component, as large as one in parts can be.
    pub component_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(20),
            question: Duration::from_secs(30),
            // 64 MiB over a line of 2 Mbit/s.
            transfer: Duration::from_secs(300),
            // Manifests of components have 600 bytes.
            document_bytes: 256 << 10,
            component_bytes: 64 << 20,
        }
    }
}

/// Asks registries. A clone shares its connections.
#[derive(Clone, Debug)]
pub struct Registry {
    clients: Clients,
    limits: Limits,
}

#[derive(Clone, Debug)]
pub struct Target {
    /// The digest of the reference: of a manifest or an index.
    pub digest: ContentDigest,
    pub component: Blob,
    /// The documents that lead from the digest to the component: the manifest, and before it the index if there is one.
    pub documents: Vec<Bytes>,
}

/// A component from a registry.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// Digest of its manifest.
    pub manifest: ContentDigest,
    /// Digest of the component.
    pub layer: ContentDigest,
    pub component: Bytes,
}

impl Registry {
    /// A client with these limits, for registries at the addresses that the judge lets pass.
    pub fn new(limits: Limits, judge: Judge) -> Result<Self, Error> {
        Ok(Self { clients: Clients::new(&limits, judge)?, limits })
    }

    /// Resolves a reference to a digest and a component. An index is followed once.
    pub async fn resolve(
        &self,
        reference: &Reference,
        credentials: Option<&Credentials>,
    ) -> Result<Target, Error> {
        let session = self.session(reference, credentials, Scope::Pull)?;
        let (digest, first, document) = session.manifest(reference).await?;
        match document {
            Document::Component(component) => Ok(Target { digest, component, documents: vec![first] }),
            Document::Index(entry) => {
                let inner = reference.at(entry.digest);
                match session.manifest(&inner).await? {
                    (_, second, Document::Component(component)) => {
                        Ok(Target { digest, component, documents: vec![first, second] })
                    }
                    (_, _, Document::Index(_)) => Err(Error::Manifest {
                        reference: inner.to_string(),
                        source: manifest::ManifestError::Deep,
                    }),
                }
            }
        }
    }

    /// Resolves a reference and pulls its component.
    pub async fn pull(
        &self,
        reference: &Reference,
        credentials: Option<&Credentials>,
    ) -> Result<Pulled, Error> {
        let target = self.resolve(reference, credentials).await?;
        let component = self.component(reference, &target.component, credentials).await?;
        Ok(Pulled { manifest: target.digest, layer: target.component.digest, component })
    }

    /// The bytes of a component that was resolved.
    pub async fn component(
        &self,
        reference: &Reference,
        blob: &Blob,
        credentials: Option<&Credentials>,
    ) -> Result<Bytes, Error> {
        let session = self.session(reference, credentials, Scope::Pull)?;
        session.blob(blob, self.limits.component_bytes, self.limits.transfer).await
    }

    /// Reads the signatures that cosign keeps beside a manifest; empty when nobody has signed it.
    pub async fn signatures(
        &self,
        reference: &Reference,
        manifest: ContentDigest,
        credentials: Option<&Credentials>,
    ) -> Result<Vec<cosign::Signed>, Error> {
        self.beside(Beside::Signatures, reference, manifest, credentials).await
    }

    /// Returns the signed documents beside a manifest; empty when there are none.
    pub async fn beside(
        &self,
        beside: Beside,
        reference: &Reference,
        manifest: ContentDigest,
        credentials: Option<&Credentials>,
    ) -> Result<Vec<cosign::Signed>, Error> {
        let session = self.session(reference, credentials, Scope::Pull)?;
        let at = reference.tagged(beside.tag(manifest));
        let (_, bytes, _) = match session.document(&at).await {
            Ok(found) => found,
            Err(Error::Absent { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let wrong = |source| Error::Signatures { reference: at.to_string(), source };
        let mut signed = Vec::new();
        for place in cosign::places(&bytes, beside).map_err(wrong)? {
            let limit = self.limits.document_bytes;
            let payload = session.blob(&place.payload, limit, self.limits.question).await?;
            signed.push(cosign::Signed { payload: payload.to_vec(), signature: place.signature });
        }
        Ok(signed)
    }

    /// Brings a component there. The same component again changes nothing. Answers its manifest's digest.
    pub async fn push(
        &self,
        reference: &Reference,
        component: &Bytes,
        imports: &[String],
        exports: &[String],
        credentials: Option<&Credentials>,
    ) -> Result<ContentDigest, Error> {
        let (config, manifest) = manifest::of_component(component, imports, exports);
        let session = self.session(reference, credentials, Scope::Push)?;
        session.put_blob(component.clone()).await?;
        session.put_blob(config.into()).await?;
        session.put_manifest(reference, manifest.into()).await
    }

    /// Adds a signature to those that are there.
    pub async fn push_signature(
        &self,
        reference: &Reference,
        manifest: ContentDigest,
        signed: &cosign::Signed,
        credentials: Option<&Credentials>,
    ) -> Result<(), Error> {
        self.push_beside(Beside::Signatures, reference, manifest, signed, credentials).await
    }

    /// Adds one to what is kept beside a manifest.
    pub async fn push_beside(
        &self,
        beside: Beside,
        reference: &Reference,
        manifest: ContentDigest,
        signed: &cosign::Signed,
        credentials: Option<&Credentials>,
    ) -> Result<(), Error> {
        let mut all = self.beside(beside, reference, manifest, credentials).await?;
        if all.contains(signed) {
            return Ok(());
        }
        if beside == Beside::Bundles {
            // Of an artifact that is signed again and again, the last ones count.
            let surplus = (all.len() + 1).saturating_sub(cosign::MOST_SIGNATURES);
            all.drain(..surplus);
        }
        all.push(signed.clone());
        let session = self.session(reference, credentials, Scope::Push)?;
        let (config, document) = cosign::document(&all, beside);
        for signed in &all {
            session.put_blob(signed.payload.clone().into()).await?;
        }
        session.put_blob(config.into()).await?;
        let at = reference.tagged(beside.tag(manifest));
        session.put_manifest(&at, document.into()).await.map(drop)
    }

    fn session(
        &self,
        reference: &Reference,
        credentials: Option<&Credentials>,
        scope: Scope,
    ) -> Result<Session<'_>, Error> {
        Session::new(&self.clients, reference, credentials.cloned(), scope, &self.limits)
    }
}
