//! Nodes that are drained for an update in place.

use std::sync::{Arc, Mutex};

use super::workload::{budget, ending_after, pod, with_volume};
use super::*;
use memory_api::wire::{Handling, table};

fn label(stage: &Stage, name: &str, value: Option<&str>) {
    let labels = json!({ format!("node.machine.sapcloud.io/{name}"): value });
    stage.api.edit("nodes", "a", &json!({ "metadata": { "labels": labels } })).unwrap();
}

/// The Node's condition about its update.
fn reported_on_node(stage: &Stage) -> String {
    stage.node_says("a", "InPlaceUpdate").1
}

fn operation(stage: &Stage) -> (Value, Value, String) {
    let machine = stage.machine("a").unwrap();
    let last = &machine["status"]["lastOperation"];
    (last["type"].clone(), last["state"].clone(), last["description"].as_str().unwrap_or_default().to_owned())
}

fn is_cordoned(stage: &Stage) -> bool {
    stage.api.find("nodes", "a").unwrap()["spec"]["unschedulable"] == true
}

async fn until_reported_on_node(stage: &Stage, reason: &str) {
    stage.until(reason, 20 * MINUTE, || reported_on_node(stage) == reason).await;
}

/// Everything that others see of an update, in the order in which it happened.
fn story(stage: &Stage) -> Arc<Mutex<Vec<String>>> {
    let story: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = story.clone();
    stage.api.observe(move |change| {
        let Some(new) = change.new else { return };
        let reported = match change.plural {
            "machines" => new["status"]["currentStatus"]["phase"].as_str().map(str::to_owned),
            "nodes" => {
                let conditions = new["status"]["conditions"].as_array().cloned().unwrap_or_default();
                let update = conditions.iter().find(|condition| condition["type"] == "InPlaceUpdate");
                update.and_then(|update| update["reason"].as_str().map(str::to_owned))
            }
            _ => None,
        };
        let mut written = written.lock().unwrap();
        // The last of its kind.
        let is_same = reported.as_ref().is_none_or(|reported| {
            let phases = ["Running", "InPlaceUpdating", "InPlaceUpdateSuccessful", "InPlaceUpdateFailed"];
            let is_phase = phases.contains(&reported.as_str());
            written.iter().rfind(|old| phases.contains(&old.as_str()) == is_phase) == Some(reported)
        });
        if let Some(reported) = reported.filter(|_| !is_same) {
            written.push(reported);
        }
    });
    story
}

async fn an_update_with_pods_and_a_budget(crds: Crds) {
    let (stage, _host) = running_under(crds).await;
    let _workload = Workload::start(&stage, PACE);
    put(&stage, "poddisruptionbudgets", &budget("tight", "held", 0, 1));
    let mut daemon = pod("daemon", "a");
    daemon["metadata"]["ownerReferences"][0]["kind"] = json!("DaemonSet");
    let slow = ending_after(pod("slow", "a"), "25");
    let stored = with_volume(&stage, pod("db", "a"), "v1");
    add(&stage, [pod("held", "a"), pod("quick", "a"), slow, stored, daemon]);
    tokio::time::sleep(2 * MINUTE).await;
    let (begun, story) = (stage.wire.len(), story(&stage));
    label(&stage, "candidate-for-update", Some("true"));
    until_reported_on_node(&stage, "CandidateForUpdate").await;
    tokio::time::sleep(MINUTE).await;
    assert!(!is_cordoned(&stage) && !is_gone(&stage, "quick"), "nobody has selected it");
    label(&stage, "selected-for-update", Some("true"));
    until_reported_on_node(&stage, "SelectedForUpdate").await;
    tokio::time::sleep(3 * MINUTE).await;
    assert!(
        is_cordoned(&stage) && is_gone(&stage, "quick") && is_gone(&stage, "slow") && is_gone(&stage, "db")
    );
    assert_eq!((stage.phase("a"), reported_on_node(&stage)), ("Running".into(), "SelectedForUpdate".into()));
    if crds == Crds::Ours {
        let (status, reason, message) = stage.reported("a", "InPlaceUpdated");
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Draining"));
        assert!(message.contains("apps/held") && message.contains("apps/tight"), "{message}");
    }
    let opened = stage.wire.elapsed();
    let room = json!({ "status": { "disruptionsAllowed": 1 } });
    stage.api.edit_status("poddisruptionbudgets", "apps/tight", &room).unwrap();
    until_reported_on_node(&stage, "ReadyForUpdate").await;
    let took = stage.wire.elapsed() - opened;
    assert!(took < 4 * SECOND, "an open budget is used at once, not after {took:?}");
    assert!(is_gone(&stage, "held") && !is_gone(&stage, "daemon"));
    assert_eq!(operation(&stage).2, "Machine a is undergoing an in-place update");
    tokio::time::sleep(MINUTE).await;
    label(&stage, "update-result", Some("successful"));
    until_reported_on_node(&stage, "UpdateSuccessful").await;
    stage.until_running("a").await;
    // Whoever has rolled the update out takes the Node back into service.
    stage.api.edit("nodes", "a", &json!({ "spec": { "unschedulable": null } })).unwrap();
    for name in ["candidate-for-update", "selected-for-update", "update-result"] {
        label(&stage, name, None);
    }
    tokio::time::sleep(10 * MINUTE).await;
    assert!(!is_cordoned(&stage) && stage.phase("a") == "Running");
    let expected = [
        "CandidateForUpdate", "SelectedForUpdate", "DrainSuccessful", "InPlaceUpdating", "ReadyForUpdate",
        "UpdateSuccessful", "InPlaceUpdateSuccessful", "Running",
    ];
    let mut seen = story.lock().unwrap().clone();
    let first = seen.iter().position(|reported| reported == "Running").unwrap();
    seen.remove(first);
    assert_eq!(seen, expected, "{crds:?}");
    let writes = stage.wire.records_since(begun, |call| call.is_write() && call.what != "pods/eviction");
    let events = stage.wire.records_since(begun, |call| call.what == "events");
    assert!(writes.len() <= 18, "{} writes:\n{}", writes.len(), table(&writes));
    assert!(events.len() <= 8, "{} Events: {:?}", events.len(), stage.events("a"));
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn a_node_with_pods_and_a_budget_is_empty_before_it_is_handed_over_for_its_update() {
    an_update_with_pods_and_a_budget(Crds::Ours).await;
}

#[tokio::test(start_paused = true)]
async fn an_update_in_place_goes_the_same_way_under_the_other_controllers_crds() {
    an_update_with_pods_and_a_budget(Crds::Theirs).await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_for_an_update_that_ends_forced_in_part_is_tried_until_nothing_is_left() {
    for crds in [Crds::Ours, Crds::Theirs] {
        let (stage, _host) = running_under(crds).await;
        let _workload = Workload::start(&stage, PACE);
        drain_timeout(&stage, "90s");
        add(&stage, [ending_after(pod("stuck", "a"), "never"), ending_after(pod("other", "a"), "never")]);
        stage.wire.plan(|call: &Call| {
            let is_held = call.verb == "DELETE" && call.what == "pods" && call.name == "stuck";
            if is_held { Handling::Refuse(403) } else { Handling::Pass }
        });
        label(&stage, "candidate-for-update", Some("true"));
        label(&stage, "selected-for-update", Some("true"));
        tokio::time::sleep(30 * MINUTE).await;
        assert!(is_gone(&stage, "other") && !is_gone(&stage, "stuck"));
        assert_eq!(
            (stage.phase("a"), reported_on_node(&stage)),
            ("Running".into(), "SelectedForUpdate".into())
        );
        let (kind, state, description) = operation(&stage);
        assert_eq!((kind, state), (json!("DrainNode"), json!("Failed")), "{description}");
        assert!(description.contains("apps/stuck"), "{description}");
        if crds == Crds::Ours {
            let (status, reason, message) = stage.reported("a", "InPlaceUpdated");
            assert_eq!((status.as_str(), reason.as_str()), ("False", "Draining"));
            assert!(message.contains("apps/stuck"), "{message}");
        }
        let begun = stage.wire.len();
        tokio::time::sleep(60 * MINUTE).await;
        let writes = stage.wire.records_since(begun, |call| call.is_write() && call.what != "pods");
        let tries = deleted_at(&stage, "pods", "stuck").len();
        // Our part of the status says when the next try is, so it is written with each.
        let limit = if crds == Crds::Ours { 40 } else { 0 };
        assert!(writes.len() <= limit, "{crds:?}:\n{}", table(&writes));
        assert!((3..200).contains(&tries), "{tries} tries");
        let events = stage.wire.records_since(begun, |call| call.what == "events");
        assert!(events.len() <= 11, "{crds:?}: {} writes of Events", events.len());
        stage.wire.heal();
        until_reported_on_node(&stage, "ReadyForUpdate").await;
        assert!(is_gone(&stage, "stuck"));
        assert_eq!((operation(&stage).0, operation(&stage).1), (json!("InPlaceUpdate"), json!("Processing")));
        assert_eq!(stage.phase("a"), "InPlaceUpdating");
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_for_an_update_that_cannot_look_at_pods_says_so_and_goes_on_when_it_can() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    add(&stage, [pod("web", "a")]);
    stage.wire.plan(|call: &Call| {
        if call.verb == "LIST" && call.what == "pods" { Handling::Refuse(500) } else { Handling::Pass }
    });
    label(&stage, "candidate-for-update", Some("true"));
    label(&stage, "selected-for-update", Some("true"));
    stage.until("it is said", MINUTE, || operation(&stage).0 == "DrainNode").await;
    let (_, state, description) = operation(&stage);
    assert!(state == "Failed" && description.contains("could not be listed"), "{description}");
    tokio::time::sleep(5 * MINUTE).await;
    assert!(!is_gone(&stage, "web") && reported_on_node(&stage) == "SelectedForUpdate");
    stage.wire.heal();
    until_reported_on_node(&stage, "ReadyForUpdate").await;
    assert!(is_gone(&stage, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_no_candidate_any_more_is_not_emptied_further_and_nothing_says_that_it_is() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    put(&stage, "poddisruptionbudgets", &budget("tight", "held", 0, 1));
    add(&stage, [pod("held", "a")]);
    label(&stage, "candidate-for-update", Some("true"));
    label(&stage, "selected-for-update", Some("true"));
    stage.until("draining", MINUTE, || stage.reported("a", "InPlaceUpdated").1 == "Draining").await;
    label(&stage, "candidate-for-update", None);
    tokio::time::sleep(2 * SECOND).await;
    let room = json!({ "status": { "disruptionsAllowed": 1 } });
    stage.api.edit_status("poddisruptionbudgets", "apps/tight", &room).unwrap();
    tokio::time::sleep(5 * MINUTE).await;
    assert!(!is_gone(&stage, "held"));
    let (status, reason, message) = stage.reported("a", "InPlaceUpdated");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Stopped"), "{message}");
    assert!(message.contains("cordoned"), "what is left to do: {message}");
    assert_eq!(stage.phase("a"), "Running");
}
