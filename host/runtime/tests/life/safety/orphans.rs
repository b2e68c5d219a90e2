//! VMs without a Machine.

use std::time::Duration;

use machinist_core::driver::error::Code;
use serde_json::json;

use crate::fixture::cloud::{Habits, guest_error};
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{NAMESPACE, Stage, class, in_namespace};
use memory_api::wire::{Call, Handling, table};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Beyond the minimum age and all sightings.
const LONG: Duration = Duration::from_secs(60 * 60);

/// A stage on which these Machines run.
async fn running(machines: &[&str]) -> (Stage, crate::fixture::stage::Host) {
    let stage = Stage::set();
    let host = stage.host("host");
    for name in machines {
        stage.add_running(name).await;
    }
    tokio::time::sleep(SECOND).await;
    (stage, host)
}

fn deletes(stage: &Stage) -> usize {
    stage.wire.records(|call| call.calls("delete")).len()
}

#[tokio::test(start_paused = true)]
async fn a_vm_without_a_machine_is_deleted_after_its_sightings_and_all_others_stay() {
    let (stage, _host) = running(&["a", "b", "c"]).await;
    let begun = stage.wire.elapsed();
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    let foreign = stage.cloud.plant("elsewhere", "gone", "uid-gone");
    stage.until("the VM is gone", LONG, || !stage.cloud.has(&orphan)).await;
    let waited = stage.wire.elapsed() - begun;
    assert!(waited >= 20 * MINUTE, "it was not older than {waited:?}");
    tokio::time::sleep(LONG).await;
    assert!(stage.cloud.has(&foreign), "the VM of another cluster stays");
    assert_eq!(stage.cloud.vms(), 4);
    assert_eq!(deletes(&stage), 1);
    let reported = stage.events("small");
    assert_eq!(reported.iter().filter(|reason| *reason == "OrphanVmFound").count(), 1, "{reported:?}");
    assert_eq!(reported.iter().filter(|reason| *reason == "OrphanVmDeleted").count(), 1, "{reported:?}");
    let note = stage.event_notes("small").join("\n");
    assert!(note.contains(&orphan) && note.contains("listings since"), "{note}");
}

#[tokio::test(start_paused = true)]
async fn the_vm_of_a_machine_that_cannot_be_decoded_is_not_an_orphan() {
    let (stage, _host) = running(&["a"]).await;
    let vm = stage.cloud.plant("test", "odd", "uid-of-a-time-before");
    let invalid = json!({
        "metadata": { "name": "odd", "namespace": NAMESPACE },
        "spec": { "class": "text", "providerID": vm, "nodeTemplate": 7 },
    });
    stage.api.create("machines", &invalid).unwrap();
    tokio::time::sleep(6 * LONG).await;
    assert!(stage.cloud.has(&vm));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_the_cache_lacks_keeps_its_vm() {
    let (stage, _host) = running(&["a"]).await;
    // From here on the host sees no news of Machines.
    stage.wire.plan(|call: &Call| {
        if call.verb == "WATCH" && call.what == "machines" { Handling::Refuse(500) } else { Handling::Pass }
    });
    stage.api.drop_watches("host", Some("machines"));
    let vm = stage.cloud.plant("test", "late", "uid-late");
    let late = json!({
        "metadata": { "name": "late", "namespace": NAMESPACE },
        "spec": { "class": { "kind": "MachineClass", "name": "small" }, "providerID": vm },
    });
    stage.api.create("machines", &late).unwrap();
    tokio::time::sleep(6 * LONG).await;
    assert!(stage.cloud.has(&vm));
}

#[tokio::test(start_paused = true)]
async fn while_everything_is_held_no_vm_is_deleted_and_evidence_from_before_counts_for_nothing() {
    let (stage, _host) = running(&["a"]).await;
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    tokio::time::sleep(19 * MINUTE).await;
    let map = json!({ "metadata": { "name": "machinist-freeze", "namespace": NAMESPACE } });
    stage.api.create("configmaps", &map).unwrap();
    tokio::time::sleep(6 * LONG).await;
    assert!(stage.cloud.has(&orphan));
    stage.api.delete("configmaps", &in_namespace("machinist-freeze")).unwrap();
    tokio::time::sleep(9 * MINUTE).await;
    assert!(stage.cloud.has(&orphan), "two sightings since the thaw at most");
    stage.until("the VM is gone", LONG, || !stage.cloud.has(&orphan)).await;
}

#[tokio::test(start_paused = true)]
async fn without_api_server_or_leadership_nothing_is_deleted() {
    let (stage, host) = running(&["a"]).await;
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    tokio::time::sleep(19 * MINUTE).await;
    stage.wire.plan(|call: &Call| {
        if call.verb == "LIST" && call.what == "machines" { Handling::Lose } else { Handling::Pass }
    });
    tokio::time::sleep(6 * LONG).await;
    assert!(stage.cloud.has(&orphan), "the API server cannot be asked");
    host.depose();
    stage.wire.heal();
    tokio::time::sleep(6 * LONG).await;
    assert!(stage.cloud.has(&orphan), "the host does not lead");
}

#[tokio::test(start_paused = true)]
async fn a_class_that_cannot_be_listed_says_so_and_does_not_stop_the_others() {
    let (stage, _host) = running(&["a"]).await;
    let mut other = class();
    other["metadata"]["name"] = json!("broken");
    stage.api.create("machineclasses", &other).unwrap();
    stage.wire.plan(|call: &Call| {
        if call.what == "list" && call.name == "broken" { Handling::Refuse(16) } else { Handling::Pass }
    });
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    stage.until("the VM is gone", LONG, || !stage.cloud.has(&orphan)).await;
    let reported = stage.events("broken");
    assert_eq!(reported.iter().filter(|reason| *reason == "ListingFailed").count(), 1, "{reported:?}");
    let tries = stage.wire.times(|call: &Call| call.what == "list" && call.name == "broken");
    assert!(tries.len() < 20, "with a back-off: {tries:?}");
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_two_classes_show_is_deleted_once() {
    let (stage, _host) = running(&["a"]).await;
    let mut other = class();
    other["metadata"]["name"] = json!("twin");
    stage.api.create("machineclasses", &other).unwrap();
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    stage.until("the VM is gone", LONG, || !stage.cloud.has(&orphan)).await;
    tokio::time::sleep(LONG).await;
    assert_eq!(deletes(&stage), 1, "{}", table(&stage.wire.records(|call| call.calls("delete"))));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_fails_is_repeated_ever_more_slowly() {
    let (stage, _host) = running(&["a"]).await;
    stage.wire.plan(|call: &Call| {
        if call.calls("delete") { Handling::Answer(guest_error(Code::Unavailable)) } else { Handling::Pass }
    });
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    tokio::time::sleep(2 * LONG).await;
    let tries = stage.wire.times(|call: &Call| call.calls("delete"));
    assert!(tries.len() > 5 && tries.len() < 80, "{tries:?}");
    assert!(stage.events("small").contains(&"OrphanVmDeletionFailed".to_owned()));
    stage.wire.heal();
    stage.until("the VM is gone", 10 * MINUTE, || !stage.cloud.has(&orphan)).await;
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_lacks_most_vms_of_living_machines_is_not_believed() {
    let names = ["a", "b", "c", "d", "e"];
    let (stage, _host) = running(&names).await;
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    tokio::time::sleep(14 * MINUTE).await;
    stage.cloud.show_only(Some(&[orphan.as_str()]));
    // It would be old enough, and was seen often enough, and two listings more do not make the lie true.
    tokio::time::sleep(9 * MINUTE).await;
    assert!(stage.cloud.has(&orphan), "no decision on such a listing");
    assert!(stage.events("small").contains(&"ListingDistrusted".to_owned()));
    stage.cloud.show_only(None);
    stage.until("the VM is gone", LONG, || !stage.cloud.has(&orphan)).await;
    assert_eq!(stage.cloud.vms(), names.len());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_machine_makes_the_host_look_at_once() {
    let (stage, _host) = running(&["a", "b"]).await;
    tokio::time::sleep(MINUTE).await;
    let listings = |stage: &Stage| stage.wire.records(|call| call.what == "list").len();
    let before = listings(&stage);
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    stage.until("a listing", MINUTE, || listings(&stage) > before).await;
    assert!(stage.events("small").is_empty(), "{:?}", stage.events("small"));
}

#[tokio::test(start_paused = true)]
async fn a_second_vm_that_a_driver_can_remove_by_its_id_goes_and_the_machine_keeps_its_own() {
    let (stage, _host) = running(&["a", "b"]).await;
    stage.cloud.delete_by_id();
    let machine = stage.machine("a").unwrap();
    let own = machine["spec"]["providerID"].as_str().unwrap().to_owned();
    let second = stage.cloud.plant("test", "a", machine["metadata"]["uid"].as_str().unwrap());
    tokio::time::sleep(14 * MINUTE).await;
    assert!(stage.cloud.has(&second), "it is not believed at once");
    stage.until("the second VM is gone", 2 * LONG, || !stage.cloud.has(&second)).await;
    tokio::time::sleep(6 * LONG).await;
    assert!(stage.cloud.has(&own) && deletes(&stage) == 0);
    assert_eq!((stage.cloud.vms(), stage.phase("a").as_str()), (2, "Running"));
    assert!(stage.events("small").contains(&"SecondVmDeleted".to_owned()), "{:?}", stage.events("small"));
}

#[tokio::test(start_paused = true)]
async fn a_second_vm_that_stays_is_reported_every_day() {
    let (stage, host) = running(&["a"]).await;
    assert_eq!(host.figures("machinist_second_vms"), ["machinist_second_vms 0"]);
    let uid = stage.machine("a").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    stage.cloud.plant("test", "a", &uid);
    let reported =
        |stage: &Stage| stage.wire.records(|call| call.verb == "POST" && call.what == "events").len();
    tokio::time::sleep(2 * LONG).await;
    assert_eq!(host.figures("machinist_second_vms"), ["machinist_second_vms 1"]);
    let first = reported(&stage);
    tokio::time::sleep(20 * 60 * MINUTE).await;
    assert_eq!(reported(&stage), first, "not more often");
    tokio::time::sleep(8 * 60 * MINUTE).await;
    assert!(reported(&stage) > first, "{}", table(&stage.wire.records(|call| call.what == "events")));
}

/// No driver can remove one of two VMs of a Machine, so the second one goes when its Machine does and not
/// before.
#[tokio::test(start_paused = true)]
async fn a_second_vm_of_a_machine_is_reported_stays_as_long_as_its_machine_and_goes_after_it() {
    let (stage, _host) = running(&["a", "b"]).await;
    let uid = stage.machine("a").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let second = stage.cloud.plant("test", "a", &uid);
    tokio::time::sleep(6 * LONG).await;
    assert!(stage.cloud.has(&second));
    assert_eq!((stage.phase("a").as_str(), deletes(&stage)), ("Running", 0));
    let reported = stage.events("small");
    assert_eq!(reported.iter().filter(|reason| *reason == "SecondVm").count(), 1, "{reported:?}");
    for about in ["small", "a"] {
        let note = stage.event_notes(about).join("\n");
        assert!(note.contains(&second) && note.contains("Machine a"), "{about}: {note}");
    }
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    stage.until("the second VM is gone", 2 * LONG, || !stage.cloud.has(&second)).await;
    tokio::time::sleep(LONG).await;
    assert_eq!((stage.cloud.vms(), stage.phase("b").as_str()), (1, "Running"));
}

#[tokio::test(start_paused = true)]
async fn many_vms_that_nobody_knows_stay_until_their_class_says_that_they_go() {
    let (stage, _host) = running(&["a", "b"]).await;
    let plant = |number: u8| stage.cloud.plant("test", &format!("gone-{number}"), &format!("uid-{number}"));
    let unknown: Vec<String> = (0..5).map(plant).collect();
    let left = || unknown.iter().filter(|vm| stage.cloud.has(vm)).count();
    tokio::time::sleep(12 * LONG).await;
    assert_eq!(left(), 5);
    let released = json!({ "metadata": { "annotations": { "machinist.dev/delete-unknown-vms": "true" } } });
    stage.api.edit("machineclasses", &in_namespace("small"), &released).unwrap();
    stage.until("they are gone", 12 * LONG, || left() == 0).await;
    assert_eq!(stage.cloud.vms(), 2);
}

#[tokio::test(start_paused = true)]
async fn attack_no_call_is_made_without_the_user_data_that_the_host_must_hide() {
    const TEMPLATE: &[u8] = b"#!/bin/sh\njoin --token=<<BOOTSTRAP_TOKEN>> --name=<<MACHINE_NAME>>\n";
    let habits = Habits { initializes: true, ..Habits::default() };
    let stage = Stage::with(habits, KubeletHabits::default());
    stage.add_class();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let orphan = stage.cloud.plant("test", "gone", "uid-gone");
    stage.until("the VM is gone", LONG, || !stage.cloud.has(&orphan)).await;
    stage.api.delete("machines", &in_namespace("a")).unwrap();
    stage.until_gone("a").await;
    let calls = stage.cloud.secrets();
    let functions: std::collections::BTreeSet<_> = calls.iter().map(|(function, _)| *function).collect();
    for function in ["create", "initialize", "get-status", "delete", "list"] {
        assert!(functions.contains(function), "{functions:?}");
    }
    for (function, secrets) in &calls {
        assert_eq!(secrets.hidden.template.as_deref(), Some(TEMPLATE), "{function}");
        assert!(!secrets.values.contains_key("userData"), "{function}");
        let is_sent = matches!(*function, "create" | "initialize");
        assert_eq!(secrets.user_data.is_some(), is_sent, "{function}: no handle where there was none");
        let rendered = secrets.user_data.as_ref().or(secrets.hidden.rendered.as_ref());
        let names = |name: &str| {
            rendered.is_some_and(|text| String::from_utf8_lossy(text).ends_with(&format!("--name={name}\n")))
        };
        assert!(names("a") || (rendered.is_none() && matches!(*function, "delete" | "list")), "{function}");
    }
    let hidden = calls.iter().filter(|(_, secrets)| secrets.hidden.rendered.is_some()).count();
    assert!(hidden >= 2, "looks and the order of the Machine: {hidden} of {}", calls.len());
}
