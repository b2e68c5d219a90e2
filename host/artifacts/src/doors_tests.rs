//! What comes from a registry, from a Secret or from an operator is read by parsers that no bytes make panic.

use proptest::prelude::*;
use proptest::sample::Index as Place;

use crate::bundle::Bundle;
use crate::signature::cosign::{Beside, Signed, places};
use crate::{ContentDigest, Keyring, Logins, SigningKey, manifest};

const MANIFEST: &str = r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":2},"layers":[{"mediaType":"application/wasm","digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111","size":8,"annotations":{"a":"b"}}]}"#;
const INDEX: &str = r#"{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":2,"platform":{"architecture":"wasm","os":"wasip2"}}]}"#;
const SIGNATURES: &str = r#"{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":2,"annotations":{"dev.cosignproject.cosign/signature":"MEUCIQ=="}}]}"#;
const BUNDLE: &str = r#"{"_type":"https://in-toto.io/Statement/v1","predicate":{"counter":7,"kind":"driver","name":"aws","providers":["aws"]},"predicateType":"https://machinist.dev/plugin-bundle/v1","subject":[{"digest":{"sha256":"1111111111111111111111111111111111111111111111111111111111111111"},"name":"plugin.wasm"}]}"#;
const LOGINS: &str = r#"{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"},"https://other.example/v1/":{"username":"a","password":"b"}}}"#;
const PAYLOAD: &str = r#"{"critical":{"identity":{"docker-reference":"a"},"image":{"docker-manifest-digest":"sha256:00"},"type":"cosign container image signature"},"optional":null}"#;

/// What parsers stumble over.
const ODD: [&str; 12] =
    ["\0", "\u{202e}", "{", "[", "}", "\"", "-1", "1e999", "99999999999999999999", "null", "=", "-----"];

/// A good text with some of it cut out, doubled, or put in; now and then any bytes.
fn any_of(good: String) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<Place>(), 0..40_usize, prop::sample::select(&ODD[..]), 0..3_u8);
    let changed = prop::collection::vec(change, 1..6).prop_map(move |changes| {
        let mut bytes = good.as_bytes().to_vec();
        for (from, length, odd, kind) in changes {
            let from = from.index(bytes.len() + 1);
            let to = (from + length).min(bytes.len());
            let put = match kind {
                0 => Vec::new(),
                1 => bytes[from..to].repeat(2),
                _ => odd.as_bytes().to_vec(),
            };
            drop(bytes.splice(from..to, put));
        }
        bytes
    });
    prop_oneof![3 => changed, 1 => prop::collection::vec(any::<u8>(), 0..300)]
}

fn pem() -> String {
    SigningKey::generate().expect("a key").public_pem()
}

#[test]
fn what_is_changed_here_is_good_before() {
    manifest::read(MANIFEST.as_bytes(), "").expect("a manifest");
    manifest::read(INDEX.as_bytes(), "").expect("an index");
    assert_eq!(places(SIGNATURES.as_bytes(), Beside::Signatures).expect("signatures").len(), 1);
    Bundle::parse(BUNDLE).expect("a bundle");
    Logins::parse(LOGINS.as_bytes()).expect("logins");
    Keyring::parse("ours", &pem()).expect("a key");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(1_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn manifests(bytes in any_of(MANIFEST.to_owned()), kind in ".{0,20}") {
        let _read = (manifest::read(&bytes, ""), manifest::read(&bytes, &kind));
    }

    #[test]
    fn indices(bytes in any_of(INDEX.to_owned())) {
        let _read = manifest::read(&bytes, "");
    }

    #[test]
    fn documents_of_signatures(bytes in any_of(SIGNATURES.to_owned())) {
        let _read = places(&bytes, Beside::Signatures);
    }

    /// Of all texts that are read one is the text of a bundle: two that differ are two bundles.
    #[test]
    fn bundles(bytes in any_of(BUNDLE.to_owned())) {
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(bundle) = Bundle::parse(&text) {
            prop_assert_eq!(bundle.to_text(), text);
        }
    }

    #[test]
    fn logins(bytes in any_of(LOGINS.to_owned())) {
        let _read = Logins::parse(&bytes);
    }

    #[test]
    fn keys(bytes in any_of(pem())) {
        let text = String::from_utf8_lossy(&bytes);
        let _read = (Keyring::parse("ours", &text), SigningKey::parse(&text));
    }

    /// Nothing that is made up passes for a signature.
    #[test]
    fn signatures(signature in prop_oneof!["[A-Za-z0-9+/=]{0,120}", ".{0,300}"], payload in any_of(PAYLOAD.to_owned())) {
        let keys = Keyring::parse("ours", &pem()).expect("a key");
        prop_assert!(keys.check_blob(b"a component", &signature).is_err());
        let manifest = ContentDigest::of(b"a manifest");
        let checked = keys.check_artifact(manifest, &[Signed { payload, signature }]);
        prop_assert!(checked.is_err());
    }
}
