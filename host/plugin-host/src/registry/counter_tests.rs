//! Attempts of a writer of ConfigMaps to bring back a version that was signed, and replaced.

use super::tests::Fixture;
use super::*;
use crate::sources::keys::PluginKeys;

const WHOLE: Eligibility = Eligibility::Whole;

impl Fixture {
    #[track_caller]
    fn is_displaced(&self, source: &str, parts: &[&str]) {
        let Stage::Rejected { reason } = self.stage(source) else { panic!("{:?}", self.stage(source)) };
        assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
    }
}

#[test]
fn attack_an_old_signed_version_gets_no_place_beside_a_later_one() {
    let mut world = Fixture::new();
    world.signed("one", 10, Some(1), ("v1", WHOLE));
    world.check(&[("aws", "v1")]);
    world.signed("two", 20, Some(2), ("v2", WHOLE));
    world.check(&[("aws", "v2")]);
    world.is_displaced("one", &["counter 1", "with 2", "plugin sign --configmap"]);
    // Neither a deletion of the later one nor a version in an annotation brings it back.
    let annotations = BTreeMap::from([(PluginKeys::VERSION_ANNOTATION.to_owned(), "99.0.0".to_owned())]);
    world.registry.grow(&Fixture::id("one"), Age::of(&annotations, None), world.now);
    world.check(&[("aws", "v2")]);
    world.withdraw("two");
    world.check(&[]);
    assert_eq!(world.registry.versions().count(), 0, "not even for a class that pins it");
}

#[test]
fn attack_an_old_signed_version_that_calls_itself_newer_is_displaced() {
    let mut world = Fixture::new();
    world.signed("old", 99, Some(1), ("v1", WHOLE));
    // Its ConfigMap is older, and its counter higher.
    world.signed("new", 10, Some(2), ("v2", WHOLE));
    world.check(&[("aws", "v2")]);
    world.is_displaced("old", &["counter 1"]);
    // A version without any counter comes before all that have one.
    world.signed("bare", 100, None, ("v0", WHOLE));
    world.check(&[("aws", "v2")]);
    world.is_displaced("bare", &["no bundle"]);
}

#[test]
fn attack_promoting_a_version_that_was_displaced_asks_nothing_again() {
    let mut world = Fixture::new();
    world.signed("one", 10, Some(1), ("v1", WHOLE));
    world.signed("two", 20, Some(2), ("v2", WHOLE));
    assert!(!world.registry.ask_again(&Fixture::id("one"), world.now));
    world.check(&[("aws", "v2")]);
}

#[test]
fn versions_with_one_counter_take_each_others_place() {
    let mut world = Fixture::new();
    world.signed("one", 10, Some(7), ("v1", WHOLE));
    world.signed("two", 20, Some(7), ("v2", WHOLE));
    world.check(&[("aws", "v2")]);
    world.set_eligibility("two", Eligibility::Withdrawn { reason: "bad".to_owned() });
    world.check(&[("aws", "v1")]);
}

#[test]
fn a_version_on_trial_displaces_nothing_until_it_is_promoted() {
    let mut world = Fixture::new();
    world.signed("one", 10, Some(1), ("v1", WHOLE));
    world.signed("two", 20, Some(2), ("v2", Eligibility::Trial));
    world.check(&[("aws", "v1")]);
    assert_eq!(world.registry.counters().into_values().collect::<Vec<_>>(), [1]);
    world.set_eligibility("two", WHOLE);
    world.check(&[("aws", "v2")]);
    world.is_displaced("one", &["counter 1"]);
    assert_eq!(world.registry.counters().into_values().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_signed_rollback_is_a_bundle_with_a_higher_counter() {
    let mut world = Fixture::new();
    world.signed("two", 20, Some(2), ("v2", WHOLE));
    world.signed("one", 10, Some(3), ("v1", WHOLE));
    world.check(&[("aws", "v1")]);
    world.is_displaced("two", &["counter 2", "with 3"]);
}

#[test]
fn the_serving_version_stays_until_the_higher_counter_is_ready() {
    let mut world = Fixture::new();
    world.signed("one", 10, Some(1), ("v1", WHOLE));
    let declaration = world.declare("aws", "one", 10, "v2");
    world.check(&[("aws", "v1")]);
    world.reject("one", declaration);
    world.check(&[("aws", "v1")]);
    world.signed("one", 10, Some(2), ("v3", WHOLE));
    world.check(&[("aws", "v3")]);
    // An earlier content of the same ConfigMap is no way back either.
    world.set_eligibility("one", Eligibility::Withdrawn { reason: "bad".to_owned() });
    world.check(&[("aws", "v3")]);
}
