//! A machine's life without failures, and its number of requests.

use jiff::SignedDuration;
use machinist_sdk::driver::{Code, VmState};
use serde_json::json;

use super::harness::{Harness, request, request_of, spec, with_id};

#[test]
fn an_ordinary_create_takes_one_request_and_its_initialization_none() {
    let harness = Harness::new();
    let request = request(1);
    let vm = harness.create(&request).unwrap();
    assert_eq!(harness.sent(), ["POST /v1/vms"]);
    let made = harness.live().remove(0);
    assert_eq!(vm.provider_id, format!("sim:///sim-1a/{}", made.id));
    assert_eq!((vm.node_name.as_str(), vm.failure_domain.as_deref()), ("machine-1", Some("sim-1a")));
    assert_eq!(vm.addresses.len(), made.addresses.len());
    let tags: Vec<(&str, &str)> =
        made.tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(tags, [("cluster", "c1"), ("machine-name", "machine-1"), ("machine-uid", "uid-1")]);

    assert_eq!(harness.initialize(&request).unwrap_err().code, Code::Unimplemented);
    let known = harness.initialize(&with_id(&request, &vm)).unwrap();
    assert_eq!((known.provider_id, known.node_name), (vm.provider_id, vm.node_name));
    assert_eq!(harness.requests(), 0);
}

#[test]
fn a_create_repeated_is_the_same_vm() {
    let harness = Harness::new();
    let first = harness.create(&request(1)).unwrap();
    harness.finish_transitions();
    let second = harness.create(&request(1)).unwrap();
    assert_eq!((first.provider_id, second.state), (second.provider_id, VmState::Running));
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn a_vm_is_found_by_id_and_without_it_by_uid() {
    let harness = Harness::new();
    let request = request(1);
    assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound);
    let vm = harness.create(&request).unwrap();
    harness.sent();
    for request in [request.clone(), with_id(&request, &vm)] {
        let seen = harness.status(&request).unwrap();
        assert_eq!((seen.provider_id, seen.state), (vm.provider_id.clone(), VmState::Pending));
        assert_eq!(harness.requests(), 1);
    }
}

#[test]
fn a_class_that_asks_is_initialized_once() {
    let harness = Harness::new();
    let mut spec = spec();
    spec["initialize"] = json!(true);
    let request = request_of(1, &spec);
    let vm = harness.create(&request).unwrap();
    harness.finish_transitions();
    let due = harness.status(&request).unwrap_err();
    assert_eq!((due.code, due.provider_id.as_ref()), (Code::Uninitialized, Some(&vm.provider_id)));
    assert_eq!(due.node_name.as_deref(), Some("machine-1"));
    harness.sent();

    harness.initialize(&with_id(&request, &vm)).unwrap();
    assert_eq!(harness.requests(), 1);
    assert!(harness.live().iter().all(|vm| vm.initialized && !vm.source_dest_check));
    assert_eq!(harness.initialize(&request).unwrap().provider_id, vm.provider_id);
    assert_eq!(harness.sent(), ["GET /v1/vms"]);
    assert_eq!(harness.status(&request).unwrap().state, VmState::Running);
    assert_eq!(harness.initialize(&request_of(2, &spec)).unwrap_err().code, Code::NotFound);
}

#[test]
fn the_end_of_a_vm_takes_three_requests_from_the_order_to_its_proof() {
    for record in [SimTime::Kept, SimTime::Forgotten] {
        let harness = Harness::new();
        let request = request(1);
        let request = with_id(&request, &harness.create(&request).unwrap());
        harness.finish_transitions();
        harness.sent();
        harness.delete(&request).unwrap();
        let id = request.machine.provider_id.as_deref().and_then(|id| id.rsplit('/').next()).unwrap();
        assert_eq!(harness.sent(), ["GET /v1/vms".to_owned(), format!("DELETE /v1/vms/{id}")]);
        harness.pass(SignedDuration::from_secs(if record == SimTime::Kept { 5 } else { 120 }));
        assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound);
        assert_eq!(harness.sent(), [format!("GET /v1/vms/{id}")]);
    }
}

/// The cloud's record of a VM that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SimTime {
    Kept,
    Forgotten,
}

#[test]
fn a_deletion_takes_the_vm_and_its_volumes_and_may_be_repeated() {
    let harness = Harness::new();
    let mut spec = spec();
    spec["volumes"] = json!([{ "sizeGib": 20, "name": "data" }]);
    let request = request_of(1, &spec);
    let request = with_id(&request, &harness.create(&request).unwrap());
    let other = harness.create(&super::harness::request(2)).unwrap();
    let tags = json!({ "cluster": "c1", "machine-uid": "uid-1" });
    harness.ask(
        simcloud::Method::Post,
        "/v1/volumes",
        &json!({ "name": "left", "zone": "sim-1a", "sizeGib": 1, "tags": tags }),
    );
    let tags = json!({ "cluster": "c2", "machine-uid": "uid-1" });
    harness.ask(
        simcloud::Method::Post,
        "/v1/volumes",
        &json!({ "name": "foreign", "zone": "sim-1a", "sizeGib": 1, "tags": tags }),
    );
    harness.finish_transitions();
    assert_eq!(harness.volumes(), 3);
    harness.sent();

    harness.delete(&request).unwrap();
    assert_eq!(harness.requests(), 4);
    harness.finish_transitions();
    assert_eq!(harness.volumes(), 1);
    assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound);
    harness.sent();
    harness.delete(&request).unwrap();
    assert_eq!(harness.requests(), 3);
    // Also if not even a record is left.
    harness.pass(SignedDuration::from_secs(60));
    harness.delete(&request).unwrap();
    assert_eq!(harness.live().len(), 1);
    assert_eq!(harness.list(None).unwrap().machines[0].provider_id, other.provider_id);
}

#[test]
fn a_deletion_works_without_an_id_and_with_any_class() {
    let harness = Harness::new();
    harness.create(&request(1)).unwrap();
    let mut request = request(1);
    request.class.spec = "{ nonsense".into();
    harness.delete(&request).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn all_vms_of_one_uid_are_seen_and_deleted() {
    let harness = Harness::new();
    let mut second = request(1);
    second.idempotency_key = "another".into();
    harness.create(&request(1)).unwrap();
    harness.create(&second).unwrap();
    let error = harness.status(&request(1)).unwrap_err();
    assert_eq!(error.code, Code::OutOfRange);
    assert!(error.message.contains("2 VMs"), "{}", error.message);
    harness.delete(&request(1)).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn of_two_vms_the_one_that_is_named_goes_and_the_one_that_the_machine_keeps_stays() {
    let harness = Harness::new();
    let kept = harness.create(&request(1)).unwrap();
    let mut second = request(1);
    second.idempotency_key = "another".into();
    let second = harness.create(&second).unwrap();
    let request = with_id(&request(1), &kept);
    assert_eq!(harness.delete_one(&request, &kept.provider_id).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(harness.delete_one(&request, "aws:///a/b").unwrap_err().code, Code::InvalidArgument);
    for _ in 0..2 {
        harness.delete_one(&request, &second.provider_id).unwrap();
        harness.finish_transitions();
    }
    harness.delete_one(&request, "sim:///sim-1a/vm-nowhere").unwrap();
    assert_eq!(harness.live().len(), 1);
    assert_eq!(harness.status(&request).unwrap().provider_id, kept.provider_id);

    let mut theirs = super::harness::request(2);
    theirs.cluster = "c2".into();
    let theirs = harness.create(&theirs).unwrap();
    let refused = harness.delete_one(&request, &theirs.provider_id).unwrap_err();
    assert_eq!((refused.code, harness.live().len()), (Code::FailedPrecondition, 2));
}

#[test]
fn what_belongs_to_another_cluster_is_left_alone() {
    let harness = Harness::new();
    let mut theirs = request(1);
    theirs.cluster = "c2".into();
    let vm = harness.create(&theirs).unwrap();
    assert_eq!(harness.status(&request(1)).unwrap_err().code, Code::NotFound);
    harness.delete(&request(1)).unwrap();
    // The id leads to it: the control plane was moved, and both "there is none" and "it is removed" would be wrong.
    let known = with_id(&request(1), &vm);
    for refused in [harness.status(&known).unwrap_err(), harness.delete(&known).unwrap_err()] {
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(refused.message.contains("start the host with --cluster-id=c2"), "{}", refused.message);
    }
    assert_eq!(harness.live().len(), 1);
    assert!(harness.notes().iter().all(|note| note.contains("left alone")));
    assert!(harness.list(None).unwrap().machines.is_empty());
}

#[test]
fn attack_a_vm_without_a_mark_is_nobodys_whatever_its_name_and_never_gone() {
    let harness = Harness::new();
    let tags = json!({ "machine-name": "machine-1", "team": "blue" });
    let vm = json!({ "name": "machine-1", "zone": "sim-1a", "type": "sim.small", "image": "linux-1", "tags": tags });
    harness.ask(simcloud::Method::Post, "/v1/vms", &vm);
    let id = format!("sim:///sim-1a/{}", harness.live()[0].id);
    let mut known = request(1);
    known.machine.provider_id = Some(id.clone());
    for refused in [
        harness.status(&known).unwrap_err(),
        harness.delete(&known).unwrap_err(),
        harness.reboot(&known).unwrap_err(),
        harness.delete_one(&request(2), &id).unwrap_err(),
    ] {
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(refused.message.contains("carries no cluster's mark"), "{}", refused.message);
    }
    assert_eq!(harness.live().len(), 1);
    assert!(harness.list(None).unwrap().machines.is_empty());
}

#[test]
fn a_machine_restored_under_another_uid_keeps_its_vm() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    let mut restored = with_id(&request(1), &vm);
    restored.machine.uid = "uid-of-later".into();
    assert_eq!(harness.status(&restored).unwrap().provider_id, vm.provider_id);
    harness.delete(&restored).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn a_listing_shows_each_vm_once_over_all_pages() {
    let harness = Harness::new();
    assert!(harness.list(None).unwrap().machines.is_empty());
    for number in 0..450 {
        harness.create(&request(number)).unwrap();
    }
    let mut uids = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let page = harness.list(token.as_deref()).unwrap();
        uids.extend(page.machines.into_iter().map(|machine| {
            assert_eq!(machine.created_at_ms, Some(1_767_323_045_000));
            (machine.machine_uid.unwrap(), machine.machine_name)
        }));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    uids.sort();
    let mut expected: Vec<_> =
        (0..450).map(|number| (format!("uid-{number}"), format!("machine-{number}"))).collect();
    expected.sort();
    assert_eq!(uids, expected);
}

#[test]
fn a_vm_is_rebooted_and_stays_the_same() {
    let harness = Harness::new();
    let request = request(1);
    assert_eq!(harness.reboot(&request).unwrap_err().code, Code::NotFound);
    let vm = harness.create(&request).unwrap();
    harness.finish_transitions();
    let before = harness.live().remove(0);
    harness.sent();
    harness.reboot(&with_id(&request, &vm)).unwrap();
    let id = before.id.clone();
    assert_eq!(harness.sent(), [format!("GET /v1/vms/{id}"), format!("POST /v1/vms/{id}/reboot")]);
    let after = harness.live().remove(0);
    assert_eq!((after.id, after.boot_id), (before.id, before.boot_id + 1));
    harness.delete(&request).unwrap();
    assert_eq!(harness.reboot(&request).unwrap_err().code, Code::NotFound);
}

#[test]
fn a_reboot_without_an_answer_may_have_happened() {
    let harness = Harness::new();
    let request = request(1);
    harness.create(&request).unwrap();
    harness.finish_transitions();
    harness.fault("POST", "/v1/vms/*/reboot", &json!({ "type": "timeout", "holdMs": 0 }));
    let error = harness.reboot(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::DeadlineExceeded, true));
}

#[test]
fn without_keys_a_create_looks_first_and_finds_what_an_earlier_one_made() {
    let harness = Harness::new().without_keys();
    let first = harness.create(&request(1)).unwrap();
    assert_eq!(harness.sent(), ["GET /v1/vms", "POST /v1/vms"]);
    let again = harness.create(&request(1)).unwrap();
    assert_eq!((again.provider_id, harness.live().len()), (first.provider_id, 1));
}
