//! Statuses as hosts have written them, to the byte.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use machinist_artifacts::ContentDigest;
use machinist_core::health_policy::{Mode, Scope};

use super::*;
use crate::calls::engine::CodeTier;
use crate::health_policy::PolicyLimits;
use crate::registry::canary::{Figures, ShadowReport};
use crate::registry::report::PluginState;
use crate::registry::report::ReleaseReport;
use crate::sources::SourceId;
use crate::sources::configmap::RawConfigMap;
use crate::sources::keys::PluginKeys;
use crate::sources::release::Release;
use crate::sources::remote::Resolved;
use crate::sources::status::{BundleStatus, CallCounts};

/// One status a line, in the order of [`reports`].
const WRITTEN: &str = include_str!("written.jsonl");

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn held() -> ReadyReport {
    ReadyReport {
        digest: ContentDigest::of(b"component"),
        driver: "sim".to_owned(),
        version: "1.0.0".to_owned(),
        providers: vec!["sim".into(), "sim-2".into()],
        terms: None,
        code: CodeTier::Optimised,
        generation: 3,
        calls_total: 9,
        calls_broken: 1,
        calls_in_flight: 2,
    }
}

fn report(state: PluginState) -> PluginReport {
    PluginReport {
        plugin: "sim".into(),
        kind: "driver".to_owned(),
        source: SourceId::new("machinist", "sim"),
        content: Some(RawConfigMap { name: "sim".to_owned(), ..RawConfigMap::default() }.fingerprint()),
        state,
        reason: None,
        since: at("2026-01-02T03:04:05.678Z"),
        warnings: Vec::new(),
        digest: None,
        size_bytes: Some(7),
        compile_ms: Some(8),
        from_cache: true,
        resolved: None,
        signer: None,
        bundle: None,
        serving: false,
        serves: Vec::new(),
        claim_denied: false,
        rollout: None,
        held: None,
    }
}

fn ready(state: PluginState) -> PluginReport {
    let held = held();
    let (digest, serves) = (Some(held.digest), held.providers.clone());
    PluginReport { digest, serving: true, serves, held: Some(held), ..report(state) }
}

fn on_trial(
    rollout: &str,
    decision: Option<Decision>,
    shadow: Option<ShadowReport>,
) -> Option<ReleaseReport> {
    let terms = Some(Arc::new(Release::parse(rollout).expect("a rollout")));
    Some(ReleaseReport { terms, decision, figures: Figures::default(), shadow })
}

fn shadow() -> ShadowReport {
    let counts = CallCounts { same: 3, differs: 2, unread: 1, broken: 4, left_out: 5 };
    ShadowReport { functions: BTreeMap::from([("CreateMachine", counts)]), ..ShadowReport::default() }
}

/// One report in each state, and each field with a value in one of them.
fn reports() -> Vec<PluginReport> {
    let reason = |text: &str| Some(text.to_owned());
    let scope = Scope {
        classes: BTreeSet::from(["small".to_owned()]),
        deployments: BTreeSet::new(),
        labels: BTreeMap::from([("pool".to_owned(), "a".to_owned())]),
    };
    let terms = PolicyTerms { mode: Mode::Enforce, scope, limits: PolicyLimits::default() };
    let resolved = Resolved {
        reference: "registry.example/acme/sim:1".parse().expect("a reference"),
        asked: "again".to_owned(),
        manifest: ContentDigest::of(b"manifest"),
    };
    let bundle = BundleStatus { counter: 7, covers: vec!["component".to_owned(), "grants.yaml".to_owned()] };
    let canary = "{mode: canary, share: 10%}";
    vec![
        PluginReport { content: None, ..report(PluginState::Declared) },
        PluginReport { reason: reason("waits for plugin aws"), ..report(PluginState::Declared) },
        report(PluginState::Fetched),
        PluginReport { digest: Some(ContentDigest::of(b"component")), ..report(PluginState::Verified) },
        PluginReport { warnings: vec!["a \"warning\"\n".to_owned()], ..ready(PluginState::Ready) },
        PluginReport {
            kind: "health-policy".to_owned(),
            held: Some(ReadyReport {
                providers: Vec::new(),
                terms: Some(terms),
                code: CodeTier::Quick,
                ..held()
            }),
            ..ready(PluginState::Ready)
        },
        PluginReport {
            resolved: Some(resolved),
            signer: Some("our key".to_owned()),
            bundle: Some(bundle),
            ..ready(PluginState::Ready)
        },
        PluginReport { rollout: on_trial(canary, None, None), ..ready(PluginState::Trial) },
        PluginReport {
            rollout: on_trial("{mode: shadow}", None, Some(shadow())),
            ..ready(PluginState::Trial)
        },
        PluginReport {
            rollout: on_trial(canary, Some(Decision::Promoted), None),
            ..ready(PluginState::Ready)
        },
        PluginReport {
            reason: reason("slow"),
            rollout: on_trial(canary, Some(Decision::Withdrawn("slow".to_owned())), None),
            ..ready(PluginState::Withdrawn)
        },
        PluginReport {
            reason: reason("provider sim is aws's"),
            claim_denied: true,
            ..report(PluginState::Rejected)
        },
        PluginReport {
            reason: reason("it broke"),
            ..ready(PluginState::Quarantined { until: at("2026-01-02T03:05:00Z") })
        },
    ]
}

#[test]
fn a_status_is_written_to_the_byte_as_hosts_have_always_written_it() {
    let reports = reports();
    assert_eq!(reports.len(), WRITTEN.lines().count());
    for (report, line) in reports.iter().zip(WRITTEN.lines()) {
        assert_eq!(PluginStatus::from(report).to_json(), line);
    }
}

#[test]
fn a_written_status_is_read_whole() {
    for line in WRITTEN.lines() {
        let status = PluginStatus::parse(line).expect("it can be read");
        assert_eq!(status.to_json(), line);
        let annotations = BTreeMap::from([(PluginKeys::STATUS_ANNOTATION.to_owned(), line.to_owned())]);
        assert_eq!(PluginStatus::of(&annotations), status);
    }
}

#[test]
fn a_field_of_another_type_counts_as_absent_and_the_others_are_read() {
    let of = |text: &str| {
        PluginStatus::of(&BTreeMap::from([(PluginKeys::STATUS_ANNOTATION.to_owned(), text.to_owned())]))
    };
    let status = of(r#"{"plugin":"sim","serving":"yes","warnings":7,"held":8,"serves":["sim"],"later":{}}"#);
    let expected =
        PluginStatus { plugin: "sim".to_owned(), serves: vec!["sim".to_owned()], ..PluginStatus::default() };
    assert_eq!(status, expected);
    for nothing in ["", "{", "[]", "[7]", "7", "{}", r#"{"plugin":null}"#] {
        assert_eq!(of(nothing), PluginStatus::default(), "{nothing}");
    }
    assert_eq!(PluginStatus::of(&BTreeMap::new()), PluginStatus::default());
}

#[test]
fn long_texts_of_a_shadow_are_cut() {
    assert_eq!((cut("abc", 2), cut("ab", 2)), ("ab …".to_owned(), "ab".to_owned()));
}
