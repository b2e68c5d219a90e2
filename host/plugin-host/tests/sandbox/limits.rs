//! A driver that misbehaves breaks its own call, by the name of the limit, and nothing else. Floods of each kind are in
//! `attacks`.

use std::sync::Arc;
use std::time::Duration;

use machinist_core::driver::error::{Broken, CallError, GuestFailure, Refusal};
use machinist_plugin_host::{PluginReport, PluginState};

use crate::fixture::{Fixture, Map, settings};

/// Small limits, so that each is hit within a moment.
const GRANTS: &str =
    "limits: { memory_mib: 32, cpu_ms: 200, deadline_ms: 3000, copied_kib: 1024, handles: 100 }";

async fn world() -> (Fixture, PluginReport) {
    granted(GRANTS).await
}

async fn granted(grants: &str) -> (Fixture, PluginReport) {
    let mut settings = settings();
    // The tests of limits break one call after the other.
    settings.quarantine.broken_calls = 1_000;
    let world = Fixture::with(settings);
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let report = world.ready(Map::new("hostile", hostile).data("grants.yaml", grants)).await;
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    (world, report)
}

/// A call begins on its caller's thread, which has other things to do.
#[tokio::test]
async fn a_loop_is_over_for_the_callers_thread_after_a_moment() {
    let (world, _) = world().await;
    let before = own_cpu();
    world.create("hostile", r#"{"do":"loop"}"#).await.expect_err("breaks");
    let used = own_cpu() - before;
    assert!(used < Duration::from_millis(60), "of the 200 ms of the loop the caller's thread bore {used:?}");
}

/// Processor time of this thread, to which the runtime of a test keeps.
fn own_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts");
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("a number"))
}

#[tokio::test]
async fn waiting_ends_at_the_deadline() {
    let (world, _) = world().await;
    let error = world.create("hostile", r#"{"do":"sleep"}"#).await.expect_err("sleeps for an hour");
    assert_eq!(error.to_string(), "the plugin hit its deadline limit (3000 ms)");
}

#[tokio::test]
async fn waiting_costs_no_processor_time() {
    let (world, _) = world().await;
    // Five times the processor time of a call, most of it asleep.
    let answer = world.create("hostile", r#"{"do":"sleep","ms":1000}"#).await;
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test]
async fn a_panic_is_a_trap_with_its_message() {
    let (world, _) = world().await;
    let error =
        world.create("hostile", r#"{"do":"trap","message":"out of cheese"}"#).await.expect_err("traps");
    let CallError::Broken(Broken { failure: GuestFailure::Trap { detail }, .. }) = &error else {
        panic!("{error:?}")
    };
    assert!(detail.contains("unreachable") && detail.contains("out of cheese"), "{detail}");
    let error = world.create("hostile", r#"{"do":"exit","status":3}"#).await.expect_err("exits");
    assert!(
        matches!(&error, CallError::Broken(Broken { failure: GuestFailure::Trap { .. }, .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_call_that_broke_may_have_happened_only_once_a_request_has_left() {
    // It accepts connections and answers none.
    let cloud = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = cloud.local_addr().expect("an address").port();
    let rule = format!("{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}");
    let (world, _) = granted(&format!("{GRANTS}\negress: [{rule}]")).await;
    let broken = async |url: &str| {
        let spec = format!(r#"{{"do":"fetch","url":"{url}","then":"trap"}}"#);
        let error = world.create("hostile", &spec).await.expect_err("breaks");
        assert!(matches!(error, CallError::Broken(_)), "{error:?}");
        error.may_have_happened()
    };
    assert!(!broken("http://elsewhere.test/").await, "a request that was refused has not left");
    assert!(broken(&format!("http://127.0.0.1:{port}/")).await);
    let trap = world.create("hostile", r#"{"do":"trap"}"#).await.expect_err("traps");
    assert!(!trap.may_have_happened(), "{trap:?}");
    let late = world.create("hostile", r#"{"do":"sleep"}"#).await.expect_err("sleeps for an hour");
    assert!(!late.may_have_happened(), "{late:?}");
}

#[tokio::test]
async fn floods_of_output_are_dropped_and_the_call_continues() {
    // Ten thousand calls of the host take their time on a busy machine, and time is not what this is about.
    let (world, _) = granted("limits: { memory_mib: 32, cpu_ms: 2500, deadline_ms: 3000 }").await;
    for spec in [r#"{"do":"log"}"#, r#"{"do":"stderr","lines":10000,"bytes":100}"#] {
        let answer = world.create("hostile", spec).await;
        assert!(answer.is_ok(), "{spec}: {answer:?}");
    }
}

#[tokio::test]
async fn a_run_of_broken_calls_is_a_quarantine_and_others_go_on() {
    let mut settings = settings();
    settings.quarantine.broken_calls = 3;
    let world = Fixture::with(settings);
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let report = world.ready(Map::new("hostile", hostile)).await;
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    for _ in 0..3 {
        let error = world.create("hostile", r#"{"do":"trap"}"#).await.expect_err("traps");
        assert_eq!(error.category(), "broken");
    }
    let error = world.create("hostile", "{}").await.expect_err("is quarantined");
    let CallError::Refused(Refusal::NotReady { plugin, state }) = &error else { panic!("{error:?}") };
    assert!(plugin == "hostile" && state.starts_with("quarantined until"), "{error:?}");
    let report = world.report(&report.source);
    assert!(matches!(report.state, PluginState::Quarantined { .. }), "{report:?}");
    assert_eq!(world.version("plain").await, "1.0.0");
}

/// A defect of the host that a component finds costs this component its load or its call, and affects no other.
#[tokio::test]
async fn a_panic_of_the_host_ends_the_call_or_the_load_in_which_it_happens() {
    let mut settings = settings();
    settings.log_listener = Some(Arc::new(|line| assert!(line.fields.is_empty(), "a defect, by order")));
    let world = Fixture::with(settings);
    let hostile = || Map::new("hostile", guests::bytes("hostile-driver").expect("the driver builds"));
    world.ready(hostile()).await;
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    let error = world.create("hostile", r#"{"do":"log","lines":1,"pairs":1}"#).await.expect_err("breaks");
    assert!(error.to_string().contains("the host failed during the call"), "{error}");
    assert!(world.create("hostile", r#"{"do":"log","lines":1}"#).await.is_ok());
    let describe = r#"{"describe":{"do":"log","lines":1,"pairs":1}}"#;
    let reason = world.rejected(hostile().data("settings.json", describe)).await;
    assert!(reason.contains("a part of the host gave up; next attempt"), "{reason}");
    assert!(world.create("hostile", "{}").await.is_ok(), "what served before serves on");
    assert_eq!(world.version("plain").await, "1.0.0");
}
