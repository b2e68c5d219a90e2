//! Each target with some hundred inputs.

use std::sync::atomic::AtomicU64;

use fuzz::{Plan, Target, targets};

/// Of a target with a share of one in a thousand.
const INPUTS_OF_A_SHARE: u32 = 12;

/// Another seed each night would find more and repeat nothing: `cargo xtask fuzz --seed` is for that.
const SEED: u64 = 1;

fn check(name: &str) {
    let target: &Target = targets::named(name).expect("a target of this name");
    let inputs = u64::from(tier::cases(INPUTS_OF_A_SHARE * target.share));
    let summary = fuzz::run(target, &Plan { inputs, seed: SEED, jobs: 1, trace: None }, &AtomicU64::new(0));
    let findings: Vec<String> = summary
        .findings
        .iter()
        .map(|finding| format!("{}: {:?}", finding.what, String::from_utf8_lossy(&finding.input)))
        .collect();
    assert!(findings.is_empty(), "{findings:#?}");
    assert_eq!(summary.inputs, inputs);
    assert!(summary.shapes >= 3, "every input is taken in the same way: {} of {inputs}", summary.shapes);
}

macro_rules! each {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn every_target_is_run() {
            let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

each! {
    configmap: "configmap",
    parts: "parts",
    packed: "packed",
    component: "component",
    grants: "grants",
    terms: "terms",
    guest: "guest",
    policy: "policy",
    recording: "recording",
    calls: "calls",
    ec2: "ec2",
    egress: "egress",
    url: "url",
    token: "token",
    pace: "pace",
    scrubber: "scrubber",
    reference: "reference",
    manifest: "manifest",
    challenge: "challenge",
    logins: "logins",
    signature: "signature",
    bundle: "bundle",
    objects: "objects",
    lives: "lives",
    words: "words",
    user_data: "user-data",
    kubeconfig: "kubeconfig",
}

#[test]
fn shares_are_of_a_thousand() {
    assert_eq!(targets::ALL.iter().map(|target| target.share).sum::<u32>(), 1_000);
}
