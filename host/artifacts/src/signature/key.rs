//! Keys: those that are trusted, and the one that signs.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};

use crate::digest::ContentDigest;

/// Why a key cannot be used. Never shows a private key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file or folder cannot be read.
    #[error("failed to read {path}")]
    Read {
        /// The file or folder.
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// A file without a key.
    #[error("{name} has no public key: PEM with BEGIN PUBLIC KEY is needed, as in cosign.pub")]
    NoPublicKey {
        /// Where it was looked for.
        name: String,
    },
    /// A key of another kind.
    #[error("a key in {name} is not for ECDSA on P-256, the only kind that is known")]
    OtherKind { name: String },
    /// A private key among those that everybody may see.
    #[error("{name} is a private key: give public keys here, and keep that one to yourself")]
    Private { name: String },
    /// A folder without keys.
    #[error("{path} has no public keys: files that end with .pub or .pem are needed")]
    Empty { path: String },
    /// A private key that is encrypted.
    #[error(
        "the private key is encrypted with a password, and such keys are not read: sign with cosign, or make a key with \
         `machinist plugin keygen`"
    )]
    Encrypted,
    #[error(
        "no private key was found: PEM with BEGIN PRIVATE KEY is needed, as `machinist plugin keygen` makes it; one with BEGIN \
         EC PRIVATE KEY becomes one by `openssl pkcs8 -topk8 -nocrypt`"
    )]
    NoPrivateKey,
    /// A private key of another kind.
    #[error("the private key is not for ECDSA on P-256, the only kind that is known")]
    OtherPrivateKind,
    /// The system has no randomness, or the key is invalid.
    #[error("failed to sign")]
    Sign,
}

/// The bytes before the point in the public key's DER: algorithm ecPublicKey, curve P-256, 66 bytes of bits.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const POINT_BYTES: usize = 65;
/// Keys have 178 bytes as PEM.
const MOST_FILE_BYTES: u64 = 64 << 10;

/// A key that is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    point: Vec<u8>,
}

impl PublicKey {
    /// The name of its file, without the ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).verify(bytes, signature).is_ok()
    }
}

/// All keys that are trusted. One of them is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keyring(Vec<PublicKey>);

impl Keyring {
    /// The public keys in a text of PEM.
    pub fn parse(name: &str, pem: &str) -> Result<Self, KeyError> {
        let name = || name.to_owned();
        if pem.contains("PRIVATE KEY-----") {
            return Err(KeyError::Private { name: name() });
        }
        let mut keys = Vec::new();
        for key in SubjectPublicKeyInfoDer::pem_slice_iter(pem.as_bytes()) {
            let der = key.map_err(|_| KeyError::NoPublicKey { name: name() })?;
            let point = der
                .strip_prefix(&P256)
                .filter(|point| point.len() == POINT_BYTES && point.first() == Some(&4));
            let point = point.ok_or_else(|| KeyError::OtherKind { name: name() })?.to_vec();
            keys.push(PublicKey { name: name(), point });
        }
        if keys.is_empty() { Err(KeyError::NoPublicKey { name: name() }) } else { Ok(Self(keys)) }
    }

    /// The keys of a file, or of all files in a folder that end with `.pub` or `.pem`.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::Read { path: path.display().to_string(), source };
        if !std::fs::metadata(path).map_err(failed)?.is_dir() {
            return read_file(path);
        }
        let mut files: Vec<_> = std::fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<_, _>>())
            .map_err(failed)?;
        files.retain(|file| file.extension().is_some_and(|ending| ending == "pub" || ending == "pem"));
        files.sort();
        let mut keys = Vec::new();
        for file in files {
            keys.extend(read_file(&file)?.0);
        }
        if keys.is_empty() {
            return Err(KeyError::Empty { path: path.display().to_string() });
        }
        Ok(Self(keys))
    }

    /// True without any key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn signer(&self, bytes: &[u8], signature: &[u8]) -> Option<&PublicKey> {
        self.0.iter().find(|key| key.has_signed(bytes, signature))
    }
}

fn read_file(path: &Path) -> Result<Keyring, KeyError> {
    let failed = |source| KeyError::Read { path: path.display().to_string(), source };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MOST_FILE_BYTES {
        return Err(KeyError::NoPublicKey { name: path.display().to_string() });
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Keyring::parse(&name, &String::from_utf8_lossy(&bytes))
}

/// A key that signs.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    pkcs8: Option<Vec<u8>>,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", ContentDigest::of(self.pair.public_key().as_ref()))
    }
}

impl SigningKey {
    pub fn generate() -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
            .map_err(|_| KeyError::Sign)?;
        let mut key = Self::of(document.as_ref())?;
        key.pkcs8 = Some(document.as_ref().to_vec());
        Ok(key)
    }

    /// Reads a private key, PKCS #8 in PEM.
    pub fn parse(pem: &str) -> Result<Self, KeyError> {
        if pem.contains("BEGIN ENCRYPTED ") {
            return Err(KeyError::Encrypted);
        }
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| KeyError::NoPrivateKey)?;
        Self::of(der.secret_pkcs8_der())
    }

    fn of(pkcs8: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8, &SystemRandom::new());
        Ok(Self { pair: pair.map_err(|_| KeyError::OtherPrivateKind)?, pkcs8: None })
    }

    /// The public key, as `cosign.pub`.
    pub fn public_pem(&self) -> String {
        pem("PUBLIC KEY", &[&P256[..], self.pair.public_key().as_ref()].concat())
    }

    /// The private key of a fresh pair; `None` for one that was read.
    pub fn private_pem(&self) -> Option<String> {
        self.pkcs8.as_deref().map(|der| pem("PRIVATE KEY", der))
    }

    /// Signs the bytes themselves, as `cosign sign-blob` does: base64 of a DER signature.
    pub fn sign_blob(&self, bytes: &[u8]) -> Result<String, KeyError> {
        let signature = self.pair.sign(&SystemRandom::new(), bytes).map_err(|_| KeyError::Sign)?;
        Ok(BASE64_STANDARD.encode(signature.as_ref()))
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_trusted_key_is_named_with_the_next_step() {
        let say = |pem: &str| Keyring::parse("k", pem).expect_err("wrong").to_string();
        assert!(say("").contains("BEGIN PUBLIC KEY is needed"));
        assert!(say("-----BEGIN PUBLIC KEY-----\n???\n-----END PUBLIC KEY-----\n").contains("is needed"));
        assert!(say(include_str!("testdata/p384.pub")).contains("not for ECDSA on P-256"));
        assert!(say(include_str!("testdata/openssl.key")).contains("keep that one to yourself"));
        let two = include_str!("testdata/openssl.pub").repeat(2);
        assert_eq!(Keyring::parse("k", &two).expect("keys").len(), 2);
    }

    #[test]
    fn what_cannot_sign_is_named_and_not_shown() {
        let say = |pem: &str| SigningKey::parse(pem).expect_err("wrong").to_string();
        assert!(say("x").contains("plugin keygen"));
        assert!(say(include_str!("testdata/sec1.key")).contains("openssl pkcs8"));
        let encrypted =
            "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nx\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----";
        assert!(say(encrypted).contains("encrypted with a password"));
    }

    #[test]
    fn a_fresh_key_reads_back() {
        let key = SigningKey::generate().expect("a key");
        let read = SigningKey::parse(&key.private_pem().expect("fresh")).expect("a key");
        assert_eq!(read.public_pem(), key.public_pem());
        assert!(read.private_pem().is_none());
    }

    #[test]
    fn a_folder_has_the_keys_of_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Keyring::read(folder.path()).expect_err("empty").to_string().contains("has no public keys"));
        for name in ["a.pub", "b.pem"] {
            std::fs::write(folder.path().join(name), include_str!("testdata/openssl.pub")).expect("written");
        }
        std::fs::write(folder.path().join("README"), "not a key").expect("written");
        let ring = Keyring::read(folder.path()).expect("keys");
        assert_eq!(ring.0.iter().map(PublicKey::name).collect::<Vec<_>>(), ["a", "b"]);
        std::fs::write(folder.path().join("c.pub"), "broken").expect("written");
        assert!(
            Keyring::read(folder.path()).expect_err("broken").to_string().contains("c has no public key")
        );
        assert!(Keyring::read(Path::new("/nonexistent")).is_err());
    }
}
