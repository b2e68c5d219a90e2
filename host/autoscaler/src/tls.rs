//! Certificates: the server's own, and those that clients must have. They are read for each connection, so that renewed
//! files count without a restart; an autoscaler keeps its connection, so there are few.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// Files in PEM format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, and those between it and its issuer.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Issuers of the certificates that clients must have.
    pub client_ca: PathBuf,
}

/// Why files are not usable.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} has no {what} in PEM format", path.display())]
    Missing { path: PathBuf, what: &'static str },
    #[error("failed to use {} with its key {}", certificate.display(), key.display())]
    Unusable {
        certificate: PathBuf,
        key: PathBuf,
        #[source]
        source: rustls::Error,
    },
    #[error("failed to use the issuers in {}: {problem}", path.display())]
    Issuers { path: PathBuf, problem: String },
}

impl TlsFiles {
    pub(crate) async fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let (certificate, key, client_ca) =
            (read(&self.certificate).await?, read(&self.key).await?, read(&self.client_ca).await?);
        let chain = certificates(&self.certificate, &certificate)?;
        let missing = |_| TlsError::Missing { path: self.key.clone(), what: "private key" };
        let private_key = PrivateKeyDer::from_pem_slice(&key).map_err(missing)?;
        let issuers = |problem: String| TlsError::Issuers { path: self.client_ca.clone(), problem };
        let mut roots = RootCertStore::empty();
        for issuer in certificates(&self.client_ca, &client_ca)? {
            roots.add(issuer).map_err(|error| issuers(error.to_string()))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| issuers(error.to_string()))?;
        let unusable = |source| TlsError::Unusable {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            source,
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, private_key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    tokio::fs::read(path).await.map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let missing = || TlsError::Missing { path: path.to_owned(), what: "certificate" };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(missing)
}
