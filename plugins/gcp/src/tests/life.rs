//! The state of a machine, its deletion, listings.

use gcp::Effect;
use machinist_sdk::driver::{Code, VmState};
use serde_json::json;

use super::harness::{Harness, PROJECT, START_MS, ZONE, forgotten, request, request_of, spec, spec_with};

#[test]
fn a_machine_is_found_by_id_and_without_it() {
    let harness = Harness::new();
    let mut first = request(1);
    let vm = harness.create(&mut first).unwrap();
    harness.sent();
    assert_eq!(harness.status(&first).unwrap().provider_id, vm.provider_id);
    assert_eq!(harness.sent(), ["instances.get"]);
    assert_eq!(harness.status(&forgotten(&first)).unwrap().provider_id, vm.provider_id);
    assert_eq!(harness.sent(), ["instances.aggregatedList"]);
    assert_eq!(harness.status(&request(2)).unwrap_err().code, Code::NotFound);
    assert_eq!(harness.sent(), ["instances.aggregatedList", "instances.get"]);
    for (status, state) in [
        ("PROVISIONING", VmState::Pending),
        ("STAGING", VmState::Pending),
        ("RUNNING", VmState::Running),
        ("STOPPING", VmState::Stopping),
        ("TERMINATED", VmState::Stopped),
        ("SUSPENDED", VmState::Stopped),
        ("REPAIRING", VmState::Unknown),
    ] {
        harness.cloud(|cloud| cloud.change_by_hand(ZONE, "machine-1", |vm| vm["status"] = json!(status)));
        assert_eq!(harness.status(&first).unwrap().state, state, "{status}");
    }
}

#[test]
fn an_id_of_another_place_is_not_believed() {
    let harness = Harness::new();
    harness.create(&mut request(1)).unwrap();
    let labels = json!({ "machinist-cluster": "c2", "machinist-machine-uid": "uid-9" });
    harness.cloud(|cloud| {
        cloud.plant_in("europe-west1-c", "theirs", &labels, &[]);
        cloud.plant_in("europe-west1-c", "nobodys", &json!({}), &[]);
    });
    let with_id = |name: &str| {
        let mut request = request(2);
        request.machine.provider_id = Some(format!("gce:///{PROJECT}/europe-west1-c/{name}"));
        request
    };
    for (name, words) in [("theirs", "--cluster-id=c2"), ("nobodys", "\"adopt\"")] {
        let looked = harness.status(&with_id(name)).map(|_| ()).unwrap_err();
        let deleted = harness.delete(&mut with_id(name)).unwrap_err();
        let rebooted = harness.driver().reboot(&with_id(name)).unwrap_err();
        let id = format!("gce:///{PROJECT}/europe-west1-c/{name}");
        let deleted_by_id = harness.driver().delete_by_id(&request(1), &id).unwrap_err();
        for failure in [looked, deleted, rebooted, deleted_by_id] {
            assert_eq!(failure.code, Code::FailedPrecondition);
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }
    // Another Machine's instance is left alone.
    let mut neighbour = request(2);
    neighbour.machine.provider_id = Some(format!("gce:///{PROJECT}/{ZONE}/machine-1"));
    assert_eq!(harness.status(&neighbour).unwrap_err().code, Code::NotFound);
    harness.delete(&mut neighbour).unwrap();
    assert_eq!(harness.vms().len(), 3);
    for unusual in ["aws:///eu-west-1/i-1", "", "gce:///a/b"] {
        neighbour.machine.provider_id = Some(unusual.to_owned());
        assert_eq!(harness.status(&neighbour).unwrap_err().code, Code::NotFound, "{unusual}");
    }
}

#[test]
fn an_instance_that_a_person_removed_is_gone_and_leaves_nothing() {
    for forgets in [false, true] {
        let harness = Harness::new();
        let mut request = request(1);
        harness.create(&mut request).unwrap();
        assert!(harness.cloud(|cloud| cloud.remove_by_hand(ZONE, "machine-1")));
        if forgets {
            request = forgotten(&request);
        }
        assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound, "{forgets}");
        assert_eq!(harness.driver().reboot(&request).unwrap_err().code, Code::NotFound, "{forgets}");
        assert!(harness.list(&request.class, "c1").unwrap().is_empty());
        harness.delete(&mut request).unwrap();
        assert!(harness.cloud(|cloud| cloud.is_empty()), "{forgets}");
    }
}

#[test]
fn a_deletion_ends_when_instance_and_disks_are_gone() {
    let harness = Harness::new();
    let mut request = request(1);
    harness.create(&mut request).unwrap();
    harness.sent();
    harness.delete(&mut request).unwrap();
    assert_eq!(
        harness.sent(),
        ["instances.aggregatedList", "instances.delete", "zoneOperations.get", "disks.aggregatedList"]
    );
    assert!(harness.cloud(|cloud| cloud.is_empty()));
    assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound);
    harness.delete(&mut request).unwrap();
    harness.delete(&mut super::harness::request(7)).unwrap();
}

#[test]
fn a_deletion_needs_neither_id_nor_a_sound_class() {
    let harness = Harness::new();
    let first = request(1);
    harness.create(&mut first.clone()).unwrap();
    let mut poor = forgotten(&first);
    poor.class.spec = json!({ "zone": 7, "disks": "none" }).to_string();
    harness.delete(&mut poor).unwrap();
    assert!(harness.cloud(|cloud| cloud.is_empty()));
}

#[test]
fn remains_are_removed_and_kept_disks_stay() {
    let harness = Harness::new();
    let disks = json!([
        spec()["disks"][0],
        { "type": "pd-ssd", "sizeGb": 5, "autoDelete": false, "labels": { "keep": "yes" } },
        { "type": "SCRATCH", "interface": "NVME" },
    ]);
    let mut request = request_of(1, &spec_with(json!({ "disks": disks })));
    harness.create(&mut request).unwrap();
    let own = json!({ "machinist-cluster": "c1", "machinist-machine-uid": "uid-1" });
    harness.cloud(|cloud| {
        cloud.plant_disk("europe-west1-c", "left", &own);
        cloud.plant_disk(
            ZONE,
            "theirs",
            &json!({ "machinist-cluster": "c2", "machinist-machine-uid": "uid-1" }),
        );
    });
    harness.delete(&mut request).unwrap();
    assert_eq!(
        harness.cloud(|cloud| cloud.disk_names()),
        [format!("{ZONE}/machine-1-1"), format!("{ZONE}/theirs")]
    );
}

#[test]
fn an_instance_that_is_being_created_is_removed_afterwards() {
    let harness = Harness::new();
    let first = request(1);
    // The answer is lost, the host forgets, and reads show nothing yet.
    harness.fault("instances.insert", Effect::LostAnswer);
    harness.driver().create(&first).unwrap_err();
    harness.delete(&mut forgotten(&first)).unwrap();
    assert!(harness.cloud(|cloud| cloud.is_empty()));
}

#[test]
fn a_protected_instance_waits_for_a_person() {
    let harness = Harness::new();
    let mut request = request_of(1, &spec_with(json!({ "deletionProtection": true })));
    harness.create(&mut request).unwrap();
    let failure = harness.delete(&mut request).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::FailedPrecondition, false));
    assert!(failure.message.contains("--no-deletion-protection"), "{}", failure.message);
    harness
        .cloud(|cloud| cloud.change_by_hand(ZONE, "machine-1", |vm| vm["deletionProtection"] = json!(false)));
    harness.delete(&mut request).unwrap();
}

#[test]
fn a_deletion_that_fails_is_ordered_again() {
    let harness = Harness::new();
    let mut request = request(1);
    harness.create(&mut request).unwrap();
    harness.fault(
        "instances.delete",
        Effect::FailOperation { code: "INTERNAL_ERROR".into(), message: "x".into() },
    );
    assert_eq!(harness.delete(&mut request).unwrap_err().code, Code::Unavailable);
    harness.delete(&mut request).unwrap();
    assert!(harness.cloud(|cloud| cloud.is_empty()));
}

#[test]
fn of_two_instances_one_is_removed_by_its_id() {
    let harness = Harness::new();
    let mut request = request(1);
    harness.create(&mut request).unwrap();
    let own = json!({ "machinist-cluster": "c1", "machinist-machine-uid": "uid-1" });
    harness.cloud(|cloud| cloud.plant_in("europe-west1-c", "machine-1", &own, &[]));
    assert_eq!(harness.status(&forgotten(&request)).unwrap_err().code, Code::OutOfRange);
    let kept = request.machine.provider_id.clone().unwrap();
    let delete = |id: &str| harness.driver().delete_by_id(&request, id);
    assert_eq!(delete(&kept).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(delete("sim:///a/b").unwrap_err().code, Code::InvalidArgument);
    for _ in 0..2 {
        delete(&format!("gce:///{PROJECT}/europe-west1-c/machine-1")).unwrap();
        harness.pass(1_000);
    }
    assert_eq!(harness.vms().len(), 1);
    harness.cloud(|cloud| cloud.plant_in("europe-west1-c", "machine-1", &own, &[]));
    harness.delete(&mut request).unwrap();
    assert!(harness.cloud(|cloud| cloud.is_empty()), "a deletion removes both");
}

#[test]
fn a_reboot_keeps_the_instance() {
    let harness = Harness::new();
    let mut first = request(1);
    harness.create(&mut first).unwrap();
    let id = harness.vms()[0].id.clone();
    harness.driver().reboot(&first).unwrap();
    assert_eq!(harness.vms()[0].id, id);
    assert_eq!(harness.driver().reboot(&request(2)).unwrap_err().code, Code::NotFound);
}

#[test]
fn a_listing_of_more_than_five_hundred_instances_has_each_once() {
    let harness = Harness::new();
    for number in 0..1_203 {
        let cluster = if number % 6 == 5 { "c2" } else { "c1" };
        let labels =
            json!({ "machinist-cluster": cluster, "machinist-machine-uid": format!("uid-{number}") });
        let zone = ["europe-west1-b", "europe-west1-c", "europe-west1-d"][number % 3];
        harness.cloud(|cloud| cloud.plant_in(zone, &format!("vm-{number}"), &labels, &[]));
    }
    harness.cloud(|cloud| {
        cloud.plant_in(
            ZONE,
            "nobodys",
            &json!({}),
            &["kubernetes-io-cluster-lab", "kubernetes-io-role-node"],
        );
    });
    let listed = harness.list(&request(1).class, "c1").unwrap();
    let names: std::collections::BTreeSet<&str> = listed.iter().map(|vm| vm.machine_name.as_str()).collect();
    assert_eq!((listed.len(), names.len()), (1_003, 1_003));
    assert!(listed.iter().all(|vm| vm.machine_uid.is_some() && vm.created_at_ms == Some(START_MS)));
    assert_eq!(harness.sent(), ["instances.aggregatedList"; 3]);
    assert!(harness.list(&request(1).class, "c3").unwrap().is_empty());
    let failure = harness.driver().list(&request(1).class, "c1", Some("7")).map(|_| ()).unwrap_err();
    assert_eq!(failure.code, Code::InvalidArgument);
}
