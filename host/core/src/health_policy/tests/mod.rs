//! Health policies as tables.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `judged` | which opinion counts |
//! | `cached` | how long an answer counts |
//! | `rebooted` | when a VM may be rebooted |

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::value::id::{ObjectKey, PluginName, Uid};
use crate::value::phase::Phase;

mod cached;
mod judged;
mod rebooted;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn question(machine: &str) -> PolicyQuestion {
    PolicyQuestion {
        machine: Subject {
            key: ObjectKey::new("shoot", machine),
            uid: Uid::new(machine),
            class: "small".into(),
            deployment: Some("pool-a".into()),
            labels: BTreeMap::from([("pool".into(), "a".into())]),
            provider_id: None,
            created: at(-1_000),
            health_timeout: Some(SignedDuration::from_mins(10)),
            must_be_false: Vec::new(),
            can_reboot: true,
        },
        node: None,
        history: HistoryFact { phase: Phase::Running, phase_since: None, reboots: Vec::new() },
        domain: DomainFact { name: None, machines: 1, silent: 0 },
    }
}

fn asked(policy: &str, generation: u64) -> Asked {
    Asked { policy: policy.into(), generation, mode: Mode::Observe }
}

fn healthy(policy: &str, until: Timestamp) -> Opinion {
    Opinion {
        policy: policy.into(),
        mode: Mode::Observe,
        verdict: PolicyVerdict::Healthy,
        reason: "fine".into(),
        action: Action::None,
        holds_until: until,
    }
}

#[test]
fn a_policy_is_about_the_machines_that_fit_every_part_of_its_scope() {
    let check = |classes: &[&str], deployments: &[&str], labels: &[(&str, &str)], expected: bool| {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let scope = Scope { classes: names(classes), deployments: names(deployments), labels };
        assert_eq!(scope.covers(&question("m").machine), expected, "{scope:?}");
    };
    check(&[], &[], &[], true);
    check(&["small", "large"], &[], &[], true);
    check(&["large"], &[], &[], false);
    check(&["small"], &["pool-b"], &[], false);
    check(&["small"], &["pool-a"], &[("pool", "a")], true);
    check(&[], &[], &[("pool", "b")], false);
    check(&[], &[], &[("tier", "a")], false);
    let mut alone = question("m").machine;
    alone.deployment = None;
    let scope = Scope { deployments: BTreeSet::from(["pool-a".to_owned()]), ..Scope::default() };
    assert!(!scope.covers(&alone), "a Machine without a deployment is of none");
}

fn check_answer(reason: &str, since: Timestamp, until: Timestamp, expected: &Expect) {
    let raw = RawAnswer {
        verdict: PolicyVerdict::Unhealthy { since },
        reason: reason.to_owned(),
        action: Action::Replace,
        holds_until: until,
    };
    let opinion = opinion_of(&asked("zone", 1), Ok(raw), at(0));
    let PolicyVerdict::Unhealthy { since } = opinion.verdict else { panic!("{opinion:?}") };
    let seconds = |time: Timestamp| time.duration_since(at(0)).as_secs();
    expected.assert_eq(&format!(
        "{} | since {} | until {}",
        opinion.reason,
        seconds(since),
        seconds(opinion.holds_until)
    ));
}

#[test]
fn an_answer_is_cut_to_what_can_be_shown_and_relied_upon() {
    check_answer("Ready is False", at(-60), at(90), &expect!["Ready is False | since -60 | until 90"]);
    check_answer(
        "two\nlines \u{7}and\ta bell",
        at(-1),
        at(2),
        &expect!["two lines and a bell | since -1 | until 2"],
    );
    check_answer(" \n", at(500), at(-500), &expect!["it gives no reason | since 0 | until 1"]);
    check_answer("for ever", at(-1), Timestamp::MAX, &expect!["for ever | since -1 | until 43200"]);
    // A blank in the last place counts as well.
    for reason in ["ü".repeat(100_000), "x".repeat(300) + " y", "x".repeat(299) + " yz"] {
        let raw =
            RawAnswer { verdict: PolicyVerdict::Healthy, reason, action: Action::None, holds_until: at(5) };
        let opinion = opinion_of(&asked("zone", 1), Ok(raw), at(0));
        assert_eq!(opinion.reason.chars().count(), 301, "{}", opinion.reason);
    }
}

#[test]
fn a_policy_that_breaks_does_not_know_and_is_asked_again() {
    let opinion = opinion_of(&asked("zone", 1), Err("the plugin hit its fuel limit".into()), at(0));
    assert_eq!((opinion.verdict, opinion.action), (PolicyVerdict::Unknown, Action::None));
    assert_eq!(opinion.reason, "policy zone gave no answer: the plugin hit its fuel limit");
    assert_eq!(opinion.holds_until, at(30));
}
