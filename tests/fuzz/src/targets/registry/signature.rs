//! Public keys, and signatures of artifacts.

use machinist_artifacts::signature::cosign::Signed;
use machinist_artifacts::{ContentDigest, Keyring, SigningKey};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "signature",
    about: "keys in PEM, signatures and what cosign signs: nothing that is made up passes",
    grammar: Grammar::Text,
    samples,
    words: &[
        "-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----", "-----BEGIN PRIVATE KEY-----", "MEUCIQ==",
        "MEQCI", "AAAA", "sha256:", "docker-manifest-digest", "cosign container image signature",
    ],
    share: 20,
    check,
};

/// The key that is trusted: that of the test data, which nobody here can sign with.
fn key() -> Vec<u8> {
    samples::file("host/artifacts/src/signature/testdata/cosign.pub")
}

fn samples() -> Vec<Vec<u8>> {
    let files = [
        "cosign.pub", "openssl.pub", "p384.pub", "openssl.key", "sec1.key", "component.sig",
        "cosign.payload.json",
    ];
    files.iter().map(|file| samples::file(&format!("host/artifacts/src/signature/testdata/{file}"))).collect()
}

const COMPONENT: &[u8] = b"a component that nobody has signed";

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let read = Keyring::parse("theirs", &text);
    let private = SigningKey::parse(&text).is_ok();
    thread_local! {
        static KEYS: Keyring = Keyring::parse("ours", &String::from_utf8_lossy(&key())).unwrap_or_default();
    }
    KEYS.with(|keys| {
        promise(keys.len() == 1, || "the key of the test data is none".to_owned())?;
        promise(keys.check_blob(COMPONENT, &text).is_err(), || "a made-up signature passes".to_owned())?;
        let signed = [Signed { payload: input.to_vec(), signature: text.to_string() }];
        let checked = keys.check_artifact(ContentDigest::of(COMPONENT), &signed);
        promise(checked.is_err(), || "a made-up payload passes".to_owned())?;
        let message = checked.err().map(|error| error.to_string()).unwrap_or_default();
        Ok(Shape::of(&message).and(Shape::of_result(&read)).and(Shape::of(&format!("{private}"))))
    })
}
