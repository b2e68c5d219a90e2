//! New versions that answer a part of the calls before they serve.

use std::collections::BTreeMap;

use machinist_core::driver::error::CallError;
use machinist_core::driver::{Creation, DriverResult};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::Uid;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::{Decision, PluginReport, PluginState};

use crate::fixture::{Fixture, Map, marked, plain, request, version};

/// The version that serves.
fn stable() -> Map {
    Map::plain("plain-1", "1.0.0", &["plain"]).plugin("plain").created(1_000)
}

/// A newer one, with these words about its rollout.
fn newer(rollout: &str) -> Map {
    Map::plain("plain-2", "2.0.0", &["plain"])
        .plugin("plain")
        .created(2_000)
        .binary("plugin.wasm", marked(&plain(), "2.0.0"))
        .data("rollout.yaml", rollout)
}

async fn create(world: &Fixture, uid: usize, spec: &str) -> DriverResult<Creation> {
    let mut request = request("plain", spec);
    request.machine.uid = Uid::new(format!("uid-{uid}"));
    world.host.create(request).await
}

/// Calls for so many Machines; how many each version answered.
async fn answers(world: &Fixture, machines: usize) -> BTreeMap<String, usize> {
    let mut seen = BTreeMap::new();
    for uid in 0..machines {
        *seen.entry(version(&create(world, uid, "{}").await)).or_default() += 1;
    }
    seen
}

async fn on_trial(world: &Fixture, map: Map) -> PluginReport {
    world.ready(stable()).await;
    let report = world.declare(map).await;
    assert_eq!(report.state, PluginState::Trial, "{report:?}");
    report
}

fn decision(world: &Fixture, report: &PluginReport) -> Option<Decision> {
    world.report(&report.source).rollout.expect("a rollout").decision
}

#[tokio::test]
async fn a_canary_answers_its_share_and_each_machine_stays_with_its_version() {
    let world = Fixture::new();
    let report = on_trial(&world, newer("{mode: canary, share: 30%}")).await;
    assert!(!report.serving);
    let first = answers(&world, 60).await;
    assert!((8..30).contains(&first["2.0.0"]), "{first:?}");
    assert_eq!(answers(&world, 60).await, first);
    assert_eq!(world.metric("machinist_plugin_rollouts_total{plugin=\"plain\",step=\"started\"}"), 1);
    let figures = world.report(&report.source).rollout.expect("a rollout").figures;
    assert_eq!((figures.calls, figures.stable_calls), (2 * first["2.0.0"] as u64, 2 * first["1.0.0"] as u64));
}

#[tokio::test]
async fn a_canary_by_class_answers_all_of_that_class() {
    let world = Fixture::new();
    on_trial(&world, newer("{mode: canary, classes: [small]}")).await;
    assert_eq!(world.version("plain").await, "2.0.0");
    let mut other = request("plain", "{}");
    other.class.name = "large".into();
    assert_eq!(version(&world.host.create(other).await), "1.0.0");
}

#[tokio::test]
async fn enough_good_calls_promote_it() {
    let world = Fixture::new();
    let terms = "{mode: canary, share: 50%, promote_after: {calls: 10, minutes: 0}}";
    let report = on_trial(&world, newer(terms)).await;
    answers(&world, 60).await;
    assert_eq!(answers(&world, 20).await, BTreeMap::from([("2.0.0".to_owned(), 20)]));
    assert_eq!(decision(&world, &report), Some(Decision::Promoted));
    assert_eq!(world.report(&report.source).state, PluginState::Ready);
    assert_eq!(world.metric("machinist_plugin_rollouts_total{plugin=\"plain\",step=\"promoted\"}"), 1);
}

#[tokio::test]
async fn traps_withdraw_it_and_the_version_before_answers_all() {
    let world = Fixture::new();
    let settings = serde_json::json!({ "providers": ["plain"], "version": "2.0.0" }).to_string();
    let hostile = Map::new("plain-2", guests::bytes("hostile-driver").expect("the driver builds"))
        .plugin("plain")
        .created(2_000)
        .data("settings.json", &settings)
        .data("rollout.yaml", "{mode: canary, share: 50%}");
    let report = on_trial(&world, hostile).await;
    for uid in 0..40 {
        // Machines of the bad version meet a trap, until it is withdrawn.
        let _answer = create(&world, uid, r#"{"do":"trap"}"#).await;
    }
    assert_eq!(answers(&world, 20).await, BTreeMap::from([("1.0.0".to_owned(), 20)]));
    let withdrawn = world.report(&report.source);
    assert_eq!(withdrawn.state, PluginState::Withdrawn);
    assert_eq!(withdrawn.reason.as_deref(), Some("3 of its calls broke"));
    assert_eq!(world.metric("machinist_plugin_rollouts_total{plugin=\"plain\",step=\"withdrawn\"}"), 1);
    assert_eq!(
        world
            .metric("machinist_plugin_trial_calls_total{plugin=\"plain\",version=\"new\",outcome=\"broken\""),
        3
    );
}

#[tokio::test]
async fn errors_that_only_the_new_one_has_withdraw_it() {
    let world = Fixture::new();
    let terms = "{mode: canary, share: 50%, withdraw: {minimum_calls: 5}}";
    // It is cut off where the other one answers.
    let first_code = newer(terms).data("grants.yaml", "limits: { deadline_ms: 20 }");
    let report = on_trial(&world, first_code).await;
    for uid in 0..40 {
        let _answer = create(&world, uid, r#"{"delayMs":40}"#).await;
    }
    let withdrawn = world.report(&report.source);
    assert_eq!(withdrawn.state, PluginState::Withdrawn, "{withdrawn:?}");
    let reason = withdrawn.reason.expect("a reason");
    assert!(reason.ends_with("of what it was asked fails, and 0.0% in the version that serves"), "{reason}");
}

#[tokio::test]
async fn a_version_that_is_much_slower_withdraws() {
    let world = Fixture::new();
    let settings = serde_json::json!({ "providers": ["plain"], "version": "2.0.0" }).to_string();
    let slow = Map::new("plain-2", guests::bytes("hostile-driver").expect("the driver builds"))
        .plugin("plain")
        .created(2_000)
        .data("settings.json", &settings)
        .data("rollout.yaml", "{mode: canary, share: 50%, withdraw: {minimum_calls: 5}}");
    let report = on_trial(&world, slow).await;
    for uid in 0..30 {
        // The version that serves takes no notice of what the class says.
        create(&world, uid, r#"{"do":"sleep","ms":60}"#).await.expect("both answer");
    }
    let withdrawn = world.report(&report.source);
    assert_eq!(withdrawn.state, PluginState::Withdrawn, "{withdrawn:?}");
    let reason = withdrawn.reason.expect("a reason");
    assert!(reason.starts_with("its CreateMachine takes ") && reason.contains("(median)"), "{reason}");
    assert_eq!(answers(&world, 20).await, BTreeMap::from([("1.0.0".to_owned(), 20)]));
}

#[tokio::test]
async fn a_class_that_pins_a_digest_gets_it_whatever_is_on_trial() {
    let world = Fixture::new();
    let first = world.ready(stable()).await;
    let second = world.declare(newer("{mode: canary, share: 100%}")).await;
    for (report, expected) in [(&first, "1.0.0"), (&second, "2.0.0")] {
        let mut pinned = request("plain", "{}");
        pinned.class.driver_digest = report.digest.map(|digest| DriverDigest::from_bytes(digest.bytes()));
        assert_eq!(version(&world.host.create(pinned).await), expected);
    }
}

#[tokio::test]
async fn a_person_ends_a_trial_by_an_annotation() {
    let world = Fixture::new();
    let map = || newer("{mode: canary, share: 100%}");
    let report = on_trial(&world, map()).await;
    let digest = report.digest.expect("a digest");
    world.declare(map().annotation(PluginKeys::ROLLOUT_ANNOTATION, &format!("withdraw={digest}"))).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    assert_eq!(world.report(&report.source).reason.as_deref(), Some("somebody has withdrawn it"));
    world.declare(map().annotation(PluginKeys::ROLLOUT_ANNOTATION, &format!("promote={digest}"))).await;
    assert_eq!(world.version("plain").await, "2.0.0");
    assert_eq!(decision(&world, &report), Some(Decision::Promoted));
}

#[tokio::test]
async fn decisions_hold_after_a_restart_of_the_host() {
    let world = Fixture::new();
    let report = on_trial(&world, newer("{mode: canary, share: 100%}")).await;
    let (digest, content) = (report.digest.expect("a digest"), report.content.expect("content"));
    let status = |decision: &str, content: &str| {
        let rollout =
            serde_json::json!({ "digest": digest.to_string(), "decision": decision, "reason": "slow" });
        serde_json::json!({ "content": content, "rollout": rollout }).to_string()
    };
    for (decision, content, state) in [
        ("withdrawn", content.to_string(), PluginState::Withdrawn),
        ("promoted", content.to_string(), PluginState::Ready),
        // Of other settings.
        ("promoted", "00".repeat(32), PluginState::Trial),
    ] {
        let next = Fixture::new();
        next.ready(stable()).await;
        let map = newer("{mode: canary, share: 100%}");
        let report = next.declare(map.annotation("machinist.dev/status", &status(decision, &content))).await;
        assert_eq!(report.state, state, "{decision} {content}");
    }
}

#[tokio::test]
async fn a_withdrawn_version_that_is_alone_after_a_restart_deletes_and_creates_nothing() {
    let world = Fixture::new();
    let map = || Map::plain("plain-1", "2.0.0", &["plain"]).plugin("plain");
    let report = world.ready(map()).await;
    let digest = report.digest.expect("a digest");
    let withdrawn = || map().annotation(PluginKeys::ROLLOUT_ANNOTATION, &format!("withdraw={digest}"));
    for next in [world, Fixture::new()] {
        let report = next.declare(withdrawn()).await;
        assert_eq!((report.state, report.serving), (PluginState::Withdrawn, true));
        let refusal = create(&next, 1, "{}").await.expect_err("nothing is made").to_string();
        for part in ["version 2.0.0 was withdrawn", "is the only one", "plugin promote"] {
            assert!(refusal.contains(part), "{part} is missing in {refusal}");
        }
        // The driver itself is asked, and knows no VM.
        let looked = next.host.get_status(request("plain", "{}")).await;
        assert!(matches!(looked, Err(CallError::Guest(_))), "{looked:?}");
        next.host.delete(request("plain", "{}")).await.expect("it deletes");
        next.declare(map().annotation(PluginKeys::ROLLOUT_ANNOTATION, &format!("promote={digest}"))).await;
        assert_eq!(next.version("plain").await, "2.0.0");
    }
}

#[tokio::test]
async fn attack_a_class_pins_a_version_that_was_withdrawn() {
    let world = Fixture::new();
    world.ready(stable()).await;
    let map = || newer("{mode: canary, share: 100%}");
    let report = on_trial(&world, map()).await;
    let digest = report.digest.expect("a digest");
    world.declare(map().annotation(PluginKeys::ROLLOUT_ANNOTATION, &format!("withdraw={digest}"))).await;
    assert_eq!(world.report(&report.source).state, PluginState::Withdrawn);
    let pinned = || {
        let mut pinned = request("plain", "{}");
        pinned.class.driver_digest = Some(DriverDigest::from_bytes(digest.bytes()));
        pinned
    };
    let refused = [
        world.host.create(pinned()).await.map(drop).expect_err("nothing is made"),
        world.host.initialize(pinned()).await.map(drop).expect_err("nothing is changed"),
        world.host.reboot(pinned()).await.expect_err("nothing is rebooted"),
    ];
    for refusal in refused {
        let refusal = refusal.to_string();
        for part in
            ["the class names version 2.0.0", "withdrawn (somebody has withdrawn it)", "plugin promote"]
        {
            assert!(refusal.contains(part), "{part} is missing in {refusal}");
        }
    }
    // It still queries and deletes its own VMs.
    let looked = world.host.get_status(pinned()).await;
    assert!(matches!(looked, Err(CallError::Guest(_))), "{looked:?}");
    world.host.delete(pinned()).await.expect("it deletes");
    assert_eq!(world.version("plain").await, "1.0.0", "others are served by the version before");
    world.declare(map().annotation(PluginKeys::ROLLOUT_ANNOTATION, &format!("promote={digest}"))).await;
    assert_eq!(version(&world.host.create(pinned()).await), "2.0.0");
}

#[tokio::test]
async fn the_annotation_with_the_version_counts_before_the_time_of_creation() {
    let world = Fixture::new();
    let map = |name: &str, version: &str, created: i64| {
        Map::plain(name, version, &["plain"])
            .plugin("plain")
            .created(created)
            .annotation("machinist.dev/plugin-version", version)
    };
    world.ready(map("plain-2", "1.10.0", 1_000)).await;
    world.ready(map("plain-1", "1.9.0", 2_000)).await;
    assert_eq!(world.version("plain").await, "1.10.0");
    let misbehaving = Map::plain("odd", "9.0.0", &["plain"]).plugin("plain").created(3_000);
    let report = world.ready(misbehaving.annotation("machinist.dev/plugin-version", "latest")).await;
    assert!(
        !report.serving && report.warnings.iter().any(|warning| warning.contains("\"latest\"")),
        "{report:?}"
    );
}

#[tokio::test]
async fn terms_that_mean_nothing_reject_the_version_and_say_where() {
    let world = Fixture::new();
    world.ready(stable()).await;
    let reason = world.rejected(newer("{mode: canary, share: a lot}")).await;
    assert_eq!(reason, "rollout.yaml is wrong: share is \"a lot\": per cent from 0% to 100%");
    assert_eq!(world.version("plain").await, "1.0.0");
}

#[tokio::test]
async fn a_version_that_breaks_again_after_a_pause_gives_way_to_the_one_before() {
    let world = Fixture::cold(|settings| {
        settings.quarantine.broken_calls = 2;
        settings.quarantine.first = jiff::SignedDuration::from_millis(20);
    });
    world.ready(stable()).await;
    let settings = serde_json::json!({ "providers": ["plain"], "version": "2.0.0" }).to_string();
    let hostile = Map::new("plain-2", guests::bytes("hostile-driver").expect("the driver builds"));
    let report = world.ready(hostile.plugin("plain").created(2_000).data("settings.json", &settings)).await;
    assert!(report.serving);
    while world.report(&report.source).state != PluginState::Withdrawn {
        let _answer = create(&world, 1, r#"{"do":"trap"}"#).await;
    }
    assert_eq!(world.version("plain").await, "1.0.0");
    let reason = world.report(&report.source).reason;
    assert_eq!(reason.as_deref(), Some("its calls broke again after it was left alone"));
}
