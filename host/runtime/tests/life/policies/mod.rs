//! Health policies: they observe or decide, and a broken one affects nothing else.
//!
//! | module | content |
//! | --- | --- |
//! | `reboots` | VMs that policies reboot: how many at a time, and when none |
//! | `stub` | policies that answer as a test wants, and record their questions |

pub(crate) mod reboots;
pub(crate) mod stub;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_core::health_policy::{Action, Mode, PolicyQuestion, PolicyVerdict};
use serde_json::{Value, json};

use crate::fixture::stage::{Host, Stage};

const MINUTE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(3);
const REBOOTS: &str = "machinist.dev/reboots";

async fn running(stage: &Stage) -> Host {
    let host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(SOON).await;
    host
}

async fn until_phase(stage: &Stage, phase: &str, limit: Duration) {
    stage.until(phase, limit, || stage.phase("a") == phase).await;
}

fn condition(stage: &Stage, kind: &str) -> Value {
    let machine = stage.machine("a").unwrap();
    let conditions = machine["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

fn healthy(_: &PolicyQuestion, _: Timestamp) -> (PolicyVerdict, Action, SignedDuration) {
    (PolicyVerdict::Healthy, Action::None, SignedDuration::from_hours(1))
}

fn sick(_: &PolicyQuestion, now: Timestamp) -> (PolicyVerdict, Action, SignedDuration) {
    (PolicyVerdict::Unhealthy { since: now }, Action::Replace, SignedDuration::from_hours(1))
}

fn holds(_: &PolicyQuestion, _: Timestamp) -> (PolicyVerdict, Action, SignedDuration) {
    (PolicyVerdict::Unknown, Action::None, SignedDuration::from_secs(30))
}

/// Healthy while the Node is; then one reboot, ten minutes of hope, and a replacement.
pub(crate) fn ladder(question: &PolicyQuestion, now: Timestamp) -> (PolicyVerdict, Action, SignedDuration) {
    let is_ready = question.node.iter().flat_map(|node| &node.conditions).any(|condition| {
        condition.kind == "Ready"
            && condition.status == machinist_core::machine::node::health::ConditionStatus::True
    });
    let sick = PolicyVerdict::Unhealthy { since: now };
    match question.history.reboots.last() {
        _ if is_ready => healthy(question, now),
        None => (sick, Action::Reboot, SignedDuration::from_mins(1)),
        Some(last) if now.duration_since(*last) < SignedDuration::from_mins(10) => {
            (sick, Action::None, SignedDuration::from_mins(1))
        }
        Some(_) => (sick, Action::Replace, SignedDuration::from_hours(1)),
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_observes_only_tells_what_it_would_have_done() {
    let stage = Stage::set();
    stage.policies.seat("disk", Mode::Observe, Some(sick));
    let _host = running(&stage).await;
    assert_eq!(stage.phase("a"), "Running");
    let observed = condition(&stage, "PolicyObserved");
    assert_eq!((&observed["status"], &observed["reason"]), (&json!("True"), &json!("PolicyWouldDiffer")));
    assert!(observed["message"].as_str().unwrap().contains("disk says unhealthy, replace"), "{observed}");
    assert_eq!(stage.events("a").iter().filter(|reason| *reason == "PolicyWouldDiffer").count(), 1);
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(stage.phase("a"), "Running");
    assert_eq!(stage.events("a").iter().filter(|reason| *reason == "PolicyWouldDiffer").count(), 1);

    stage.policies.dismiss("disk");
    stage.report_policies();
    stage
        .until("it is taken back", SOON, || condition(&stage, "PolicyObserved")["reason"] == "NoPolicy")
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_enforces_fails_a_machine_whose_node_is_ready() {
    let stage = Stage::set();
    let _host = running(&stage).await;
    stage.policies.seat("disk", Mode::Enforce, Some(sick));
    stage.report_policies();
    until_phase(&stage, "Unknown", SOON).await;
    let begun = stage.wire.elapsed();
    until_phase(&stage, "Failed", 11 * MINUTE).await;
    assert!(stage.wire.elapsed() - begun >= 10 * MINUTE);
    let machine = stage.machine("a").unwrap();
    let reported = machine["status"]["lastOperation"]["description"].as_str().unwrap();
    assert!(reported.contains("disk says so"), "{reported}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_a_policy_holds_keeps_its_phase_and_recovers_by_itself() {
    let stage = Stage::set();
    stage.policies.seat("zone", Mode::Enforce, Some(holds));
    let _host = running(&stage).await;
    stage.report_ready("a", "Unknown");
    tokio::time::sleep(120 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.reason("a").as_str()), ("Running", "PolicyHolds"));
    stage.policies.seat("zone", Mode::Enforce, Some(sick));
    // Nobody tells: the verdict has ended, and that is enough.
    until_phase(&stage, "Unknown", MINUTE).await;
    stage.policies.seat("zone", Mode::Enforce, Some(holds));
    stage.report_policies();
    tokio::time::sleep(120 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.reason("a").as_str()), ("Unknown", "PolicyHolds"));
    stage.policies.seat("zone", Mode::Enforce, Some(healthy));
    stage.report_policies();
    until_phase(&stage, "Running", SOON).await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_breaks_or_is_not_loaded_fails_no_machine() {
    for seat in [(|stage: &Stage| stage.policies.seat("odd", Mode::Enforce, None)) as fn(&Stage), |stage| {
        stage.policies.seat_later("odd");
    }] {
        let stage = Stage::set();
        seat(&stage);
        let _host = running(&stage).await;
        stage.report_ready("a", "Unknown");
        tokio::time::sleep(120 * MINUTE).await;
        assert_eq!((stage.phase("a").as_str(), stage.reason("a").as_str()), ("Running", "PolicyHolds"));
        let message = condition(&stage, "Ready")["message"].to_string();
        assert!(message.contains("out of cheese") || message.contains("is being loaded"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_holds_is_not_asked_for_again() {
    let stage = Stage::set();
    stage.policies.seat("calm", Mode::Enforce, Some(healthy));
    let _host = running(&stage).await;
    let before = stage.policies.asked("calm").len();
    for _ in 0..5 {
        stage.report_policies();
        tokio::time::sleep(MINUTE).await;
    }
    assert_eq!(stage.policies.asked("calm").len(), before, "five passes, no question");
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.policies.asked("calm").len(), before + 1, "the verdict has ended");
    stage.report_ready("a", "False");
    tokio::time::sleep(SOON).await;
    assert_eq!(stage.policies.asked("calm").len(), before + 2, "the Node has changed");
    let asked = stage.policies.asked("calm").pop().unwrap();
    assert_eq!(
        (asked.domain.name.unwrap().as_str(), asked.domain.machines, asked.domain.silent),
        ("zone-a", 1, 1)
    );
    assert_eq!((asked.machine.class.as_str(), asked.machine.can_reboot), ("small", true));
}

#[tokio::test(start_paused = true)]
async fn a_sick_machine_is_rebooted_once_and_then_replaced() {
    let stage = Stage::set();
    stage.policies.seat("ladder", Mode::Enforce, Some(ladder));
    let _host = running(&stage).await;
    stage.report_ready("a", "Unknown");
    stage.until("the VM is rebooted", SOON, || stage.cloud.rebooted().len() == 1).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(stage.phase("a"), "Unknown");
    assert!(stage.events("a").contains(&"VmRebooted".to_owned()), "{:?}", stage.events("a"));
    let annotations = stage.machine("a").unwrap()["metadata"]["annotations"].clone();
    assert!(annotations[REBOOTS].is_string(), "{annotations}");
    until_phase(&stage, "Failed", 12 * MINUTE).await;
    assert_eq!(stage.cloud.rebooted().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reboot_that_helps_brings_the_machine_back() {
    let stage = Stage::set();
    stage.policies.seat("ladder", Mode::Enforce, Some(ladder));
    let _host = running(&stage).await;
    stage.report_ready("a", "Unknown");
    stage.until("the VM is rebooted", SOON, || stage.cloud.rebooted().len() == 1).await;
    tokio::time::sleep(MINUTE).await;
    stage.report_ready("a", "True");
    until_phase(&stage, "Running", SOON).await;
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!((stage.phase("a").as_str(), stage.cloud.rebooted().len()), ("Running", 1));
}

/// Whichever call kills the host, the VM is not rebooted twice.
#[tokio::test(start_paused = true)]
async fn a_host_that_starts_again_does_not_reboot_again() {
    for number in 1..=6 {
        for is_carried_out in [false, true] {
            let stage = Stage::set();
            stage.policies.seat("ladder", Mode::Enforce, Some(ladder));
            let first = running(&stage).await;
            stage.crash_at(number, is_carried_out);
            stage.report_ready("a", "Unknown");
            tokio::time::sleep(SOON).await;
            drop(first);
            stage.wire.plan(|_| memory_api::wire::Handling::Pass);
            let _second = stage.host("second");
            tokio::time::sleep(5 * MINUTE).await;
            let rebooted = stage.cloud.rebooted().len();
            assert!(rebooted <= 1, "call {number}, carried out: {is_carried_out}: {rebooted} reboots");
        }
    }
}
