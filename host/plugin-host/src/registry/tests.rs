use jiff::SignedDuration;

use super::*;
use crate::sources::configmap::RawConfigMap;
use crate::sources::keys::PluginKeys;

/// Drives a registry in short calls; texts take the place of generations.
pub(super) struct Fixture {
    pub(super) registry: Registry<&'static str>,
    pub(super) now: Timestamp,
}

/// `zone!` is a policy, `zone` a driver.
pub(super) fn key(plugin: &str) -> PluginKey {
    let name = plugin.trim_end_matches('!');
    let role = if name == plugin { Contract::Driver } else { Contract::HealthPolicy };
    PluginKey { name: name.into(), role }
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self { registry: Registry::new(), now: Timestamp::UNIX_EPOCH }
    }

    pub(super) fn id(source: &str) -> SourceId {
        SourceId::new("machinist", source)
    }

    pub(super) fn declare(&mut self, plugin: &str, source: &str, created: i64, content: &str) -> Declaration {
        self.now = self.now.saturating_add(SignedDuration::from_secs(1)).expect("in range");
        let raw = RawConfigMap { uid: content.to_owned(), ..RawConfigMap::default() };
        let created = Timestamp::from_second(created).ok();
        self.registry
            .declare(Self::id(source), key(plugin), created, raw.fingerprint(), self.now)
            .expect("other content")
    }

    pub(super) fn load(
        &mut self,
        source: &str,
        declaration: Declaration,
        providers: &[&str],
        generation: &'static str,
    ) -> bool {
        self.load_as(source, declaration, providers, generation, Eligibility::Whole)
    }

    fn load_as(
        &mut self,
        source: &str,
        declaration: Declaration,
        providers: &[&str],
        generation: &'static str,
        eligibility: Eligibility,
    ) -> bool {
        let providers: Vec<ProviderName> = providers.iter().map(|&name| name.into()).collect();
        self.registry.loaded(&Self::id(source), declaration, providers, (generation, eligibility), self.now)
    }

    /// Loads a version of plugin `aws` that was signed with this counter.
    pub(super) fn signed(
        &mut self,
        source: &str,
        created: i64,
        counter: Option<u64>,
        (generation, eligibility): (&'static str, Eligibility),
    ) {
        let declaration = self.declare("aws", source, created, generation);
        let offer = Offer { providers: vec!["aws".into()], counter };
        self.registry.loaded(&Self::id(source), declaration, offer, (generation, eligibility), self.now);
    }

    pub(super) fn ready(
        &mut self,
        plugin: &str,
        source: &str,
        created: i64,
        providers: &[&str],
        generation: &'static str,
    ) {
        let declaration = self.declare(plugin, source, created, generation);
        self.load(source, declaration, providers, generation);
    }

    /// A version that is to be tried first.
    fn load_on_trial(&mut self, source: &str, created: i64, generation: &'static str) {
        let declaration = self.declare("sim", source, created, generation);
        self.load_as(source, declaration, &["sim"], generation, Eligibility::Trial);
    }

    fn trial(&self) -> Option<&'static str> {
        self.registry.trials().map(|(_, version)| version.generation).next()
    }

    pub(super) fn set_eligibility(&mut self, source: &str, eligibility: Eligibility) {
        let number = self.registry.sources[&Self::id(source)].version.as_ref().expect("held").number;
        self.registry.set_eligibility(number, eligibility, self.now);
    }

    pub(super) fn reject(&mut self, source: &str, declaration: Declaration) {
        let stage = Stage::Rejected { reason: "bad".to_owned() };
        assert!(self.registry.reach(&Self::id(source), declaration, stage, self.now));
    }

    pub(super) fn withdraw(&mut self, source: &str) {
        self.registry.withdraw(&Self::id(source), self.now);
    }

    pub(super) fn stage(&self, source: &str) -> &Stage {
        &self.registry.sources[&Self::id(source)].stage
    }

    pub(super) fn check(&self, expected: &[(&str, &str)]) {
        let serving: Vec<_> =
            self.registry.serving().map(|(name, version)| (name.name.as_str(), version.generation)).collect();
        assert_eq!(serving, expected);
    }
}

#[test]
fn the_version_created_last_serves_whatever_was_loaded_last() {
    let mut world = Fixture::new();
    world.ready("sim", "two", 20, &["sim"], "v2");
    world.ready("sim", "one", 10, &["sim"], "v1");
    world.check(&[("sim", "v2")]);
    assert_eq!(world.stage("one"), &Stage::Ready);
    world.withdraw("two");
    world.check(&[("sim", "v1")]);
}

#[test]
fn the_serving_version_stays_when_its_source_turns_bad() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    let bad = world.declare("sim", "one", 10, "bad");
    world.check(&[("sim", "v1")]);
    world.reject("one", bad);
    world.check(&[("sim", "v1")]);
    let (_, source) = world.registry.sources().next().expect("one source");
    assert!(world.registry.is_serving(source));
    world.withdraw("one");
    world.check(&[]);
}

#[test]
fn a_bad_newer_version_leaves_the_older_one_alone() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    let bad = world.declare("sim", "two", 20, "bad");
    world.reject("two", bad);
    world.check(&[("sim", "v1")]);
}

#[test]
fn a_changed_source_serves_its_new_content() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    world.ready("sim", "one", 10, &["sim"], "v2");
    world.check(&[("sim", "v2")]);
}

#[test]
fn results_for_an_older_declaration_are_ignored() {
    let mut world = Fixture::new();
    let first = world.declare("sim", "one", 10, "first");
    let second = world.declare("sim", "one", 10, "second");
    assert!(!world.load("one", first, &["sim"], "first"));
    assert!(world.load("one", second, &["sim"], "second"));
    world.check(&[("sim", "second")]);
}

#[test]
fn known_content_is_not_declared_again() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    let raw = RawConfigMap { uid: "v1".to_owned(), ..RawConfigMap::default() };
    let again = world.registry.declare(Fixture::id("one"), key("sim"), None, raw.fingerprint(), world.now);
    assert_eq!(again, None);
}

#[test]
fn the_first_plugin_of_a_provider_stays_and_the_second_is_asked_again_when_it_is_edited() {
    let mut world = Fixture::new();
    world.ready("b-first", "b", 20, &["sim"], "first");
    world.ready("a-second", "a", 10, &["sim", "other"], "second");
    world.check(&[("b-first", "first")]);
    let Stage::Rejected { reason } = world.stage("a") else { panic!("{:?}", world.stage("a")) };
    assert!(
        reason.starts_with("provider sim is served by plugin b-first, and the first stays; "),
        "{reason}"
    );
    world.withdraw("b");
    world.check(&[]);
    world.ready("a-second", "a", 10, &["sim", "other"], "edited");
    world.check(&[("a-second", "edited")]);
    assert_eq!(world.stage("a"), &Stage::Ready);
}

#[test]
fn a_version_that_grabs_a_foreign_provider_does_not_replace_its_predecessor() {
    let mut world = Fixture::new();
    world.ready("aws", "aws", 10, &["aws"], "aws-1");
    world.ready("sim", "sim", 20, &["sim"], "sim-1");
    world.ready("aws", "aws", 10, &["aws", "sim"], "aws-2");
    world.check(&[("aws", "aws-1"), ("sim", "sim-1")]);
    world.ready("sim", "sim", 20, &["simulated"], "sim-2");
    world.check(&[("aws", "aws-1"), ("sim", "sim-2")]);
    world.ready("aws", "aws", 10, &["aws", "sim"], "aws-3");
    world.check(&[("aws", "aws-3"), ("sim", "sim-2")]);
}

#[test]
fn a_plugin_that_falls_back_keeps_its_provider() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    world.ready("sim", "two", 20, &["sim"], "v2");
    world.ready("rival", "rival", 5, &["sim"], "rival");
    world.withdraw("two");
    world.check(&[("sim", "v1")]);
}

#[test]
fn loading_is_over_when_every_declaration_has_an_end() {
    let mut world = Fixture::new();
    let first = world.declare("sim", "one", 10, "first");
    let second = world.declare("aws", "two", 10, "second");
    assert!(world.registry.is_loading());
    world.load("one", first, &["sim"], "first");
    assert!(world.registry.is_loading());
    world.reject("two", second);
    assert!(!world.registry.is_loading());
}

#[test]
fn a_version_that_waits_for_another_is_not_being_loaded() {
    let mut world = Fixture::new();
    let index = world.declare("sim", "one", 10, "index");
    let stage = Stage::Waiting { reason: "waits for part 2 of 3".to_owned() };
    assert!(world.registry.reach(&Fixture::id("one"), index, stage, world.now));
    assert!(!world.registry.is_loading());
    world.load("one", index, &["sim"], "v1");
    world.check(&[("sim", "v1")]);
}

#[test]
fn a_driver_and_a_policy_of_one_name_do_not_take_each_others_place() {
    let mut world = Fixture::new();
    world.ready("sim", "driver", 1, &["sim"], "driver");
    world.ready("sim!", "policy", 2, &[], "policy");
    world.check(&[("sim", "driver"), ("sim", "policy")]);
    world.withdraw("driver");
    world.check(&[("sim", "policy")]);
}

#[test]
fn a_source_that_changes_its_role_gives_up_its_version() {
    let mut world = Fixture::new();
    world.ready("zone!", "older", 1, &[], "older");
    world.ready("zone", "driver", 2, &["sim"], "driver");
    world.declare("zone!", "driver", 2, "policy");
    world.check(&[("zone", "older")]);
}

fn withdrawn() -> Eligibility {
    Eligibility::Withdrawn { reason: "slow".to_owned() }
}

#[test]
fn a_version_on_trial_is_asked_beside_the_one_that_serves_until_it_is_promoted() {
    for source in ["one", "two"] {
        let mut world = Fixture::new();
        world.ready("sim", "one", 10, &["sim"], "v1");
        world.load_on_trial(source, 20, "v2");
        world.check(&[("sim", "v1")]);
        assert_eq!(world.trial(), Some("v2"), "in {source}");
        world.set_eligibility(source, Eligibility::Whole);
        world.check(&[("sim", "v2")]);
        assert_eq!(world.trial(), None);
    }
}

#[test]
fn a_withdrawn_version_answers_nothing_while_another_can() {
    for source in ["one", "two"] {
        let mut world = Fixture::new();
        world.ready("sim", "one", 10, &["sim"], "v1");
        world.load_on_trial(source, 20, "v2");
        world.set_eligibility(source, withdrawn());
        world.check(&[("sim", "v1")]);
        assert_eq!(world.trial(), None, "in {source}");
    }
}

#[test]
fn a_version_that_served_can_be_withdrawn_for_the_one_before() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    world.ready("sim", "one", 10, &["sim"], "v2");
    let number = world.registry.sources[&Fixture::id("one")].version.as_ref().expect("held").number;
    assert!(world.registry.has_stand_in(number));
    world.set_eligibility("one", withdrawn());
    world.check(&[("sim", "v1")]);
    world.ready("sim", "one", 10, &["sim"], "v3");
    world.check(&[("sim", "v3")]);
}

#[test]
fn the_only_version_serves_on_trial_too_and_has_no_stand_in() {
    let mut world = Fixture::new();
    world.load_on_trial("one", 10, "v1");
    world.check(&[("sim", "v1")]);
    assert_eq!(world.trial(), None);
    let number = world.registry.sources[&Fixture::id("one")].version.as_ref().expect("held").number;
    assert!(!world.registry.has_stand_in(number));
    world.set_eligibility("one", withdrawn());
    world.check(&[("sim", "v1")]);
}

#[test]
fn after_a_start_a_version_on_trial_waits_for_the_one_that_served() {
    let mut world = Fixture::new();
    let old = world.declare("sim", "one", 10, "v1");
    world.load_on_trial("two", 20, "v2");
    world.check(&[]);
    world.load("one", old, &["sim"], "v1");
    world.check(&[("sim", "v1")]);
    assert_eq!(world.trial(), Some("v2"));
    let mut world = Fixture::new();
    let old = world.declare("sim", "one", 10, "v1");
    world.load_on_trial("two", 20, "v2");
    world.reject("one", old);
    world.load_on_trial("two", 20, "v3");
    world.check(&[("sim", "v3")]);
}

#[test]
fn an_earlier_version_keeps_no_provider_from_others() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    world.ready("sim", "one", 10, &["simulated"], "v2");
    world.ready("other", "two", 20, &["sim"], "o1");
    world.check(&[("other", "o1"), ("sim", "v2")]);
}

#[test]
fn an_older_version_is_not_tried() {
    let mut world = Fixture::new();
    world.ready("sim", "two", 20, &["sim"], "v2");
    world.load_on_trial("one", 10, "v1");
    world.check(&[("sim", "v2")]);
    assert_eq!(world.trial(), None);
}

impl Fixture {
    /// A driver whose ConfigMap has this version and this creation time in seconds.
    fn numbered(&mut self, source: &str, version: &str, created: i64) {
        let declaration = self.declare("sim", source, created, "content");
        self.grow(source, version, created);
        self.load(source, declaration, &["sim"], if source == "one" { "v1" } else { "v2" });
    }

    fn grow(&mut self, source: &str, version: &str, created: i64) {
        let annotations = BTreeMap::from([(PluginKeys::VERSION_ANNOTATION.to_owned(), version.to_owned())]);
        let age = Age::of(&annotations, Timestamp::from_second(created).ok());
        self.registry.grow(&Self::id(source), age, self.now);
    }
}

#[test]
fn copies_that_are_restored_in_another_order_serve_as_before() {
    for (one, two) in [(10, 20), (20, 10), (10, 10)] {
        let mut world = Fixture::new();
        world.numbered("one", "1.9.0", one);
        world.numbered("two", "1.10.0", two);
        world.check(&[("sim", "v2")]);
    }
}

#[test]
fn an_annotation_that_is_changed_moves_a_version_without_loading_it_again() {
    let mut world = Fixture::new();
    world.numbered("one", "1.0.0", 10);
    world.numbered("two", "1.1.0", 20);
    world.check(&[("sim", "v2")]);
    world.grow("one", "1.2.0", 10);
    world.check(&[("sim", "v1")]);
}

#[test]
fn of_two_plugins_for_one_provider_the_one_that_has_served_stays_over_a_restart() {
    let mut world = Fixture::new();
    let (old, new) = (world.declare("sim", "one", 20, "v1"), world.declare("rival", "two", 10, "v2"));
    let status = BTreeMap::from([("machinist.dev/status".to_owned(), r#"{"serving":true}"#.to_owned())]);
    let age = Age::of(&status, Timestamp::from_second(20).ok());
    world.registry.grow(&Fixture::id("one"), age, world.now);
    // Both are loaded before either is chosen.
    world.registry.sources.get_mut(&Fixture::id("two")).expect("there").waiting = Some(Version {
        number: 90,
        providers: vec!["sim".into()],
        counter: None,
        generation: "v2",
        eligibility: Eligibility::Whole,
    });
    assert!(world.registry.is_current(&Fixture::id("two"), new));
    world.load("one", old, &["sim"], "v1");
    world.check(&[("sim", "v1")]);
}

#[test]
fn a_serving_version_that_is_withdrawn_is_marked() {
    let mut world = Fixture::new();
    world.ready("sim", "one", 10, &["sim"], "v1");
    world.set_eligibility("one", withdrawn());
    let eligibility: Vec<_> =
        world.registry.serving().map(|(_, version)| version.eligibility.clone()).collect();
    assert_eq!(eligibility, [withdrawn()]);
}
