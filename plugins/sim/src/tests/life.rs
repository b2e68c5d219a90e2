//! A machine's life without failures, and its number of requests.

use jiff::SignedDuration;
use machinist_sdk::driver::{Code, VmState};
use serde_json::json;

use super::world::{World, request, request_of, spec, with_id};

#[test]
fn an_ordinary_create_takes_one_request_and_its_initialization_none() {
    let world = World::new();
    let request = request(1);
    let vm = world.create(&request).unwrap();
    assert_eq!(world.sent(), ["POST /v1/vms"]);
    let made = world.live().remove(0);
    assert_eq!(vm.provider_id, format!("sim:///sim-1a/{}", made.id));
    assert_eq!((vm.node_name.as_str(), vm.failure_domain.as_deref()), ("machine-1", Some("sim-1a")));
    assert_eq!(vm.addresses.len(), made.addresses.len());
    let tags: Vec<(&str, &str)> =
        made.tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(tags, [("cluster", "c1"), ("machine-name", "machine-1"), ("machine-uid", "uid-1")]);

    assert_eq!(world.initialize(&request).unwrap_err().code, Code::Unimplemented);
    let known = world.initialize(&with_id(&request, &vm)).unwrap();
    assert_eq!((known.provider_id, known.node_name), (vm.provider_id, vm.node_name));
    assert_eq!(world.requests(), 0);
}

#[test]
fn a_create_repeated_is_the_same_vm() {
    let world = World::new();
    let first = world.create(&request(1)).unwrap();
    world.settle();
    let second = world.create(&request(1)).unwrap();
    assert_eq!((first.provider_id, second.state), (second.provider_id, VmState::Running));
    assert_eq!(world.live().len(), 1);
}

#[test]
fn a_vm_is_found_by_id_and_without_it_by_uid() {
    let world = World::new();
    let request = request(1);
    assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound);
    let vm = world.create(&request).unwrap();
    world.sent();
    for request in [request.clone(), with_id(&request, &vm)] {
        let seen = world.status(&request).unwrap();
        assert_eq!((seen.provider_id, seen.state), (vm.provider_id.clone(), VmState::Pending));
        assert_eq!(world.requests(), 1);
    }
}

#[test]
fn a_class_that_asks_is_initialized_once() {
    let world = World::new();
    let mut spec = spec();
    spec["initialize"] = json!(true);
    let request = request_of(1, &spec);
    let vm = world.create(&request).unwrap();
    world.settle();
    let due = world.status(&request).unwrap_err();
    assert_eq!((due.code, due.provider_id.as_ref()), (Code::Uninitialized, Some(&vm.provider_id)));
    assert_eq!(due.node_name.as_deref(), Some("machine-1"));
    world.sent();

    world.initialize(&with_id(&request, &vm)).unwrap();
    assert_eq!(world.requests(), 1);
    assert!(world.live().iter().all(|vm| vm.initialized && !vm.source_dest_check));
    assert_eq!(world.initialize(&request).unwrap().provider_id, vm.provider_id);
    assert_eq!(world.sent(), ["GET /v1/vms"]);
    assert_eq!(world.status(&request).unwrap().state, VmState::Running);
    assert_eq!(world.initialize(&request_of(2, &spec)).unwrap_err().code, Code::NotFound);
}

#[test]
fn the_end_of_a_vm_takes_three_requests_from_the_order_to_its_proof() {
    for record in [SimTime::Kept, SimTime::Forgotten] {
        let world = World::new();
        let request = request(1);
        let request = with_id(&request, &world.create(&request).unwrap());
        world.settle();
        world.sent();
        world.delete(&request).unwrap();
        let id = request.machine.provider_id.as_deref().and_then(|id| id.rsplit('/').next()).unwrap();
        assert_eq!(world.sent(), ["GET /v1/vms".to_owned(), format!("DELETE /v1/vms/{id}")]);
        world.pass(SignedDuration::from_secs(if record == SimTime::Kept { 5 } else { 120 }));
        assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound);
        assert_eq!(world.sent(), [format!("GET /v1/vms/{id}")]);
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
    let world = World::new();
    let mut spec = spec();
    spec["volumes"] = json!([{ "sizeGib": 20, "name": "data" }]);
    let request = request_of(1, &spec);
    let request = with_id(&request, &world.create(&request).unwrap());
    let other = world.create(&super::world::request(2)).unwrap();
    let tags = json!({ "cluster": "c1", "machine-uid": "uid-1" });
    world.ask(
        simcloud::Method::Post,
        "/v1/volumes",
        &json!({ "name": "left", "zone": "sim-1a", "sizeGib": 1, "tags": tags }),
    );
    let tags = json!({ "cluster": "c2", "machine-uid": "uid-1" });
    world.ask(
        simcloud::Method::Post,
        "/v1/volumes",
        &json!({ "name": "foreign", "zone": "sim-1a", "sizeGib": 1, "tags": tags }),
    );
    world.settle();
    assert_eq!(world.volumes(), 3);
    world.sent();

    world.delete(&request).unwrap();
    assert_eq!(world.requests(), 4);
    world.settle();
    assert_eq!(world.volumes(), 1);
    assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound);
    world.sent();
    world.delete(&request).unwrap();
    assert_eq!(world.requests(), 3);
    // Also if not even a record is left.
    world.pass(SignedDuration::from_secs(60));
    world.delete(&request).unwrap();
    assert_eq!(world.live().len(), 1);
    assert_eq!(world.list(None).unwrap().machines[0].provider_id, other.provider_id);
}

#[test]
fn a_deletion_works_without_an_id_and_with_any_class() {
    let world = World::new();
    world.create(&request(1)).unwrap();
    let mut request = request(1);
    request.class.spec = "{ nonsense".into();
    world.delete(&request).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn all_vms_of_one_uid_are_seen_and_deleted() {
    let world = World::new();
    let mut second = request(1);
    second.idempotency_key = "another".into();
    world.create(&request(1)).unwrap();
    world.create(&second).unwrap();
    let error = world.status(&request(1)).unwrap_err();
    assert_eq!(error.code, Code::OutOfRange);
    assert!(error.message.contains("2 VMs"), "{}", error.message);
    world.delete(&request(1)).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn of_two_vms_the_one_that_is_named_goes_and_the_one_that_the_machine_keeps_stays() {
    let world = World::new();
    let kept = world.create(&request(1)).unwrap();
    let mut second = request(1);
    second.idempotency_key = "another".into();
    let second = world.create(&second).unwrap();
    let request = with_id(&request(1), &kept);
    assert_eq!(world.delete_one(&request, &kept.provider_id).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(world.delete_one(&request, "aws:///a/b").unwrap_err().code, Code::InvalidArgument);
    for _ in 0..2 {
        world.delete_one(&request, &second.provider_id).unwrap();
        world.settle();
    }
    world.delete_one(&request, "sim:///sim-1a/vm-nowhere").unwrap();
    assert_eq!(world.live().len(), 1);
    assert_eq!(world.status(&request).unwrap().provider_id, kept.provider_id);

    let mut theirs = super::world::request(2);
    theirs.cluster = "c2".into();
    let theirs = world.create(&theirs).unwrap();
    let refused = world.delete_one(&request, &theirs.provider_id).unwrap_err();
    assert_eq!((refused.code, world.live().len()), (Code::FailedPrecondition, 2));
}

#[test]
fn what_belongs_to_another_cluster_is_left_alone() {
    let world = World::new();
    let mut theirs = request(1);
    theirs.cluster = "c2".into();
    let vm = world.create(&theirs).unwrap();
    assert_eq!(world.status(&request(1)).unwrap_err().code, Code::NotFound);
    world.delete(&request(1)).unwrap();
    // The id leads to it: the control plane was moved, and both "there is none" and "it is removed" would be wrong.
    let known = with_id(&request(1), &vm);
    for refused in [world.status(&known).unwrap_err(), world.delete(&known).unwrap_err()] {
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(refused.message.contains("start the host with --cluster-id=c2"), "{}", refused.message);
    }
    assert_eq!(world.live().len(), 1);
    assert!(world.notes().iter().all(|note| note.contains("left alone")));
    assert!(world.list(None).unwrap().machines.is_empty());
}

#[test]
fn attack_a_vm_without_a_mark_is_nobodys_whatever_its_name_and_never_gone() {
    let world = World::new();
    let tags = json!({ "machine-name": "machine-1", "team": "blue" });
    let vm = json!({ "name": "machine-1", "zone": "sim-1a", "type": "sim.small", "image": "linux-1", "tags": tags });
    world.ask(simcloud::Method::Post, "/v1/vms", &vm);
    let id = format!("sim:///sim-1a/{}", world.live()[0].id);
    let mut known = request(1);
    known.machine.provider_id = Some(id.clone());
    for refused in [
        world.status(&known).unwrap_err(),
        world.delete(&known).unwrap_err(),
        world.reboot(&known).unwrap_err(),
        world.delete_one(&request(2), &id).unwrap_err(),
    ] {
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(refused.message.contains("carries no cluster's mark"), "{}", refused.message);
    }
    assert_eq!(world.live().len(), 1);
    assert!(world.list(None).unwrap().machines.is_empty());
}

#[test]
fn a_machine_restored_under_another_uid_keeps_its_vm() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    let mut restored = with_id(&request(1), &vm);
    restored.machine.uid = "uid-of-later".into();
    assert_eq!(world.status(&restored).unwrap().provider_id, vm.provider_id);
    world.delete(&restored).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn a_listing_shows_each_vm_once_over_all_pages() {
    let world = World::new();
    assert!(world.list(None).unwrap().machines.is_empty());
    for number in 0..450 {
        world.create(&request(number)).unwrap();
    }
    let mut uids = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let page = world.list(token.as_deref()).unwrap();
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
fn a_vm_is_started_anew_and_stays_the_same() {
    let world = World::new();
    let request = request(1);
    assert_eq!(world.reboot(&request).unwrap_err().code, Code::NotFound);
    let vm = world.create(&request).unwrap();
    world.settle();
    let before = world.live().remove(0);
    world.sent();
    world.reboot(&with_id(&request, &vm)).unwrap();
    let id = before.id.clone();
    assert_eq!(world.sent(), [format!("GET /v1/vms/{id}"), format!("POST /v1/vms/{id}/reboot")]);
    let after = world.live().remove(0);
    assert_eq!((after.id, after.boot_id), (before.id, before.boot_id + 1));
    world.delete(&request).unwrap();
    assert_eq!(world.reboot(&request).unwrap_err().code, Code::NotFound);
}

#[test]
fn a_reboot_without_an_answer_may_have_happened() {
    let world = World::new();
    let request = request(1);
    world.create(&request).unwrap();
    world.settle();
    world.fault("POST", "/v1/vms/*/reboot", &json!({ "type": "timeout", "holdMs": 0 }));
    let error = world.reboot(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::DeadlineExceeded, true));
}

#[test]
fn without_keys_a_create_looks_first_and_finds_what_an_earlier_one_made() {
    let world = World::new().without_keys();
    let first = world.create(&request(1)).unwrap();
    assert_eq!(world.sent(), ["GET /v1/vms", "POST /v1/vms"]);
    let again = world.create(&request(1)).unwrap();
    assert_eq!((again.provider_id, world.live().len()), (first.provider_id, 1));
}
