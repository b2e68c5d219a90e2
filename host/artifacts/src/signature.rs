//! Signatures by ECDSA keys on P-256, as cosign makes and checks them with `--key`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `key` | trusted keys, and the key that signs |
//! | `cosign` | where cosign stores signatures of artifacts |

pub mod cosign;
mod key;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

pub use key::{KeyError, Keyring, PublicKey, SigningKey};

/// Why a signature does not count.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// No signature at all.
    #[error("it is not signed: sign it with `machinist plugin sign` or `cosign sign --key`")]
    Unsigned,
    /// No bytes of a signature.
    #[error("the signature is not base64")]
    Encoding,
    /// By none of the keys, or over something else.
    #[error("none of the {keys} trusted keys has made {}", if *signatures == 1 { "its signature" } else { "one of its signatures" })]
    Untrusted {
        /// How many keys were tried.
        keys: usize,
        /// How many signatures there are.
        signatures: usize,
    },
    /// A good signature of another artifact.
    #[error("the signature is of {found}, not of this artifact")]
    OfAnother {
        /// The digest that the payload names.
        found: String,
    },
    /// The payload is none.
    #[error("what was signed is not a payload of cosign")]
    Payload,
}

/// More bytes than a signature can have: DER of two numbers of 32 bytes is at most 72.
const MOST_SIGNATURE_BYTES: usize = 200;

/// The bytes of a signature in a text.
pub(crate) fn decoded(text: &str) -> Result<Vec<u8>, SignatureError> {
    let text = text.trim();
    if text.len() > MOST_SIGNATURE_BYTES {
        return Err(SignatureError::Encoding);
    }
    BASE64_STANDARD.decode(text).map_err(|_| SignatureError::Encoding)
}

impl Keyring {
    /// Checks a signature over the bytes themselves, as `cosign sign-blob` makes it. Answers the key that made it.
    pub fn check_blob(&self, bytes: &[u8], signature: &str) -> Result<&PublicKey, SignatureError> {
        let signature = decoded(signature)?;
        self.signer(bytes, &signature).ok_or(SignatureError::Untrusted { keys: self.len(), signatures: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_signed_by_its_key_and_by_no_other() {
        let (key, other) = (SigningKey::generate().expect("a key"), SigningKey::generate().expect("a key"));
        let ring = Keyring::parse("mine", &key.public_pem()).expect("keys");
        let signature = key.sign_blob(b"component").expect("signed");
        assert_eq!(ring.check_blob(b"component", &signature).expect("good").name(), "mine");
        let say =
            |bytes: &[u8], signature: &str| ring.check_blob(bytes, signature).expect_err("bad").to_string();
        assert!(say(b"another", &signature).contains("none of the 1 trusted keys"));
        assert!(say(b"component", &other.sign_blob(b"component").expect("signed")).contains("none of the 1"));
        assert!(say(b"component", "?").contains("not base64"));
        assert!(say(b"component", &"A".repeat(10_000)).contains("not base64"));
        assert!(say(b"component", "").contains("none of the 1"));
    }

    /// Made by OpenSSL: `openssl dgst -sha256 -sign`, the same as what `cosign sign-blob` writes.
    #[test]
    fn signatures_of_others_are_good() {
        let ring = Keyring::parse("openssl", include_str!("signature/testdata/openssl.pub")).expect("keys");
        let signature = include_str!("signature/testdata/component.sig");
        assert!(ring.check_blob(b"component", signature).is_ok());
        let key = SigningKey::parse(include_str!("signature/testdata/openssl.key")).expect("a key");
        assert!(ring.check_blob(b"component", &key.sign_blob(b"component").expect("signed")).is_ok());
    }
}
