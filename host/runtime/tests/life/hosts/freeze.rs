//! API servers that are unreachable, and operators who request a freeze.

use std::time::Duration;

use serde_json::json;

use crate::fixture::stage::{NAMESPACE, Stage, in_namespace};
use memory_api::wire::{Call, Handling};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn ask_to_freeze(stage: &Stage) {
    let map = json!({ "metadata": { "name": "machinist-freeze", "namespace": NAMESPACE } });
    stage.api.create("configmaps", &map).unwrap();
}

fn let_go(stage: &Stage) {
    stage.api.delete("configmaps", &in_namespace("machinist-freeze")).unwrap();
}

/// Nothing of the target cluster is reachable.
fn cut_target(stage: &Stage) {
    stage
        .wire
        .plan(|call: &Call| if call.what.starts_with("nodes") { Handling::Lose } else { Handling::Pass });
}

fn message(stage: &Stage, name: &str) -> String {
    stage.machine(name).unwrap()["status"]["machinist"]["conditions"][0]["message"].to_string()
}

#[tokio::test(start_paused = true)]
async fn while_an_operator_asks_for_it_creation_waits_and_says_so_and_deletion_goes_on() {
    let (stage, _host) = Stage::running_for(SECOND).await;
    ask_to_freeze(&stage);
    tokio::time::sleep(11 * SECOND).await;
    stage.add_machine("b");
    stage.until("b says why it waits", SECOND, || stage.reason("b") == "Frozen").await;
    assert!(message(&stage, "b").contains("ConfigMap machinist-freeze"), "{}", message(&stage, "b"));
    assert!(stage.events("machinist-freeze").contains(&"Frozen".to_owned()));
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    tokio::time::sleep(120 * MINUTE).await;
    assert_eq!(stage.reason("b"), "Frozen");
    assert_eq!(stage.cloud.made().len(), 1, "no VM for b");
    let_go(&stage);
    stage.until("b runs", 20 * SECOND, || stage.phase("b") == "Running").await;
    assert!(stage.events("machinist-freeze").contains(&"Thawed".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_request_from_before_the_start_holds_the_first_create() {
    let stage = Stage::set();
    ask_to_freeze(&stage);
    stage.add_machine("a");
    let _host = stage.host("host");
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((stage.reason("a").as_str(), stage.cloud.made().len()), ("Frozen", 0));
    let_go(&stage);
    stage.until_running("a").await;
}

#[tokio::test(start_paused = true)]
async fn a_target_cluster_that_is_away_holds_creation_until_it_is_back() {
    let (stage, _host) = Stage::running_for(SECOND).await;
    cut_target(&stage);
    tokio::time::sleep(2 * MINUTE).await;
    stage.add_machine("b");
    stage.until("b says why it waits", SECOND, || stage.reason("b") == "Frozen").await;
    assert!(message(&stage, "b").contains("target cluster"), "{}", message(&stage, "b"));
    stage.wire.heal();
    stage.until("b runs", 10 * SECOND, || stage.phase("b") == "Running").await;
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_nothing_is_made_before_all_that_happened_is_known() {
    let (stage, _host) = Stage::running_for(SECOND).await;
    stage.wire.plan(|_| Handling::Lose);
    tokio::time::sleep(2 * MINUTE).await;
    // The server is back and answers each question, but one kind cannot be listed yet.
    stage.wire.plan(|call: &Call| {
        let is_held = call.verb == "LIST" && call.what == "machineclasses";
        if is_held { Handling::Refuse(503) } else { Handling::Pass }
    });
    stage.add_machine("b");
    stage.until("b says why it waits", MINUTE, || stage.reason("b") == "Frozen").await;
    let is_reported = || message(&stage, "b").contains("is being listed");
    stage.until("it says that all is being listed", MINUTE, is_reported).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(stage.cloud.made().len(), 1, "no VM for b");
    stage.wire.heal();
    stage.until("b runs", 20 * SECOND, || stage.phase("b") == "Running").await;
    let lists = |what: &'static str| {
        stage.wire.records(move |call: &Call| call.verb == "LIST" && call.what == what).len()
    };
    assert_eq!((lists("machines"), lists("nodes")), (2, 2), "once at the start, once after the outage");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_answers_with_errors_only_counts_as_away() {
    let (stage, _host) = Stage::running_for(SECOND).await;
    for code in [401, 403, 500, 503] {
        stage.wire.plan(move |call: &Call| {
            if ["machinist-probe", "machinist-freeze"].contains(&call.name.as_str()) {
                Handling::Refuse(code)
            } else {
                Handling::Pass
            }
        });
        tokio::time::sleep(2 * MINUTE).await;
        let name = format!("b{code}");
        stage.add_machine(&name);
        stage.until("it says why it waits", SECOND, || stage.reason(&name) == "Frozen").await;
        stage.wire.heal();
        stage.until_running(&name).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_host_asks_each_server_once_in_a_while_and_with_one_request() {
    let (stage, _host) = Stage::running_for(10 * MINUTE).await;
    let asked = |name: &'static str| {
        stage.wire.records(move |call: &Call| call.verb == "GET" && call.name == name).len()
    };
    let before = (asked("machinist-freeze"), asked("machinist-probe"));
    tokio::time::sleep(10 * MINUTE).await;
    let rounds = asked("machinist-freeze") - before.0;
    assert!((10..=25).contains(&rounds), "{rounds} rounds in ten minutes");
    assert_eq!(
        asked("machinist-probe") - before.1,
        rounds,
        "the target cluster; the control cluster was asked"
    );
}

#[tokio::test(start_paused = true)]
async fn an_account_that_may_not_read_the_request_to_freeze_has_no_server_away() {
    let (stage, _host) = Stage::running_for(SECOND).await;
    stage.wire.plan(
        |call: &Call| {
            if call.name == "machinist-freeze" { Handling::Refuse(403) } else { Handling::Pass }
        },
    );
    tokio::time::sleep(5 * MINUTE).await;
    stage.add_machine("b");
    stage.until_running("b").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_for_moments_holds_nothing_however_often() {
    let (stage, _host) = Stage::running_for(SECOND).await;
    for _ in 0..20 {
        cut_target(&stage);
        tokio::time::sleep(25 * SECOND).await;
        stage.wire.heal();
        tokio::time::sleep(65 * SECOND).await;
    }
    assert!(!stage.events("machine-controller").contains(&"Frozen".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_health_time_out_that_ends_in_an_outage_fails_nobody_then_and_later_starts_again() {
    let (stage, _host) = Stage::running_for(SECOND).await;
    fall_ill(&stage);
    stage.until("Unknown", SECOND, || stage.phase("a") == "Unknown").await;
    tokio::time::sleep(5 * MINUTE).await;
    cut_target(&stage);
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.phase("a"), "Unknown", "nobody is failed while nobody can report");
    stage.wire.heal();
    let begun = stage.wire.elapsed();
    stage.until("Failed", 12 * MINUTE, || stage.phase("a") == "Failed").await;
    let waited = stage.wire.elapsed() - begun;
    assert!(waited >= 10 * MINUTE, "a new health clock, but it failed after {waited:?}");
    let reported = stage.events("a");
    assert!(reported.contains(&"HealthTimeoutReset".to_owned()), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_after_an_outage_starts_health_clocks_again_and_one_after_a_restart_does_not() {
    for (absence, is_outage) in [(20 * MINUTE, true), (SECOND, false)] {
        let stage = Stage::set();
        let host = stage.candidate("one");
        stage.add_running("a").await;
        fall_ill(&stage);
        stage.until("Unknown", SECOND, || stage.phase("a") == "Unknown").await;
        tokio::time::sleep(9 * MINUTE).await;
        // It dies without giving its Leases back.
        drop(host);
        tokio::time::sleep(absence).await;
        let _next = stage.candidate("two");
        tokio::time::sleep(3 * MINUTE).await;
        let expected = if is_outage { "Unknown" } else { "Failed" };
        assert_eq!(stage.phase("a"), expected, "after {absence:?}");
    }
}

fn fall_ill(stage: &Stage) {
    let mut conditions = stage.api.find("nodes", "a").unwrap()["status"]["conditions"].clone();
    for condition in conditions.as_array_mut().unwrap() {
        if condition["type"] == "Ready" {
            condition["status"] = json!("Unknown");
        }
    }
    stage.api.edit_status("nodes", "a", &json!({ "status": { "conditions": conditions } })).unwrap();
}

/// The gate shuts while the cloud is asked about a Machine that is to fail: that is neither written nor reported.
#[tokio::test(start_paused = true)]
async fn a_machine_whose_pass_began_before_the_gate_shut_is_not_failed_behind_it() {
    let stage = Stage::set();
    let _host = stage.host("host");
    for name in ["a", "b"] {
        stage.add_machine_with(name, |machine| machine["metadata"]["labels"] = json!({ "name": name }));
        stage.until_running(name).await;
    }
    tokio::time::sleep(SECOND).await;
    stage.report_ready("a", "False");
    stage.until("a fails", 11 * MINUTE, || stage.phase("a") == "Failed").await;
    stage.report_ready("b", "False");
    let asks = |call: &Call| call.calls("get-status");
    stage
        .wire
        .plan(move |call: &Call| if asks(call) { Handling::Delay(50 * SECOND) } else { Handling::Pass });
    let looks = || stage.wire.records(asks).len();
    let begun = looks();
    stage.until("the cloud is asked before a second one fails", 11 * MINUTE, || looks() > begun).await;
    ask_to_freeze(&stage);
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!((stage.phase("b").as_str(), stage.reason("b").as_str()), ("Unknown", "Frozen"));
    assert!(!stage.events("b").contains(&"HealthTimedOut".to_owned()), "{:?}", stage.events("b"));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_api_server_is_gone_is_torn_down_from_its_sets_on() {
    let stage = Stage::set();
    stage.api.create("machinesets", &crate::owners::sets::set("pool", 2)).unwrap();
    let _host = stage.host("host");
    stage.until("they run", 10 * MINUTE, || crate::owners::sets::running(&stage) == 2).await;
    cut_target(&stage);
    tokio::time::sleep(10 * MINUTE).await;
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    let are_going = || {
        stage.api.all("machines").iter().all(|machine| !machine["metadata"]["deletionTimestamp"].is_null())
    };
    stage.until("its Machines are deleted", MINUTE, are_going).await;
}

#[tokio::test(start_paused = true)]
async fn the_machines_of_a_set_that_is_deleted_stay_while_an_operator_asks_to_hold_everything() {
    let stage = Stage::set();
    stage.api.create("machinesets", &crate::owners::sets::set("pool", 2)).unwrap();
    let _host = stage.host("host");
    stage.until("they run", 10 * MINUTE, || crate::owners::sets::running(&stage) == 2).await;
    ask_to_freeze(&stage);
    tokio::time::sleep(11 * SECOND).await;
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(crate::owners::sets::running(&stage), 2);
    let_go(&stage);
    stage.until("they go", 10 * MINUTE, || stage.api.count("machines") == 0).await;
}
