//! A class that pins a version of its driver.

use std::time::Duration;

use machinist_core::value::digest::DriverDigest;
use serde_json::{Value, json};

use crate::fixture::stage::{Host, Stage, in_namespace};

const SOON: Duration = Duration::from_secs(2);

fn version(number: u8) -> DriverDigest {
    DriverDigest::from_bytes([number; 32])
}

/// Class `small` pins what this text says, or nothing.
fn pin(stage: &Stage, text: impl Into<Value>) {
    let patch = json!({ "metadata": { "annotations": { "machinist.dev/driver-digest": text.into() } } });
    stage.api.edit("machineclasses", &in_namespace("small"), &patch).unwrap();
}

/// A Machine `a` of a class with this pin.
fn pinned(text: &str) -> (Stage, Host) {
    let stage = Stage::set();
    pin(&stage, text);
    let host = stage.host("host");
    stage.add_machine("a");
    (stage, host)
}

fn message(stage: &Stage) -> String {
    let machine = stage.machine("a").unwrap_or_default();
    let conditions = machine["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default();
    ready["message"].as_str().unwrap_or_default().to_owned()
}

/// It says so, and no version of the driver is asked for anything.
async fn assert_waits(stage: &Stage, reason: &str, part: &str) {
    stage.until(reason, SOON, || stage.reason("a") == reason && message(stage).contains(part)).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!((stage.reason("a").as_str(), stage.phase("a").as_str()), (reason, "CrashLoopBackOff"));
    assert_eq!(stage.cloud.asked(), []);
}

#[tokio::test(start_paused = true)]
async fn every_call_goes_to_the_pinned_version_and_its_capabilities_count() {
    let stage = Stage::set();
    // Creation has a second step by this version only, so that a call for it shows whose capabilities count.
    stage.cloud.load(version(1), true);
    pin(&stage, version(1).to_string());
    let _host = stage.host("host");
    stage.add_running("a").await;
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    let asked = stage.cloud.asked();
    for call in ["create", "initialize", "get-status", "delete"] {
        assert!(asked.contains(&(call, Some(version(1)))), "{call} is missing: {asked:?}");
    }
    assert!(asked.iter().all(|(_, version)| *version == Some(self::version(1))), "{asked:?}");
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_pinned_version_that_is_not_loaded_is_awaited_and_taken_at_once_when_it_is() {
    let (stage, _host) = pinned(&version(1).to_string());
    assert_waits(&stage, "DriverNotReady", &format!("no driver for sim has digest {}", version(1))).await;
    stage.cloud.load(version(1), false);
    stage.report_plugins(&["sim"]);
    stage.until("Running with the pinned version", SOON, || stage.phase("a") == "Running").await;
    stage.assert_one_vm_each(1);
    assert!(stage.cloud.asked().contains(&("create", Some(version(1)))));
}

#[tokio::test(start_paused = true)]
async fn a_pin_that_is_no_digest_makes_nothing_with_any_version_until_it_is_fixed() {
    for (text, fixed) in [("sha256:1234", None), ("", Some(version(1)))] {
        let (stage, _host) = pinned(text);
        stage.cloud.load(version(1), false);
        assert_waits(&stage, "ClassInvalid", "annotation machinist.dev/driver-digest").await;
        pin(&stage, fixed.map(|version| version.to_string()));
        stage.until("Running once it is mended", SOON, || stage.phase("a") == "Running").await;
        assert!(stage.cloud.asked().contains(&("create", fixed)));
        stage.assert_one_vm_each(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_vm_whose_pinned_version_is_gone_is_removed_by_the_one_that_serves_which_is_said() {
    for text in [version(1).to_string(), "sha256:1234".to_owned()] {
        let stage = Stage::set();
        stage.cloud.load(version(1), false);
        pin(&stage, version(1).to_string());
        let _host = stage.host("host");
        stage.add_running("a").await;
        stage.cloud.unload(version(1));
        pin(&stage, text.as_str());
        stage.api.delete("machines", &in_namespace("a")).unwrap();
        stage
            .until("the condition says by whom", SOON, || message(&stage).contains("the version that serves"))
            .await;
        stage.until_gone("a").await;
        assert!(stage.cloud.asked().contains(&("delete", None)), "{:?}", stage.cloud.asked());
        let notes = stage.event_notes("a");
        assert!(
            notes.iter().any(|note| note.contains("the version that serves removes the VM")),
            "{notes:?}"
        );
        stage.assert_nothing_left();
        stage.assert_one_vm_each(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_vm_whose_version_goes_in_the_middle_of_its_deletion_goes_all_the_same() {
    let stage = Stage::set();
    stage.cloud.load(version(1), false);
    pin(&stage, version(1).to_string());
    let _host = stage.host("host");
    stage.add_running("a").await;
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    let is_ordered = || stage.cloud.asked().contains(&("delete", Some(version(1))));
    stage.until("the order is given", SOON, is_ordered).await;
    stage.cloud.unload(version(1));
    stage.until_gone("a").await;
    stage.assert_nothing_left();
}
