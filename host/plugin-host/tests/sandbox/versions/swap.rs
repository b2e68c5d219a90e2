//! Generations change under running calls, and nothing is lost.

use std::collections::BTreeMap;

use futures::future::join_all;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::value::digest::DriverDigest;
use machinist_plugin_host::PluginState;

use crate::fixture::{Fixture, Map, marked, plain, request, settings, version};

const CALLS: usize = 200;

fn roomy() -> Fixture {
    let mut settings = settings();
    settings.max_calls_in_flight = CALLS + 8;
    settings.default_limits.calls_in_flight = CALLS + 8;
    Fixture::with(settings)
}

fn swappable(version: &str) -> Map {
    Map::plain("plain", version, &["plain"]).binary("plugin.wasm", marked(&plain(), version))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_in_flight_end_on_the_version_that_took_them() {
    let world = roomy();
    let first = world.ready(swappable("1.0.0")).await;
    let calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let host = world.host.clone();
            tokio::spawn(async move { host.create(request("plain", r#"{"delayMs":1500}"#)).await })
        })
        .collect();
    let in_flight = || world.report(&first.source).held.expect("is Ready").calls_in_flight;
    while in_flight() < CALLS {
        tokio::task::yield_now().await;
    }

    let second = world.ready(swappable("2.0.0")).await;
    assert_ne!(first.digest, second.digest);
    assert_eq!(world.version("plain").await, "2.0.0");
    assert!(calls.iter().any(|call| !call.is_finished()), "the swap happened while calls were running");

    for call in join_all(calls).await {
        assert_eq!(version(&call.expect("ends")), "1.0.0");
    }
    assert_eq!(world.metric("machinist_plugin_swaps_total{plugin=\"plain\"}"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_callers_see_one_version_or_the_other_and_no_failure() {
    let world = roomy();
    world.ready(swappable("1.0.0")).await;
    let callers: Vec<_> = (0..CALLS)
        .map(|_| {
            let host = world.host.clone();
            tokio::spawn(async move {
                // Until the last version answers: every caller lives through all the swaps.
                let mut seen = BTreeMap::<String, usize>::new();
                while !seen.contains_key("4.0.0") {
                    let answer = host.create(request("plain", "{}")).await;
                    *seen.entry(version(&answer)).or_default() += 1;
                }
                seen
            })
        })
        .collect();
    for version in ["2.0.0", "3.0.0", "4.0.0"] {
        world.ready(swappable(version)).await;
    }
    let mut total = BTreeMap::<String, usize>::new();
    for caller in join_all(callers).await {
        for (version, answers) in caller.expect("no call fails") {
            *total.entry(version).or_default() += answers;
        }
    }
    assert!(total.values().sum::<usize>() >= CALLS && total.contains_key("4.0.0"), "{total:?}");
    assert_eq!(world.metric("machinist_plugin_swaps_total{plugin=\"plain\"}"), 3);
    let ok =
        "machinist_plugin_calls_total{plugin=\"plain\",operation=\"CreateMachine\",outcome=\"ok\",source=";
    assert_eq!(world.metric(ok), total.values().sum::<usize>() as u64);
}

#[tokio::test]
async fn the_newest_configmap_of_a_plugin_serves_and_the_older_one_when_it_goes() {
    let world = Fixture::new();
    let old = Map::plain("plain-old", "1.0.0", &["plain"]).plugin("plain").created(1_000);
    let new = Map::plain("plain-new", "2.0.0", &["plain"]).plugin("plain").created(2_000);
    let new_id = new.id();
    world.ready(new).await;
    let old = world.ready(old).await;
    assert!(!old.serving);
    assert_eq!(world.version("plain").await, "2.0.0");
    world.host.withdraw(new_id).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    assert!(world.report(&old.source).serving);
}

#[tokio::test]
async fn two_plugins_for_one_provider_are_a_conflict_and_the_first_stays() {
    let world = Fixture::new();
    let first = world.ready(Map::plain("first", "1.0.0", &["plain"])).await;
    let second = Map::plain("second", "2.0.0", &["plain", "other"]);
    let second_id = second.id();
    let reason = world.rejected(second).await;
    let expected = "provider plain is served by plugin first, and the first stays; it stays rejected until";
    assert!(reason.starts_with(expected), "{reason}");
    assert_eq!(world.version("plain").await, "1.0.0");
    let refused = world.create("other", "{}").await;
    assert!(matches!(refused, Err(CallError::Refused(Refusal::UnknownProvider { .. }))), "{refused:?}");

    // Waiting does not help it; an edit does.
    world.host.withdraw(first.source).await;
    let refused = world.create("plain", "{}").await;
    assert!(matches!(refused, Err(CallError::Refused(Refusal::UnknownProvider { .. }))), "{refused:?}");
    assert_eq!(world.report(&second_id).state, PluginState::Rejected);
    let edited =
        Map::plain("second", "2.0.0", &["plain", "other"]).data("grants.yaml", "providers: [plain, other]");
    world.ready(edited).await;
    assert_eq!(world.version("plain").await, "2.0.0");
}

#[tokio::test]
async fn a_class_without_a_provider_learns_which_one_to_write() {
    let world = Fixture::new();
    let refused = || async { world.create("", "{}").await.expect_err("no driver").to_string() };
    let advice = "no plugin serves provider \"\"; the MachineClass names none: set its field provider";
    assert_eq!(refused().await, advice);
    world.ready(Map::plain("plain", "1.0.0", &["plain", "other"])).await;
    assert_eq!(refused().await, format!("{advice} to one of other, plain"), "also with one plugin");
}

#[tokio::test]
async fn a_withdrawn_plugin_serves_no_more() {
    let world = Fixture::new();
    let report = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    world.host.withdraw(report.source).await;
    let refused = world.create("plain", "{}").await;
    assert!(matches!(refused, Err(CallError::Refused(Refusal::UnknownProvider { .. }))), "{refused:?}");
    assert_eq!(world.host.plugins(), Vec::new());
}

#[tokio::test]
async fn a_class_may_pin_a_version_by_its_digest() {
    let world = Fixture::new();
    let map = |name: &str, version: &str, created| {
        let component = marked(&plain(), version);
        Map::plain(name, version, &["plain"])
            .plugin("plain")
            .binary("plugin.wasm", component)
            .created(created)
    };
    let old = world.ready(map("old", "1.0.0", 1_000)).await;
    world.ready(map("new", "2.0.0", 2_000)).await;
    let pinned = |digest: DriverDigest| {
        let mut request = request("plain", "{}");
        request.class.driver_digest = Some(digest);
        world.host.create(request)
    };
    let old = old.digest.expect("is unpacked");
    assert_eq!(version(&pinned(DriverDigest::from_bytes(old.bytes())).await), "1.0.0");
    let unknown = DriverDigest::from_bytes([7; 32]);
    let refused = pinned(unknown).await;
    let Err(CallError::Refused(Refusal::NotLoaded { pin, loaded, .. })) = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(*pin, unknown);
    assert!(loaded.contains(&format!("{old} (plain 1.0.0)")) && loaded.contains("2.0.0, serves"), "{loaded}");
}
