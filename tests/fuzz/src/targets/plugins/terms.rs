//! How versions come to serve, and what operators say of policies.

use machinist_plugin_host::testing::VersionDecision;
use machinist_plugin_host::{PolicyTerms, Release};

use super::configmap::error_is_readable;
use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "terms",
    about: "rollout.yaml, policy.yaml, and the annotations that end trials",
    grammar: Grammar::Yaml,
    samples,
    words: &[
        "mode", "canary", "shadow", "all", "observe", "enforce", "share", "classes", "promote_after",
        "calls", "minutes", "withdraw", "broken_calls", "error_rate", "latency", "minimum_calls",
        "applies_to", "deployments", "labels", "limits", "fuel", "memory_mib", "promote=sha256:",
        "withdraw=sha256:",
    ],
    share: 30,
    check,
};

const ROLLOUT: &str = "mode: canary\nshare: 10%\nclasses: [small]\npromote_after: { calls: 100, minutes: 10 }\n\
                       withdraw: { broken_calls: 3, error_rate: 5%, latency: 2.0, minimum_calls: 20 }\n";

fn samples() -> Vec<Vec<u8>> {
    let files = ["deploy/samples/policy/10-zone.yaml", "deploy/samples/policy/20-ladder.yaml"];
    let maps = files.iter().flat_map(|file| samples::documents(file));
    let mut all: Vec<Vec<u8>> =
        maps.filter_map(|map| Some(map["data"]["policy.yaml"].as_str()?.as_bytes().to_vec())).collect();
    let digest = "0".repeat(64);
    all.push(ROLLOUT.into());
    all.push(format!("promote=sha256:{digest}").into());
    let ended = serde_json::json!({ "digest": format!("sha256:{digest}"), "decision": "withdrawn", "reason": "slow" });
    all.push(serde_json::json!({ "content": "0000", "rollout": ended }).to_string().into());
    all
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let annotations = |name: &str| VersionDecision::of(&[(name.to_owned(), text.to_string())].into());
    let said = [annotations("machinist.dev/rollout"), annotations("machinist.dev/status")].concat();
    let (rollout, terms) = (Release::parse(&text), PolicyTerms::parse(&text));
    promise(rollout.as_ref().ok() == Release::parse(&text).as_ref().ok(), || {
        "the same text is another rollout".to_owned()
    })?;
    let mut shape = Shape::of(&format!("{said:?}"));
    if let Err(error) = &rollout {
        shape = shape.and(error_is_readable(error)?);
    }
    if let Err(error) = &terms {
        shape = shape.and(error_is_readable(error)?);
    }
    Ok(shape.and(Shape::of(&format!("{rollout:?} {terms:?}"))))
}
