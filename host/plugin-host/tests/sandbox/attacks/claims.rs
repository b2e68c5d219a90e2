//! Attacks on the provider of another plugin, to get its Secrets and user data.

use std::time::Duration;

use machinist_core::driver::error::{CallError, Refusal};
use machinist_plugin_host::{PluginReport, PluginState, SourceId};
use serde_json::json;

use crate::fixture::{Fixture, Map, request, version};

const STATUS: &str = "machinist.dev/status";

/// The status that an earlier host wrote about a plugin.
fn status(plugin: &str, serves: &[&str]) -> String {
    json!({ "plugin": plugin, "serves": serves }).to_string()
}

fn thief() -> Map {
    Map::plain("evilcloud", "6.6.6", &["evilcloud", "plain"]).created(1_000)
}

fn honest() -> Map {
    Map::plain("plain", "1.0.0", &["plain"]).created(2_000)
}

/// The report of a source once it says this.
async fn until(world: &Fixture, id: &SourceId, is_it: impl Fn(&PluginReport) -> bool) -> PluginReport {
    for _ in 0..600 {
        let report = world.report(id);
        if is_it(&report) {
            return report;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{:?}", world.report(id));
}

fn is_rejected(report: &PluginReport) -> bool {
    report.state == PluginState::Rejected && report.claim_denied
}

#[tokio::test]
async fn attack_a_driver_that_claims_more_than_its_grants_name_is_rejected() {
    let world = Fixture::new();
    let reason = world.rejected(thief().data("grants.yaml", "providers: [evilcloud]")).await;
    assert!(reason.contains("it claims provider plain, and its grants name only evilcloud"), "{reason}");
    world.ready(honest()).await;
    assert_eq!(world.version("plain").await, "1.0.0");
}

#[tokio::test]
async fn attack_a_driver_that_claims_the_provider_of_another_after_a_restart_is_rejected() {
    let world = Fixture::new();
    world.host.listing();
    let (thief, honest) = (thief().annotation(STATUS, &status("evilcloud", &["evilcloud"])), honest());
    let honest = honest.annotation(STATUS, &status("plain", &["plain"]));
    let (thief_id, honest_id) = (thief.id(), honest.id());
    world.host.declare(thief.0).await;
    // It is older and loaded before the other one is known, and gets nothing.
    let waits =
        |report: &PluginReport| report.reason.as_deref().is_some_and(|reason| reason.contains("waits until"));
    until(&world, &thief_id, waits).await;
    world.host.declare(honest.0).await;
    world.host.listed();
    until(&world, &honest_id, |report| report.state == PluginState::Ready && report.serving).await;
    let rejected = until(&world, &thief_id, is_rejected).await;
    assert!(rejected.reason.is_some_and(|reason| reason.contains("served by plugin plain")));
    assert_eq!(world.version("plain").await, "1.0.0");
    assert_eq!(world.report(&honest_id).serves, ["plain".into()], "for the next start");
}

#[tokio::test]
async fn attack_a_rejected_claim_stays_rejected_over_restarts_until_somebody_promotes_it() {
    let world = Fixture::new();
    let before = world.ready(honest()).await;
    world.rejected(thief()).await;
    world.host.withdraw(before.source).await;
    let thief_id = thief().id();
    let report = world.report(&thief_id);
    assert!(is_rejected(&report) && !report.serving, "{report:?}");
    let content = report.content.expect("a content").to_string();
    // The next host reads what this one wrote.
    let denied = json!({ "plugin": "evilcloud", "content": content, "claimDenied": true }).to_string();
    let next = Fixture::new();
    let reason = next.rejected(thief().annotation(STATUS, &denied)).await;
    assert!(reason.contains("another plugin's when it was loaded first"), "{reason}");
    let digest = next.report(&thief_id).digest.expect("a digest");
    let promoted = thief().annotation("machinist.dev/rollout", &format!("promote={digest}"));
    next.host.declare(promoted.0).await;
    until(&next, &thief_id, |report| report.state == PluginState::Ready && report.serving).await;
    assert!(!next.report(&thief_id).claim_denied);
}

#[tokio::test]
async fn attack_a_driver_whose_grants_are_silent_gives_way_to_one_whose_grants_are_not() {
    let world = Fixture::new();
    let thief = world.ready(thief()).await;
    world.ready(honest().data("grants.yaml", "providers: [plain]")).await;
    assert_eq!(world.version("plain").await, "1.0.0");
    let report = world.report(&thief.source);
    assert!(is_rejected(&report), "{report:?}");
    assert!(report.reason.is_some_and(|reason| reason.contains("named by the grants of plugin plain")));
}

#[tokio::test]
async fn attack_a_plugin_that_serves_the_class_gets_no_secret_that_is_for_another() {
    let world = Fixture::new();
    world.ready(Map::plain("evilcloud", "6.6.6", &["evilcloud"])).await;
    let bound_to = |plugin: &str| {
        let mut request = request("evilcloud", "{}");
        request.secrets.plugins = Some([plugin.into()].into());
        request
    };
    let create = world.host.create(bound_to("aws")).await.map(drop);
    let delete = world.host.delete(bound_to("aws")).await.map(drop);
    let status = world.host.get_status(bound_to("aws")).await.map(drop);
    for answer in [create, delete, status] {
        let refusal = Refusal::SecretsOfOthers { plugin: "evilcloud".to_owned() };
        assert_eq!(answer, Err(CallError::Refused(refusal)));
    }
    assert_eq!(version(&world.host.create(bound_to("evilcloud")).await), "6.6.6");
}
