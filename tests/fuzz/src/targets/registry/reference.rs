//! References of artifacts in registries.

use machinist_artifacts::Reference;

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "reference",
    about: "registry/repository:tag: what is read is written as it was, and names one host and one path",
    grammar: Grammar::Text,
    samples,
    words: &[
        "docker.io", "localhost", ":5000", "@sha256:", "/", "..", "%2f", ":latest", "[::1]",
        "registry.example",
    ],
    share: 20,
    check,
};

fn samples() -> Vec<Vec<u8>> {
    let digest = "0123456789abcdef".repeat(4);
    samples::texts(&[
        "ghcr.io/acme/aws:1.2.3",
        "docker.io/acme/aws:1",
        "localhost:5000/a/b/c:tag",
        "[::1]:5000/a:b",
        &format!("registry.example:8443/team/driver@sha256:{digest}"),
    ])
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let reference = match text.parse::<Reference>() {
        Ok(reference) => reference,
        Err(error) => return crate::targets::plugins::configmap::error_is_readable(&error),
    };
    let written = reference.to_string();
    promise(written.parse() == Ok(reference.clone()), || format!("{written} is read as another artifact"))?;
    let url = url::Url::parse(&format!("https://{}/v2/{}/blobs/x", reference.host(), reference.repository));
    let url = url.map_err(|error| format!("{written}: {error}"))?;
    let path = format!("/v2/{}/blobs/x", reference.repository);
    promise(url.path() == path, || format!("{written} is asked for at {}", url.path()))?;
    promise(url.username().is_empty() && url.query().is_none(), || {
        format!("{written} has a login or a query")
    })?;
    Ok(Shape::of(&written))
}
