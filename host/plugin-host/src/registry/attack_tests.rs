//! Attacks of a driver that wants the provider of another, and with it the Secrets and user data.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::json;

use super::claims::{CLAIM_TIMEOUT, ProviderClaim};
use super::tests::Fixture;
use super::*;
use crate::sources::configmap::RawConfigMap;

fn names(providers: &[&str]) -> BTreeSet<ProviderName> {
    providers.iter().map(|name| ProviderName::folded(name)).collect()
}

/// Its grants name these providers, or are silent.
fn granted(providers: &[&str]) -> ProviderClaim {
    ProviderClaim { granted: Some(names(providers)), ..ProviderClaim::default() }
}

/// A host has written that it serves these.
fn recorded(providers: &[&str]) -> ProviderClaim {
    ProviderClaim { recorded: names(providers), ..ProviderClaim::default() }
}

impl Fixture {
    fn known(&mut self, plugin: &str, source: &str, created: i64, claim: ProviderClaim) -> Declaration {
        self.registry.note_claim(&Self::id(source), claim);
        self.declare(plugin, source, created, source)
    }

    fn later(&mut self, time: SignedDuration) {
        self.now = self.now.saturating_add(time).expect("in range");
        self.registry.resolve_waiting(self.now);
    }

    #[track_caller]
    fn rejects(&self, source: &str, part: &str) {
        let Stage::Rejected { reason } = self.stage(source) else { panic!("{:?}", self.stage(source)) };
        assert!(reason.contains(part) && reason.contains("plugin promote"), "{reason}");
        assert!(self.registry.is_denied(&Self::id(source)));
    }

    #[track_caller]
    fn waits(&self, source: &str, part: &str) {
        let Stage::Waiting { reason } = self.stage(source) else { panic!("{:?}", self.stage(source)) };
        assert!(reason.contains(part), "{reason}");
        assert!(self.registry.is_loading(), "the provider may yet appear");
    }
}

#[test]
fn attack_a_driver_that_claims_the_provider_of_another_after_a_restart_is_rejected() {
    // The thief's ConfigMap is older, as after a restore, and it is loaded first.
    for (thief_created, honest_created) in [(10, 20), (20, 10)] {
        let mut world = Fixture::new();
        let thief = world.known("evil", "evil", thief_created, recorded(&["evilcloud"]));
        let honest = world.known("aws", "aws", honest_created, recorded(&["aws"]));
        world.load("evil", thief, &["evilcloud", "aws"], "evil");
        world.check(&[]);
        world.waits("evil", "waits for plugin aws");
        world.load("aws", honest, &["aws"], "aws");
        world.check(&[("aws", "aws")]);
        world.rejects("evil", "provider aws is served by plugin aws");
    }
}

#[test]
fn attack_a_provider_that_is_recorded_for_a_plugin_that_does_not_load_stays_recorded() {
    let mut world = Fixture::new();
    let honest = world.known("aws", "aws", 20, recorded(&["aws"]));
    let thief = world.known("evil", "evil", 10, ProviderClaim::default());
    world.load("evil", thief, &["aws"], "evil");
    world.waits("evil", "waits for plugin aws");
    world.reject("aws", honest);
    world.check(&[]);
    world.rejects("evil", "recorded for plugin aws, which is not Ready");
    // The wait has an end without an end of the load, too.
    let mut world = Fixture::new();
    let honest = world.known("aws", "aws", 20, recorded(&["aws"]));
    let thief = world.known("evil", "evil", 10, ProviderClaim::default());
    world.load("evil", thief, &["aws"], "evil");
    world.later(CLAIM_TIMEOUT);
    world.rejects("evil", "recorded for plugin aws");
    world.load("aws", honest, &["aws"], "aws");
    world.check(&[("aws", "aws")]);
}

#[test]
fn attack_a_rejected_claim_does_not_become_ready_by_waiting() {
    let mut world = Fixture::new();
    world.ready("aws", "aws", 10, &["aws"], "aws-1");
    world.ready("evil", "evil", 20, &["evilcloud", "aws"], "evil");
    world.rejects("evil", "served by plugin aws");
    // The honest ConfigMap is deleted and created again.
    world.withdraw("aws");
    world.later(SignedDuration::from_hours(24));
    world.check(&[]);
    world.rejects("evil", "served by plugin aws");
    world.ready("aws", "aws", 30, &["aws"], "aws-2");
    world.check(&[("aws", "aws-2")]);
}

#[test]
fn attack_a_rejected_claim_does_not_become_ready_by_a_restart() {
    let mut world = Fixture::new();
    let claim = ProviderClaim { is_denied: true, ..ProviderClaim::default() };
    let thief = world.known("evil", "evil", 10, claim);
    world.load("evil", thief, &["aws"], "evil");
    world.check(&[]);
    world.rejects("evil", "another plugin's when it was loaded first");
    // It does not keep other plugins from the provider.
    world.ready("aws", "aws", 20, &["aws"], "aws");
    world.check(&[("aws", "aws")]);
}

#[test]
fn an_operator_can_ask_again_for_a_rejected_claim() {
    let mut world = Fixture::new();
    world.ready("aws", "aws", 10, &["aws"], "aws");
    world.ready("heir", "heir", 20, &["aws"], "heir");
    assert!(world.registry.ask_again(&Fixture::id("heir"), world.now));
    world.rejects("heir", "served by plugin aws");
    world.check(&[("aws", "aws")]);
    world.withdraw("aws");
    assert!(world.registry.ask_again(&Fixture::id("heir"), world.now));
    world.check(&[("heir", "heir")]);
    assert!(!world.registry.ask_again(&Fixture::id("heir"), world.now), "there is nothing to ask");
}

#[test]
fn attack_without_a_record_the_older_source_wins_and_never_the_faster_one() {
    for fastest in ["evil", "aws"] {
        let mut world = Fixture::new();
        let thief = world.known("evil", "evil", 20, ProviderClaim::default());
        let honest = world.known("aws", "aws", 10, ProviderClaim::default());
        let mut loads = [("evil", thief, ["evilcloud", "aws"]), ("aws", honest, ["aws", "aws"])];
        if fastest == "aws" {
            loads.reverse();
        }
        for (source, declaration, providers) in loads {
            world.load(source, declaration, &providers, source);
        }
        world.check(&[("aws", "aws")]);
        world.rejects("evil", "served by plugin aws");
    }
}

#[test]
fn attack_nobody_gets_a_provider_before_all_plugins_are_known() {
    let mut world = Fixture::new();
    world.registry.list(true, world.now);
    world.ready("evil", "evil", 20, &["aws"], "evil");
    world.check(&[]);
    world.waits("evil", "until all plugins of the namespace are known");
    let honest = world.known("aws", "aws", 10, recorded(&["aws"]));
    world.registry.list(false, world.now);
    world.waits("evil", "waits for plugin aws");
    world.load("aws", honest, &["aws"], "aws");
    world.check(&[("aws", "aws")]);
    world.rejects("evil", "served by plugin aws");
    // A second list does not keep plugins from their own providers.
    world.registry.list(true, world.now);
    world.ready("aws", "aws", 10, &["aws"], "aws-2");
    world.check(&[("aws", "aws-2")]);
}

#[test]
fn attack_a_plugin_that_nobody_grants_the_provider_gives_way_to_one_that_somebody_does() {
    let mut world = Fixture::new();
    world.ready("evil", "evil", 10, &["aws"], "evil");
    world.check(&[("evil", "evil")]);
    let honest = world.known("aws", "aws", 20, granted(&["aws"]));
    world.check(&[("evil", "evil")]);
    world.load("aws", honest, &["aws"], "aws");
    world.check(&[("aws", "aws")]);
    world.rejects("evil", "named by the grants of plugin aws");
    world.withdraw("aws");
    world.check(&[]);
    // Of two at a start, the one that grants name is waited for.
    let mut world = Fixture::new();
    let thief = world.known("evil", "evil", 10, recorded(&["aws"]));
    let honest = world.known("aws", "aws", 20, granted(&["aws"]));
    world.load("evil", thief, &["aws"], "evil");
    world.waits("evil", "waits for plugin aws");
    world.load("aws", honest, &["aws"], "aws");
    world.check(&[("aws", "aws")]);
}

#[test]
fn attack_a_slow_stranger_holds_nobody_up_for_ever() {
    let mut world = Fixture::new();
    let stranger = world.known("slow", "slow", 1, ProviderClaim::default());
    let other = world.known("other", "other", 2, granted(&["elsewhere"]));
    world.ready("aws", "aws", 20, &["aws"], "aws");
    world.waits("aws", "waits for plugin slow");
    world.later(CLAIM_TIMEOUT);
    world.check(&[("aws", "aws")]);
    // A plugin that is loaded later finds the provider taken, although it is older.
    world.load("slow", stranger, &["aws"], "slow");
    world.rejects("slow", "served by plugin aws");
    assert!(world.load("other", other, &["elsewhere"], "other"));
}

#[test]
fn a_plugin_that_is_alone_or_is_recorded_waits_for_nobody() {
    let mut world = Fixture::new();
    let _older = world.known("older", "older", 1, ProviderClaim::default());
    let own = world.known("aws", "aws", 20, recorded(&["aws"]));
    world.load("aws", own, &["aws"], "aws");
    world.check(&[("aws", "aws")]);
    let mut world = Fixture::new();
    world.ready("sim", "sim", 20, &["sim"], "sim");
    world.check(&[("sim", "sim")]);
}

#[test]
fn a_record_is_kept_while_its_plugin_is_loaded_again() {
    let mut world = Fixture::new();
    let id = Fixture::id("aws");
    let declaration = world.known("aws", "aws", 20, recorded(&["aws"]));
    assert_eq!(world.registry.record(&id), names(&["aws"]), "not loaded yet");
    // A host that has not loaded it wrote nothing of it, and comes back with its own words.
    world.registry.note_claim(&id, ProviderClaim::default());
    assert_eq!(world.registry.record(&id), names(&["aws"]));
    world.load("aws", declaration, &["aws"], "aws");
    assert_eq!(world.registry.record(&id), names(&["aws"]));
    world.ready("aws", "aws", 20, &["amazon"], "other");
    assert_eq!(world.registry.record(&id), names(&["amazon"]));
}

#[test]
fn a_hosts_record_is_read_back_for_this_plugin_and_this_content() {
    let content = RawConfigMap::default().fingerprint();
    let of = |plugin: &str, status: &serde_json::Value| {
        let annotations = BTreeMap::from([("machinist.dev/status".to_owned(), status.to_string())]);
        ProviderClaim::of(&annotations, &plugin.into(), content, None)
    };
    let status =
        json!({ "plugin": "aws", "serves": ["AWS"], "claimDenied": true, "content": content.to_string() });
    assert_eq!(of("aws", &status), ProviderClaim { is_denied: true, ..recorded(&["aws"]) });
    assert_eq!(of("other", &status), ProviderClaim::default(), "the label with the name was changed");
    let edited = json!({ "plugin": "aws", "claimDenied": true, "content": "other" });
    assert_eq!(of("aws", &edited), ProviderClaim::default());
    let older =
        |serving: bool| json!({ "plugin": "aws", "serving": serving, "held": { "providers": ["aws"] } });
    assert_eq!(
        (of("aws", &older(true)), of("aws", &older(false))),
        (recorded(&["aws"]), ProviderClaim::default())
    );
    for invalid in [json!([]), json!("x"), json!({ "serves": 7 }), json!({ "plugin": "aws", "held": [] })] {
        assert_eq!(of("aws", &invalid), ProviderClaim::default(), "{invalid}");
    }
}
