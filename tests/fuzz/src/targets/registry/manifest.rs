//! Manifests of registries, and documents of signatures.

use machinist_artifacts::manifest::{self, Document};
use machinist_artifacts::registry::fuzz::{signatures, token};
use machinist_core::value::error_chain::chain;
use serde_json::json;

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "manifest",
    about: "documents of registries: a component has one digest, and no text of an answer is in a message",
    grammar: Grammar::Json,
    samples,
    words: &[
        "schemaVersion",
        "mediaType",
        "config",
        "layers",
        "manifests",
        "digest",
        "size",
        "annotations",
        "platform",
        "architecture",
        "wasm",
        "application/wasm",
        "application/vnd.wasm.config.v0+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.dev.cosign.simplesigning.v1+json",
        "dev.cosignproject.cosign/signature",
        "token",
        "access_token",
        CANARY,
    ],
    share: 40,
    check,
};

const CANARY: &str = "canary-in-an-answer";

fn samples() -> Vec<Vec<u8>> {
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let (_, manifest) = manifest::of_component(b"\0asm", &["wasi:http/types@0.2.6".to_owned()], &[]);
    let index = json!({ "schemaVersion": 2, "manifests": [{ "mediaType": manifest::MANIFEST, "digest": digest("0"),
        "size": 2, "platform": { "architecture": "wasm", "os": "wasip2" } }] });
    let foreign = json!({ "schemaVersion": 2, "mediaType": CANARY, "config": { "mediaType": CANARY,
        "digest": CANARY, "size": 1 } });
    vec![
        manifest,
        index.to_string().into_bytes(),
        foreign.to_string().into_bytes(),
        json!({ "token": CANARY, "access_token": "b" }).to_string().into_bytes(),
        samples::file("host/artifacts/src/signature/testdata/cosign.manifest.json"),
    ]
}

fn check(input: &[u8]) -> Verdict {
    let read = [manifest::read(input, ""), manifest::read(input, manifest::INDEX)];
    for message in read.iter().filter_map(|read| read.as_ref().err()) {
        let message = chain(message);
        promise(!message.contains(CANARY) && message.len() < 1024, || {
            format!("an answer's text is told: {message:?}")
        })?;
    }
    let signed = signatures(input);
    if let Err(error) = &signed {
        let message = chain(error);
        promise(!message.contains(CANARY) && message.len() < 1024, || {
            format!("an answer's text is told: {message:?}")
        })?;
    }
    let kind = |read: &Result<Document, _>| match read {
        Ok(Document::Component(_)) => "component".to_owned(),
        Ok(Document::Index(_)) => "index".to_owned(),
        Err(error) => chain(error as &manifest::ManifestError),
    };
    let kinds = read.iter().map(kind).collect::<Vec<_>>().join(" ");
    let others = format!("{:?} {}", signed.map(|places| places.len().min(3)).ok(), token(input).is_some());
    Ok(Shape::of(&kinds).and(Shape::of_result::<_, String>(&Ok(others))))
}
