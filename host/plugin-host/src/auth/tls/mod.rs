//! TLS of the connections of a Secret: the certificate that the host shows, and the servers that it trusts.
//!
//! A connection is made for one Secret then: requests of another Secret never ride on it.
//!
//! | module | has |
//! | --- | --- |
//! | `verifier` | checks of a server that ask no authority |

mod verifier;

use std::fmt;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, RootCertStore};

use super::credential::{Holder, digest};
use super::{SchemeError, SecretReader};
use verifier::WithoutAuthority;

/// The TLS that a Secret asks for.
#[derive(Clone)]
pub(crate) struct SecretTls {
    client: Option<Arc<CertifiedKey>>,
    trust: ServerTrust,
    digest: [u8; 32],
}

/// The servers that a Secret trusts.
#[derive(Clone)]
enum ServerTrust {
    /// Those that the system and the grants trust.
    Usual,
    /// Those with a certificate of these authorities, and no others.
    Authorities(Vec<CertificateDer<'static>>),
    /// The server with this certificate, whatever its name and its authority.
    Pinned(CertificateDer<'static>),
    /// Any, since the Secret says so and the grants allow it.
    Anyone,
}

/// The keys of the Secret that have each part; a list may be empty. Of a list the host uses the first key that the
/// Secret has.
#[derive(Clone, Copy)]
pub(super) struct TlsKeys<'a> {
    pub(super) certificate: &'a [String],
    pub(super) key: &'a [String],
    pub(super) authorities: &'a [String],
    pub(super) pinned: &'a [String],
    /// The key that says `true` for connections whose server is not checked.
    pub(super) insecure: &'a [String],
    /// Whether the grants allow them.
    pub(super) may_be_insecure: bool,
}

/// The reason why the Secret gives no TLS. No text quotes the Secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum TlsError {
    #[error("the Secret's key {0} has no certificate in PEM: put in what begins with BEGIN CERTIFICATE")]
    NoCertificate(String),
    #[error(
        "the Secret's key {0} has no private key in PEM: put in what begins with BEGIN PRIVATE KEY, without a passphrase"
    )]
    NoKey(String),
    #[error(
        "the Secret has a client certificate in {certificate} and no private key for it: add the key {key}"
    )]
    KeyMissing { certificate: String, key: String },
    #[error("the private key in the Secret's key {0} cannot be used for TLS: make an RSA or P-256 key")]
    KeyKind(String),
    #[error("certificate and private key in the Secret are not of one pair: put in both from the same place")]
    Pair,
    #[error("the Secret's key {0} has another value than true and false: correct it")]
    Insecure(String),
    #[error(
        "the Secret's key {0} asks for connections to servers that nobody has checked: put their authority into the Secret, or set insecure in the plugin's grants"
    )]
    InsecureNotGranted(String),
}

impl SecretTls {
    /// Reads the Secret. Returns `None` if it has nothing of it.
    pub(super) fn of(secret: SecretReader<'_>, keys: TlsKeys<'_>) -> Result<Option<Self>, SchemeError> {
        Self::read(secret, keys).map_err(|error| SchemeError::Unusable {
            message: "the certificates of a Secret cannot be used",
            error: error.to_string(),
        })
    }

    fn read(secret: SecretReader<'_>, keys: TlsKeys<'_>) -> Result<Option<Self>, TlsError> {
        let chain = certificates(secret, keys.certificate)?;
        let client = chain.map(|chain| certified(secret, keys, chain)).transpose()?;
        let pinned = certificates(secret, keys.pinned)?.and_then(|all| all.into_iter().next());
        let authorities = certificates(secret, keys.authorities)?;
        let trust = match (pinned, authorities) {
            _ if is_insecure(secret, keys)? => ServerTrust::Anyone,
            (Some(certificate), _) => ServerTrust::Pinned(certificate),
            (None, Some(authorities)) => ServerTrust::Authorities(authorities),
            (None, None) => ServerTrust::Usual,
        };
        if client.is_none() && matches!(trust, ServerTrust::Usual) {
            return Ok(None);
        }
        let lists = [keys.certificate, keys.key, keys.authorities, keys.pinned, keys.insecure];
        let values: Vec<_> = lists.map(|names| secret.present(names).unwrap_or_default()).into();
        let digest = digest(&values.iter().map(|value| value.as_slice()).collect::<Vec<_>>());
        Ok(Some(Self { client, trust, digest }))
    }

    /// Differs if any part does.
    pub(crate) fn digest(&self) -> [u8; 32] {
        self.digest
    }

    pub(super) fn holder(&self) -> Holder {
        Holder::of(&[&self.digest])
    }

    pub(super) fn has_client_certificate(&self) -> bool {
        self.client.is_some()
    }

    /// Builds the settings of connections. `usual`: the authorities of the system and of the grants.
    pub(crate) fn config(&self, usual: RootCertStore) -> Result<ClientConfig, rustls::Error> {
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &self.trust {
            ServerTrust::Usual => builder.with_root_certificates(usual),
            ServerTrust::Authorities(authorities) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(authorities.iter().cloned());
                builder.with_root_certificates(roots)
            }
            ServerTrust::Pinned(_) | ServerTrust::Anyone => {
                let pinned = match &self.trust {
                    ServerTrust::Pinned(certificate) => Some(certificate.clone()),
                    _ => None,
                };
                let verifier = Arc::new(WithoutAuthority::new(pinned, &provider));
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
        };
        Ok(match &self.client {
            Some(client) => {
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(client))))
            }
            None => builder.with_no_client_auth(),
        })
    }
}

impl fmt::Debug for SecretTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretTls")
            .field("has_client_certificate", &self.client.is_some())
            .finish_non_exhaustive()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Returns the certificates of a value. A blank value counts as absent.
fn certificates(
    secret: SecretReader<'_>,
    names: &[String],
) -> Result<Option<Vec<CertificateDer<'static>>>, TlsError> {
    let Some((name, value)) = secret.named(names) else { return Ok(None) };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&value).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(Some(all)),
        _ => Err(TlsError::NoCertificate(name.to_owned())),
    }
}

fn is_insecure(secret: SecretReader<'_>, keys: TlsKeys<'_>) -> Result<bool, TlsError> {
    let Some((name, value)) = secret.named(keys.insecure) else { return Ok(false) };
    match value.trim_ascii() {
        b"false" => Ok(false),
        b"true" if keys.may_be_insecure => Ok(true),
        b"true" => Err(TlsError::InsecureNotGranted(name.to_owned())),
        _ => Err(TlsError::Insecure(name.to_owned())),
    }
}

fn certified(
    secret: SecretReader<'_>,
    keys: TlsKeys<'_>,
    chain: Vec<CertificateDer<'static>>,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let first = |names: &[String]| names.first().cloned().unwrap_or_default();
    let (name, value) = secret
        .named(keys.key)
        .ok_or_else(|| TlsError::KeyMissing { certificate: first(keys.certificate), key: first(keys.key) })?;
    let key = PrivateKeyDer::from_pem_slice(&value).map_err(|_| TlsError::NoKey(name.to_owned()))?;
    let signing = provider().key_provider.load_private_key(key);
    let signing = signing.map_err(|_| TlsError::KeyKind(name.to_owned()))?;
    let certified = CertifiedKey::new(chain, signing);
    match certified.keys_match() {
        // What it cannot compare is compared by the server.
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
            Ok(Arc::new(certified))
        }
        Err(_) => Err(TlsError::Pair),
    }
}
