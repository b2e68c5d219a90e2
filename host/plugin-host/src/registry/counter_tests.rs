//! Attempts of a writer of ConfigMaps to bring back a version that was signed, and replaced.

use super::tests::RegistryHarness;
use super::*;
use crate::sources::age::VERSION_ANNOTATION;

const WHOLE: Eligibility = Eligibility::Whole;

impl RegistryHarness {
    #[track_caller]
    fn is_displaced(&self, source: &str, parts: &[&str]) {
        let Stage::Rejected { reason } = self.stage(source) else { panic!("{:?}", self.stage(source)) };
        assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
    }
}

#[test]
fn attack_an_old_signed_version_gets_no_place_beside_a_later_one() {
    let mut harness = RegistryHarness::new();
    harness.signed("one", 10, Some(1), ("v1", WHOLE));
    harness.check(&[("aws", "v1")]);
    harness.signed("two", 20, Some(2), ("v2", WHOLE));
    harness.check(&[("aws", "v2")]);
    harness.is_displaced("one", &["counter 1", "with 2", "plugin sign --configmap"]);
    // Neither a deletion of the later one nor a version in an annotation brings it back.
    let annotations = BTreeMap::from([(VERSION_ANNOTATION.to_owned(), "99.0.0".to_owned())]);
    harness.registry.grow(&RegistryHarness::id("one"), Age::of(&annotations, None), harness.now);
    harness.check(&[("aws", "v2")]);
    harness.withdraw("two");
    harness.check(&[]);
    assert_eq!(harness.registry.versions().count(), 0, "not even for a class that pins it");
}

#[test]
fn attack_an_old_signed_version_that_calls_itself_newer_is_displaced() {
    let mut harness = RegistryHarness::new();
    harness.signed("old", 99, Some(1), ("v1", WHOLE));
    // Its ConfigMap is older, and its counter higher.
    harness.signed("new", 10, Some(2), ("v2", WHOLE));
    harness.check(&[("aws", "v2")]);
    harness.is_displaced("old", &["counter 1"]);
    // A version without any counter comes before all that have one.
    harness.signed("bare", 100, None, ("v0", WHOLE));
    harness.check(&[("aws", "v2")]);
    harness.is_displaced("bare", &["no bundle"]);
}

#[test]
fn attack_promoting_a_version_that_was_displaced_asks_nothing_again() {
    let mut harness = RegistryHarness::new();
    harness.signed("one", 10, Some(1), ("v1", WHOLE));
    harness.signed("two", 20, Some(2), ("v2", WHOLE));
    assert!(!harness.registry.ask_again(&RegistryHarness::id("one"), harness.now));
    harness.check(&[("aws", "v2")]);
}

#[test]
fn versions_with_one_counter_take_each_others_place() {
    let mut harness = RegistryHarness::new();
    harness.signed("one", 10, Some(7), ("v1", WHOLE));
    harness.signed("two", 20, Some(7), ("v2", WHOLE));
    harness.check(&[("aws", "v2")]);
    harness.set_eligibility("two", Eligibility::Withdrawn { reason: "bad".to_owned() });
    harness.check(&[("aws", "v1")]);
}

#[test]
fn a_version_on_trial_displaces_nothing_until_it_is_promoted() {
    let mut harness = RegistryHarness::new();
    harness.signed("one", 10, Some(1), ("v1", WHOLE));
    harness.signed("two", 20, Some(2), ("v2", Eligibility::Trial));
    harness.check(&[("aws", "v1")]);
    assert_eq!(harness.registry.counters().into_values().collect::<Vec<_>>(), [1]);
    harness.set_eligibility("two", WHOLE);
    harness.check(&[("aws", "v2")]);
    harness.is_displaced("one", &["counter 1"]);
    assert_eq!(harness.registry.counters().into_values().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_signed_rollback_is_a_bundle_with_a_higher_counter() {
    let mut harness = RegistryHarness::new();
    harness.signed("two", 20, Some(2), ("v2", WHOLE));
    harness.signed("one", 10, Some(3), ("v1", WHOLE));
    harness.check(&[("aws", "v1")]);
    harness.is_displaced("two", &["counter 2", "with 3"]);
}

#[test]
fn the_serving_version_stays_until_the_higher_counter_is_ready() {
    let mut harness = RegistryHarness::new();
    harness.signed("one", 10, Some(1), ("v1", WHOLE));
    let declaration = harness.declare("aws", "one", 10, "v2");
    harness.check(&[("aws", "v1")]);
    harness.reject("one", declaration);
    harness.check(&[("aws", "v1")]);
    harness.signed("one", 10, Some(2), ("v3", WHOLE));
    harness.check(&[("aws", "v3")]);
    // An earlier content of the same ConfigMap is no way back either.
    harness.set_eligibility("one", Eligibility::Withdrawn { reason: "bad".to_owned() });
    harness.check(&[("aws", "v3")]);
}
