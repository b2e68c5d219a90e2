//! How a client proves to the token service that it is the one.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use zeroize::Zeroizing;

use super::ClientAuth;
use crate::auth::SchemeError;
use crate::auth::jwt::{Signer, UnusableKey};

/// An assertion is used at once.
const ASSERTION_LIFE: Duration = Duration::from_secs(600);

/// The thing that a client has.
pub(super) enum Proof {
    Secret(Zeroizing<String>, ClientAuth),
    /// Certificate and private key, both in PEM, in one text.
    Certificate(Zeroizing<String>),
    /// A token that somebody else signed, whom the service trusts.
    Token(Zeroizing<String>),
}

impl Proof {
    pub(super) fn value(&self) -> &str {
        let (Self::Secret(value, _) | Self::Certificate(value) | Self::Token(value)) = self;
        value
    }
}

/// The reason why a certificate of the Secret gives no assertion. No text quotes the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum CertificateError {
    #[error(
        "the client certificate in the Secret is no PEM with a certificate: put certificate and private key into one value"
    )]
    NoCertificate,
    #[error("the private key beside the client certificate in the Secret cannot sign: {0}")]
    Key(UnusableKey),
}

/// Signs the client's assertion. The header names the certificate by its digests, by which the service finds it.
pub(super) fn assertion(
    pem: &str,
    client: &str,
    audience: &str,
    now: Timestamp,
    nonce: u128,
) -> Result<Zeroizing<String>, SchemeError> {
    signed(pem, client, audience, now, nonce).map_err(|error| SchemeError::Unusable {
        message: "no assertion can be made with a Secret",
        error: error.to_string(),
    })
}

fn signed(
    pem: &str,
    client: &str,
    audience: &str,
    now: Timestamp,
    nonce: u128,
) -> Result<Zeroizing<String>, CertificateError> {
    let certificate =
        CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| CertificateError::NoCertificate)?;
    let signer = Signer::of_pem(pem).map_err(CertificateError::Key)?;
    let of = |algorithm| URL_SAFE_NO_PAD.encode(digest(algorithm, &certificate));
    let header = json!({ "x5t": of(&SHA1_FOR_LEGACY_USE_ONLY), "x5t#S256": of(&SHA256) });
    let claims = json!({
        "aud": audience,
        "iss": client,
        "sub": client,
        "jti": format!("{nonce:032x}"),
        "nbf": now.as_second(),
        "iat": now.as_second(),
        "exp": (now + ASSERTION_LIFE).as_second(),
    });
    signer.jwt(header, &claims).map_err(CertificateError::Key)
}
