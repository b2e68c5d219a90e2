//! Signs JSON Web Tokens (RFC 7519).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use zeroize::Zeroizing;

/// The reason why a key cannot sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::auth) enum UnusableKey {
    #[error("it is no private key in PEM")]
    NotPem,
    #[error(
        "it is no RSA key of 2048 to 4096 bits and no P-256 key in PKCS#8 (`openssl pkcs8 -topk8 -nocrypt` makes PKCS#8 of an EC key)"
    )]
    Kind,
    #[error("signing with it fails: make another one")]
    Signing,
}

pub(in crate::auth) enum Signer {
    Rsa(Box<RsaKeyPair>),
    P256(Box<EcdsaKeyPair>),
}

impl Signer {
    /// Reads a key in PKCS#8, or an RSA key in PKCS#1.
    pub(in crate::auth) fn of_pem(pem: &str) -> Result<Self, UnusableKey> {
        match PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| UnusableKey::NotPem)? {
            PrivateKeyDer::Pkcs1(der) => {
                let rsa = RsaKeyPair::from_der(der.secret_pkcs1_der()).map_err(|_| UnusableKey::Kind)?;
                Ok(Self::Rsa(Box::new(rsa)))
            }
            PrivateKeyDer::Pkcs8(der) => {
                let der = der.secret_pkcs8_der();
                if let Ok(rsa) = RsaKeyPair::from_pkcs8(der) {
                    return Ok(Self::Rsa(Box::new(rsa)));
                }
                let random = SystemRandom::new();
                let ecdsa = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random)
                    .map_err(|_| UnusableKey::Kind)?;
                Ok(Self::P256(Box::new(ecdsa)))
            }
            _ => Err(UnusableKey::Kind),
        }
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
        }
    }

    /// Returns the token in its compact form. `header`: the fields that name the key.
    pub(in crate::auth) fn jwt(
        &self,
        mut header: Value,
        claims: &Value,
    ) -> Result<Zeroizing<String>, UnusableKey> {
        header["alg"] = json!(self.algorithm());
        header["typ"] = json!("JWT");
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(claims));
        let signature = self.sign(signed.as_bytes()).ok_or(UnusableKey::Signing)?;
        Ok(Zeroizing::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }

    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).ok()?;
                Some(signature)
            }
            Self::P256(key) => key.sign(&random, message).ok().map(|signature| signature.as_ref().to_vec()),
        }
    }
}
