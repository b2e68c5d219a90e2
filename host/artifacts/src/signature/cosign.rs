//! How cosign keeps signatures of artifacts: a manifest under the tag `sha256-DIGEST.sig` in the same repository, a
//! layer for each signature with what was signed, and the signature as the layer's annotation. Bundles are kept in the
//! same way, under `sha256-DIGEST.bundle`. Pure.

use serde::Deserialize;
use serde_json::json;

use super::{Keyring, PublicKey, SignatureError, SigningKey, decoded};
use crate::digest::ContentDigest;
use crate::manifest::{self, Blob, JsonPlace, RawBlob};
use crate::reference::Reference;
use crate::signature::KeyError;

/// A kind of signed document beside a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Signatures over the digest of the manifest.
    Signatures,
    /// Bundles with their signatures, see [`crate::bundle`].
    Bundles,
}

impl Beside {
    /// The media type of what was signed.
    fn media_type(self) -> &'static str {
        match self {
            Self::Signatures => "application/vnd.dev.cosign.simplesigning.v1+json",
            Self::Bundles => "application/vnd.in-toto+json",
        }
    }

    /// The tag under which they are.
    pub fn tag(self, manifest: ContentDigest) -> String {
        let ending = match self {
            Self::Signatures => "sig",
            Self::Bundles => "bundle",
        };
        format!("sha256-{}.{ending}", manifest.hex())
    }
}

/// The annotation with the signature.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// The type of a payload.
const TYPE: &str = "cosign container image signature";
/// More than anybody needs, and few enough to read.
pub(crate) const MOST_SIGNATURES: usize = 16;

/// A signature with what it signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The bytes that were signed.
    pub payload: Vec<u8>,
    /// base64 of the signature.
    pub signature: String,
}

/// A signature whose payload is still to be read.
pub(crate) struct Place {
    pub(crate) payload: Blob,
    pub(crate) signature: String,
}

/// Why a document has no signatures.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("it is no manifest{0}")]
    Json(JsonPlace),
    #[error("it has {count} layers, and {MOST_SIGNATURES} are the most")]
    TooMany { count: usize },
    /// A digest is none.
    #[error("it has a wrong digest")]
    Digest,
}

#[derive(Deserialize)]
struct RawDocument {
    #[serde(default)]
    layers: Vec<RawBlob>,
}

#[derive(Deserialize)]
struct RawPayload {
    critical: RawCritical,
}

#[derive(Deserialize)]
struct RawCritical {
    image: RawImage,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct RawImage {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// Where the signatures in a document are. Layers that are something else are passed over.
pub(crate) fn places(document: &[u8], beside: Beside) -> Result<Vec<Place>, DocumentError> {
    let raw: RawDocument =
        serde_json::from_slice(document).map_err(|error| DocumentError::Json((&error).into()))?;
    if raw.layers.len() > MOST_SIGNATURES {
        return Err(DocumentError::TooMany { count: raw.layers.len() });
    }
    let signed = raw.layers.into_iter().filter(|layer| layer.media_type == beside.media_type());
    signed
        .filter_map(|layer| Some((layer.annotations.get(SIGNATURE)?.clone(), layer)))
        .map(|(signature, layer)| {
            Ok(Place { payload: layer.blob().map_err(|_| DocumentError::Digest)?, signature })
        })
        .collect()
}

/// The configuration and the manifest that keep these signatures.
pub(crate) fn document(all: &[Signed], beside: Beside) -> (Vec<u8>, Vec<u8>) {
    let layers: Vec<RawBlob> = all
        .iter()
        .map(|signed| {
            let mut layer = RawBlob::new(beside.media_type(), &signed.payload);
            layer.annotations.insert(SIGNATURE.to_owned(), signed.signature.clone());
            layer
        })
        .collect();
    let digests: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
    let config = json!({
        "architecture": "", "os": "", "config": {}, "created": "0001-01-01T00:00:00Z",
        "history": vec![json!({ "created": "0001-01-01T00:00:00Z" }); layers.len()],
        "rootfs": { "type": "layers", "diff_ids": digests },
    })
    .to_string()
    .into_bytes();
    let described = RawBlob::new("application/vnd.oci.image.config.v1+json", &config);
    let manifest = manifest::manifest(&described, &layers);
    (config, manifest)
}

/// Signs an artifact by the digest of its manifest.
pub fn sign(key: &SigningKey, reference: &Reference, manifest: ContentDigest) -> Result<Signed, KeyError> {
    let payload = json!({
        "critical": {
            "identity": { "docker-reference": format!("{}/{}", reference.registry, reference.repository) },
            "image": { "docker-manifest-digest": manifest.to_string() },
            "type": TYPE,
        },
        "optional": null,
    })
    .to_string()
    .into_bytes();
    let signature = key.sign_blob(&payload)?;
    Ok(Signed { payload, signature })
}

impl Keyring {
    /// Looks for a signature of this manifest by a trusted key. Answers the key. The repository that the payload names
    /// is not compared: an artifact may be copied with its signatures.
    pub fn check_artifact(
        &self,
        manifest: ContentDigest,
        all: &[Signed],
    ) -> Result<&PublicKey, SignatureError> {
        let mut worst = match all {
            [] => return Err(SignatureError::Unsigned),
            some => SignatureError::Untrusted { keys: self.len(), signatures: some.len() },
        };
        for signed in all {
            let Ok(bytes) = decoded(&signed.signature) else { continue };
            let Some(key) = self.signer(&signed.payload, &bytes) else { continue };
            match signed_digest(&signed.payload) {
                Some(digest) if digest == manifest.to_string() => return Ok(key),
                Some(found) => worst = SignatureError::OfAnother { found },
                None => worst = SignatureError::Payload,
            }
        }
        Err(worst)
    }
}

fn signed_digest(payload: &[u8]) -> Option<String> {
    let raw: RawPayload = serde_json::from_slice(payload).ok()?;
    (raw.critical.kind == TYPE).then(|| raw.critical.image.digest.chars().take(80).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Reference {
        "ghcr.io/acme/driver:1".parse().expect("a reference")
    }

    #[test]
    fn one_good_signature_of_this_artifact_is_enough() {
        let (mine, other) = (SigningKey::generate().expect("a key"), SigningKey::generate().expect("a key"));
        let ring = Keyring::parse("mine", &mine.public_pem()).expect("keys");
        let digest = ContentDigest::of(b"manifest");
        let sign = |key: &SigningKey, digest| sign(key, &reference(), digest).expect("signed");
        let good = sign(&mine, digest);
        let foreign = sign(&other, digest);
        let old = sign(&mine, ContentDigest::of(b"another manifest"));
        let say = |all: &[Signed]| match ring.check_artifact(digest, all) {
            Ok(key) => key.name().to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(say(&[foreign.clone(), good.clone()]), "mine");
        assert!(say(&[]).contains("it is not signed"));
        assert!(
            say(std::slice::from_ref(&foreign)).contains("none of the 1 trusted keys has made its signature")
        );
        // A good signature is not carried over to other content, and no payload is changed behind it.
        assert!(say(&[old]).contains("is of sha256:"));
        let forged = Signed { payload: foreign.payload.clone(), signature: good.signature.clone() };
        assert_eq!(forged.payload, good.payload, "who signs does not show in the payload");
        let moved = Signed { payload: b"{}".to_vec(), ..good.clone() };
        assert!(say(&[moved]).contains("none of the 1"));
        let invalid = Signed { payload: b"x".to_vec(), signature: mine.sign_blob(b"x").expect("signed") };
        assert!(say(&[invalid]).contains("not a payload"));
        // The signature of a blob is none of an artifact.
        let manifest =
            Signed { payload: b"manifest".to_vec(), signature: mine.sign_blob(b"manifest").expect("signed") };
        assert!(ring.check_artifact(digest, &[manifest]).is_err());
    }

    /// Written by cosign 2.5.3: `cosign sign --key cosign.key --tlog-upload=false`.
    #[test]
    fn a_signature_by_cosign_itself_is_good() {
        let ring = Keyring::parse("cosign", include_str!("testdata/cosign.pub")).expect("keys");
        let payload = include_bytes!("testdata/cosign.payload.json");
        let places =
            places(include_bytes!("testdata/cosign.manifest.json"), Beside::Signatures).expect("signatures");
        let [Place { payload: blob, signature }] = &places[..] else { panic!("{} places", places.len()) };
        assert_eq!(blob.digest, ContentDigest::of(payload));
        let signed = Signed { payload: payload.to_vec(), signature: signature.clone() };
        let digest = "sha256:62694b7e7a189528fb857f7958a983b8999a38ce1adb2eff70f9360d0b6a1de9".parse();
        let key = ring.check_artifact(digest.expect("a digest"), &[signed]).expect("a good signature");
        assert_eq!(key.name(), "cosign");
    }

    #[test]
    fn signatures_are_kept_where_cosign_looks_for_them() {
        let key = SigningKey::generate().expect("a key");
        let digest = ContentDigest::of(b"manifest");
        let signed = sign(&key, &reference(), digest).expect("signed");
        let (_, kept) = document(&[signed.clone(), signed.clone()], Beside::Signatures);
        assert!(super::places(&kept, Beside::Bundles).expect("no bundles").is_empty());
        let places = places(&kept, Beside::Signatures).expect("signatures");
        assert_eq!(places.len(), 2);
        assert_eq!(places[0].signature, signed.signature);
        assert_eq!(places[0].payload.digest, ContentDigest::of(&signed.payload));
        assert_eq!(Beside::Signatures.tag(digest), format!("sha256-{}.sig", digest.hex()));
        assert_eq!(Beside::Bundles.tag(digest), format!("sha256-{}.bundle", digest.hex()));
    }

    #[test]
    fn what_is_no_list_of_signatures_is_refused_or_empty() {
        let places = |document: &[u8]| places(document, Beside::Signatures);
        assert!(places(b"{").is_err());
        assert!(places(b"{}").expect("empty").is_empty());
        let layer = json!({ "mediaType": Beside::Signatures.media_type(), "digest": "x", "size": 1 });
        assert!(
            places(json!({ "layers": [layer] }).to_string().as_bytes()).expect("no annotation").is_empty()
        );
        let many = vec![layer; MOST_SIGNATURES + 1];
        assert!(places(json!({ "layers": many }).to_string().as_bytes()).is_err());
    }
}
