//! Bundles, which signatures cover.

use machinist_artifacts::Bundle;

use super::configmap::error_is_readable;
use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "bundle",
    about: "bundle.json: two texts that differ are two bundles",
    grammar: Grammar::Json,
    samples,
    words: &[
        "https://in-toto.io/Statement/v1", "https://machinist.dev/plugin-bundle/v1", "plugin.wasm",
        "grants.yaml", "settings.json", "policy.yaml", "driver", "health-policy", "18446744073709551615",
    ],
    share: 20,
    check,
};

fn samples() -> Vec<Vec<u8>> {
    let statement = |kind: &str, texts: &[&str]| {
        let digest = "1".repeat(64);
        let part = |name: &&str| format!(r#"{{"digest":{{"sha256":"{digest}"}},"name":"{name}"}}"#);
        let subject: Vec<String> = texts.iter().map(part).collect();
        format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","predicate":{{"counter":7,"kind":"{kind}","name":"aws","providers":["aws"]}},"predicateType":"https://machinist.dev/plugin-bundle/v1","subject":[{}]}}"#,
            subject.join(",")
        )
    };
    samples::texts(&[
        &statement("driver", &["plugin.wasm"]),
        &statement("driver", &["grants.yaml", "plugin.wasm", "settings.json"]),
        &statement("health-policy", &["plugin.wasm", "policy.yaml"]),
    ])
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    match Bundle::parse(&text) {
        Ok(bundle) => {
            promise(bundle.to_text() == text, || format!("{text} is read as {}", bundle.to_text()))?;
            Ok(Shape::of(&bundle.covers().join(" ")))
        }
        Err(error) => error_is_readable(&error),
    }
}
