//! Which calls run, wait or are refused.

use std::time::Duration;

use jiff::SignedDuration;
use machinist_core::driver::error::{CallError, Code, Refusal};
use machinist_core::driver::{ClassRequest, Creation, ListRequest, SecretValues, VmState};
use machinist_core::value::id::ProviderName;
use machinist_plugin_host::PluginState;

use crate::fixture::{Fixture, Map, class, plain, request, settings, version};

fn provider() -> ProviderName {
    ProviderName::from("plain")
}

#[tokio::test]
async fn every_call_of_the_contract_arrives_and_comes_back() {
    let world = Fixture::new();
    let map = Map::new("plain", plain()).data("settings.json", r#"{"consistencyWindowMs":8000}"#);
    let report = world.ready(map).await;
    let held = report.held.expect("is Ready");
    assert_eq!((held.driver.as_str(), held.version.as_str()), ("plain", "0.1.0"));

    let facts = world.host.facts(&provider(), None).expect("is served");
    assert!(facts.capabilities.status && !facts.capabilities.initialize, "{facts:?}");
    assert_eq!(facts.consistency_window, SignedDuration::from_secs(8));

    let Ok(Creation::Created(vm)) = world.create("Plain", "{}").await else { panic!("no machine") };
    assert_eq!((vm.provider_id.as_str(), vm.node_name.as_str()), ("plain:///0.1.0/uid-1", "machine-1"));
    assert_eq!(vm.state, VmState::Running);

    let mut known = request("plain", "{}");
    known.machine.provider_id = Some(vm.provider_id.clone());
    let shown = vm.clone();
    assert_eq!(world.host.get_status(known.clone()).await, Ok(vm));
    let error = world.host.get_status(request("plain", "{}")).await.expect_err("no provider id");
    assert_eq!(error.code(), Code::NotFound);
    assert!(world.host.delete(known.clone()).await.is_ok());
    let is_unimplemented =
        |error: &CallError| matches!(error, CallError::Guest(error) if error.code == Code::Unimplemented);
    let error = world.host.initialize(known.clone()).await.expect_err("not offered");
    assert!(is_unimplemented(&error), "{error:?}");
    // Interfaces that it does not export.
    let capabilities = facts.capabilities;
    assert!(!capabilities.node_id && !capabilities.placement && !capabilities.capacity);
    assert!(!capabilities.interruption);
    let class_request = ClassRequest { class: class("plain", "{}"), secrets: SecretValues::default() };
    for error in [
        world.host.node_id(known.clone(), shown).await.expect_err("not exported"),
        world.host.place(known.clone(), "a".into()).await.expect_err("not exported"),
        world.host.is_interruptible(known).await.expect_err("not exported"),
        world.host.node_capacity(class_request).await.expect_err("not exported"),
    ] {
        assert!(is_unimplemented(&error), "{error:?}");
    }

    let list = ListRequest {
        class: class("plain", "{}"),
        cluster: "cluster-1".to_owned(),
        token: None,
        secrets: SecretValues::default(),
    };
    assert!(world.host.list(list).await.expect("lists").machines.is_empty());
    let ids = world.host.get_volume_ids(provider(), None, vec!["{}".to_owned(); 3]).await;
    assert_eq!(ids, Ok(vec![None; 3]));
    assert_eq!(world.host.validate_class(class("plain", "{}")).await, Ok(Vec::new()));
    let error = world.host.validate_class(class("plain", "[")).await.expect_err("not JSON");
    assert!(matches!(&error, CallError::Guest(error) if error.terminal), "{error:?}");
}

#[tokio::test]
async fn an_unknown_provider_is_refused_at_once_with_what_there_is() {
    let world = Fixture::new();
    world.ready(Map::plain("plain", "1.0.0", &["plain", "other"])).await;
    let error = world.create("azure", "{}").await.expect_err("not served");
    assert_eq!(error.to_string(), "no plugin serves provider \"azure\"; served are other, plain");
}

#[tokio::test]
async fn a_call_waits_for_a_plugin_that_is_being_compiled() {
    let world = Fixture::cold(|_| {});
    world.host.declare(Map::plain("plain", "1.0.0", &["plain"]).0).await;
    assert!(matches!(world.host.facts(&provider(), None), Err(Refusal::Loading { .. })));
    assert_eq!(world.version("plain").await, "1.0.0");
}

#[tokio::test]
async fn a_call_does_not_wait_longer_than_the_settings_say() {
    let world = Fixture::cold(|settings| {
        settings.load_timeout = Duration::from_millis(50);
        // A compiler that reads on and never answers.
        settings.compiler = "/bin/sh".into();
        settings.compiler_args = ["-c", "while :; do read -r line; done"].map(Into::into).to_vec();
    });
    world.host.declare(Map::plain("plain", "1.0.0", &["plain"]).0).await;
    let error = world.create("plain", "{}").await.expect_err("never ready");
    assert!(matches!(&error, CallError::Refused(Refusal::Loading { .. })), "{error:?}");
    world.host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_the_limit_wait_for_their_turn_and_too_many_are_refused() {
    let mut settings = settings();
    settings.max_calls_in_flight = 2;
    settings.max_calls_waiting = 1;
    let world = Fixture::with(settings);
    let report = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    let slow = || {
        let host = world.host.clone();
        tokio::spawn(async move { host.create(request("plain", r#"{"delayMs":700}"#)).await })
    };
    let running = [slow(), slow()];
    while world.report(&report.source).held.expect("is Ready").calls_in_flight < 2 {
        tokio::task::yield_now().await;
    }
    let waiting = slow();
    while world.metric("machinist_plugin_calls_waiting") < 1 {
        tokio::task::yield_now().await;
    }
    let refused = world.create("plain", "{}").await;
    assert_eq!(refused, Err(CallError::Refused(Refusal::Busy { plugin: "plain".to_owned() })));
    for call in running.into_iter().chain([waiting]) {
        assert_eq!(version(&call.await.expect("ends")), "1.0.0");
    }
}

#[tokio::test]
async fn calls_beyond_those_of_a_minute_are_refused_and_say_when_to_come_again() {
    let world = Fixture::new();
    let map = |version: &str| {
        let grants = "limits: { calls_per_minute: 3 }";
        Map::plain(&format!("plain-{version}"), version, &["plain"])
            .plugin("plain")
            .data("grants.yaml", grants)
    };
    world.ready(map("1.0.0")).await;
    world.ready(Map::plain("other", "1.0.0", &["other"])).await;
    for _ in 0..2 {
        assert_eq!(world.version("plain").await, "1.0.0");
    }
    // Another version shares the same minute.
    world.ready(map("2.0.0").created(1_900_000_000)).await;
    assert_eq!(world.version("plain").await, "2.0.0");
    for _ in 0..30 {
        let error = world.create("plain", "{}").await.expect_err("is refused");
        let CallError::Refused(Refusal::TooOften { plugin, per_minute: 3, .. }) = &error else {
            panic!("{error:?}")
        };
        let seconds = error.retry_after().expect("is said").as_secs();
        assert!(plugin == "plain" && (1..=20).contains(&seconds), "{error:?}");
        assert!(!error.may_have_happened());
    }
    let refused =
        "machinist_plugin_calls_total{plugin=\"plain\",operation=\"CreateMachine\",outcome=\"refused\"";
    assert_eq!(world.metric(refused), 30, "counted, and no reason for a quarantine");
    assert_eq!(world.version("other").await, "1.0.0");
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_nothing_behind() {
    let world = Fixture::new();
    let report = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    let hour = world.create("plain", r#"{"delayMs":3600000}"#);
    assert!(tokio::time::timeout(Duration::from_millis(100), hour).await.is_err());
    while world.report(&report.source).held.expect("is Ready").calls_in_flight > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.metric("machinist_plugin_calls_in_flight{plugin=\"plain\"}"), 0);
    assert_eq!(world.version("plain").await, "1.0.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_calls_and_refuses_further_ones() {
    let world = Fixture::new();
    let report = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    let host = world.host.clone();
    let running = tokio::spawn(async move { host.create(request("plain", r#"{"delayMs":500}"#)).await });
    while world.report(&report.source).held.expect("is Ready").calls_in_flight < 1 {
        tokio::task::yield_now().await;
    }
    world.host.shutdown().await;
    assert_eq!(world.report(&report.source).held.expect("is Ready").calls_in_flight, 0);
    assert_eq!(version(&running.await.expect("ends")), "1.0.0");
    let refused = world.create("plain", "{}").await;
    assert_eq!(refused, Err(CallError::Refused(Refusal::ShuttingDown)));
}

#[tokio::test]
async fn each_step_of_a_load_is_reported() {
    use futures::StreamExt as _;

    let world = Fixture::cold(|_| {});
    let mut changes = std::pin::pin!(world.host.changes());
    world.host.declare(Map::plain("plain", "1.0.0", &["plain"]).0).await;
    let mut states = Vec::new();
    while states.last() != Some(&PluginState::Ready) {
        let report = changes.next().await.expect("the host lives");
        assert_eq!(report.serving, report.state == PluginState::Ready);
        states.push(report.state);
    }
    let expected = [PluginState::Declared, PluginState::Fetched, PluginState::Verified, PluginState::Ready];
    assert_eq!(states, expected);
}
