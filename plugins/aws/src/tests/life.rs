//! The state of a machine, and its deletion.

use machinist_sdk::driver::{Code, Trouble, VmState};
use serde_json::json;

use super::takeover::{adopts, made_by_another_program, mcm};
use super::world::{Fault, World, request, request_of, spec, spec_with, trouble, with_id, with_state};
use crate::machine::{region_of, region_of_class};

#[test]
fn an_instance_is_found_by_id_and_without_it_by_uid() {
    let world = World::new();
    let request = request(1);
    assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound);
    let vm = world.create(&request).unwrap();
    world.sent();
    for request in
        [request.clone(), with_id(&request, &vm), with_state(&request, vm.last_known_state.as_ref())]
    {
        let seen = world.status(&request).unwrap();
        assert_eq!(
            (&seen.provider_id, &seen.node_name, seen.state),
            (&vm.provider_id, &vm.node_name, VmState::Pending)
        );
        assert_eq!(world.sent().len(), 1);
    }
}

#[test]
fn every_state_has_its_name_and_what_ends_is_not_found() {
    let world = World::new();
    let request = with_id(&request(1), &world.create(&request(1)).unwrap());
    let table = [
        ("pending", VmState::Pending),
        ("running", VmState::Running),
        ("stopping", VmState::Stopping),
        ("stopped", VmState::Stopped),
        ("hibernating", VmState::Unknown),
    ];
    for (state, expected) in table {
        world.change(0, |vm| vm.state = state);
        assert_eq!(world.status(&request).unwrap().state, expected, "{state}");
    }
    for state in ["shutting-down", "terminated"] {
        world.change(0, |vm| vm.state = state);
        assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound, "{state}");
    }
}

#[test]
fn several_instances_of_one_machine_are_named() {
    let world = World::new();
    for key in ["one", "two"] {
        let mut request = request(1);
        request.idempotency_key = key.into();
        world.create(&request).unwrap();
    }
    let error = world.status(&request(1)).unwrap_err();
    assert_eq!(error.code, Code::OutOfRange);
    assert!(error.message.contains("i-00000001, i-00000002"), "{}", error.message);
    // By name as well.
    adopts(&world);
    for vm in world.live() {
        world.change(usize::from(vm.id == "i-00000002"), |vm| {
            vm.tags.retain(|key, _| !key.starts_with("machinist.dev/"));
            vm.token = "another".into();
        });
    }
    assert_eq!(world.status(&request(1)).unwrap_err().code, Code::OutOfRange);
    world.delete(&request(1)).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn what_is_adopted_is_known_by_name_and_the_operators_tag_keys() {
    let world = World::new();
    adopts(&world);
    mcm(&world, 1);
    // The operator's keys count, whatever the class says.
    let other_keys =
        spec_with(json!({ "tags": { "kubernetes.io/cluster/other": "", "kubernetes.io/role/node": "" } }));
    for spec in [spec(), other_keys] {
        assert_eq!(world.status(&request_of(1, &spec)).unwrap_err().code, Code::Uninitialized);
    }
    assert_eq!(world.status(&request(2)).unwrap_err().code, Code::NotFound);
    world.delete(&request(1)).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn a_deletion_is_a_look_and_an_order_and_may_be_repeated() {
    let world = World::new();
    let request = with_id(&request(1), &world.create(&request(1)).unwrap());
    world.create(&super::world::request(2)).unwrap();
    world.sent();
    world.delete(&request).unwrap();
    assert_eq!(world.sent(), ["DescribeInstances", "TerminateInstances"]);
    assert_eq!(world.live().len(), 1);
    assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound);
    assert_eq!(world.sent(), ["DescribeInstances"], "the proof that it is gone");
    // By uid, by name, by id: there is nothing to terminate.
    world.delete(&request).unwrap();
    assert_eq!(world.sent(), ["DescribeInstances"; 3]);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn a_deletion_works_with_any_class() {
    for broken in ["{ nonsense", "null", "{\"region\": 1}", "{\"tags\": [], \"region\": \"eu-west-1\"}"] {
        for is_ours in [true, false] {
            let world = World::new();
            let vm = world.create(&request(1)).unwrap();
            let mut request = with_id(&request(1), &vm);
            request.class.spec = broken.into();
            assert_eq!(region_of(&request).unwrap(), "eu-west-1", "{broken}");
            if !is_ours {
                adopts(&world);
                made_by_another_program(&world, &vm);
            }
            world.delete(&request).unwrap();
            assert!(world.live().is_empty(), "{broken}");
        }
    }
}

#[test]
fn the_region_is_the_id_s_else_the_last_create_s_else_the_class_s() {
    let mut request = request(1);
    request.machine.provider_id = Some("aws:///us-east-1/i-1".into());
    request.machine.last_known_state = Some(r#"{"region": "us-west-2"}"#.into());
    assert_eq!(region_of(&request).unwrap(), "us-east-1");
    request.machine.provider_id = None;
    assert_eq!(region_of(&request).unwrap(), "us-west-2");
    request.machine.last_known_state = None;
    assert_eq!(region_of(&request).unwrap(), "eu-west-1");
    request.class.spec = "{".into();
    let error = region_of(&request).unwrap_err();
    assert_eq!((error.code, error.terminal), (Code::InvalidArgument, true));
    assert!(error.message.contains("region is missing"), "{}", error.message);
    assert_eq!(region_of_class(&request.class).unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn an_instance_that_reads_do_not_show_yet_is_ordered_away_by_its_id() {
    let world = World::new();
    world.set(|model| model.lags = true);
    let vm = world.create(&request(1)).unwrap();
    // The host may have stored the id as well, or only the create's state.
    let noted = with_state(&request(1), vm.last_known_state.as_ref());
    for request in [with_id(&noted, &vm), noted] {
        world.change(0, |vm| vm.state = "pending");
        world.delete(&request).unwrap();
        assert!(world.live().is_empty());
    }
}

#[test]
fn an_id_that_nobody_knows_is_success() {
    let world = World::new();
    let mut request = request(1);
    request.machine.provider_id = Some("aws:///eu-west-1/i-0123456789abcdef0".into());
    world.delete(&request).unwrap();
    assert_eq!(world.sent(), ["DescribeInstances"; 3]);
    assert_eq!(world.status(&request).unwrap_err().code, Code::NotFound);
}

#[test]
fn what_belongs_to_another_cluster_or_machine_is_left_alone() {
    let world = World::new();
    let mut theirs = request(1);
    theirs.cluster = "c2".into();
    let vm = world.create(&theirs).unwrap();
    let neighbour = world.create(&request(2)).unwrap();
    let neighbour = with_id(&request(3), &neighbour);
    assert_eq!(world.status(&neighbour).unwrap_err().code, Code::NotFound);
    world.delete(&neighbour).unwrap();
    assert_eq!(world.notes().iter().filter(|note| note.contains("left alone")).count(), 2);
    // Its id, or the Machine's uid, leads to it: the control plane was moved.
    let mut restored = request(1);
    restored.machine.uid = "uid-of-later".into();
    for request in [request(1), with_id(&request(1), &vm), with_id(&restored, &vm)] {
        for refused in [world.status(&request).unwrap_err(), world.delete(&request).unwrap_err()] {
            assert_eq!(refused.code, Code::FailedPrecondition, "never found to be gone");
            assert!(refused.message.contains("start the host with --cluster-id=c2"), "{}", refused.message);
        }
        assert_eq!(world.live().len(), 2);
    }
    // A stranger's instance without any mark.
    world.change(0, |vm| {
        vm.tags = [("Name".to_owned(), "database".to_owned())].into();
        vm.token = "a-strangers".into();
    });
    let refused = world.delete(&with_id(&request(1), &vm)).unwrap_err();
    assert_eq!((refused.code, world.live().len()), (Code::FailedPrecondition, 2));
}

#[test]
fn of_two_instances_the_one_that_is_named_goes_and_the_one_that_the_machine_keeps_stays() {
    let world = World::new();
    let kept = world.create(&request(1)).unwrap();
    let mut second = request(1);
    second.idempotency_key = "another".into();
    let second = world.create(&second).unwrap();
    let request = with_id(&request(1), &kept);
    assert_eq!(world.delete_one(&request, &kept.provider_id).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(world.delete_one(&request, "sim:///a/b").unwrap_err().code, Code::InvalidArgument);
    for _ in 0..2 {
        world.delete_one(&request, &second.provider_id).unwrap();
    }
    world.delete_one(&request, "aws:///eu-west-1/i-0123456789abcdef0").unwrap();
    assert_eq!(world.live().len(), 1);
    assert_eq!(world.status(&request).unwrap().provider_id, kept.provider_id);

    let mut theirs = super::world::request(2);
    theirs.cluster = "c2".into();
    let theirs = world.create(&theirs).unwrap();
    let refused = world.delete_one(&request, &theirs.provider_id).unwrap_err();
    assert_eq!((refused.code, world.live().len()), (Code::FailedPrecondition, 2));
}

#[test]
fn a_machine_restored_under_another_uid_keeps_its_instance() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    let mut restored = with_id(&request(1), &vm);
    restored.machine.uid = "uid-of-later".into();
    assert_eq!(world.status(&restored).unwrap().provider_id, vm.provider_id);
    world.delete(&restored).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn a_deletion_that_fails_half_way_says_so_and_ends_well_when_repeated() {
    let world = World::new();
    let request = with_id(&request(1), &world.create(&request(1)).unwrap());
    world.fault("TerminateInstances", Fault::Instead(trouble(Trouble::TimedOut)));
    let error = world.delete(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::DeadlineExceeded, true));
    world.refuse("DescribeInstances", 503, "RequestLimitExceeded");
    let error = world.delete(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::Unavailable, false));
    world.refuse("TerminateInstances", 400, "OperationNotPermitted");
    let error = world.delete(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::FailedPrecondition, false));
    assert!(error.message.contains("termination protection"), "{}", error.message);
    world.delete(&request).unwrap();
    assert!(world.live().is_empty());
}

#[test]
fn one_instance_that_cannot_be_ordered_away_does_not_keep_the_other() {
    let world = World::new();
    for key in ["one", "two"] {
        let mut request = request_of(1, &spec());
        request.idempotency_key = key.into();
        world.create(&request).unwrap();
    }
    world.refuse("TerminateInstances", 400, "OperationNotPermitted");
    assert_eq!(world.delete(&request(1)).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn a_reboot_is_a_look_and_an_order() {
    let world = World::new();
    assert_eq!(world.reboot(&request(1)).unwrap_err().code, Code::NotFound);
    let known = with_id(&request(1), &world.create(&request(1)).unwrap());
    world.sent();
    world.bodies();
    world.reboot(&known).unwrap();
    // A read, and the order.
    let bodies = world.bodies();
    assert!(bodies.len() == 2 && bodies[0].starts_with("Action=DescribeInstances"), "{bodies:?}");
    assert_eq!(bodies[1], "Action=RebootInstances&Version=2016-11-15&InstanceId.1=i-00000001");
    world.refuse("RebootInstances", 403, "UnauthorizedOperation");
    assert_eq!(world.reboot(&known).unwrap_err().code, Code::PermissionDenied);
    world.refuse("RebootInstances", 400, "InvalidInstanceID.NotFound");
    assert_eq!(world.reboot(&known).unwrap_err().code, Code::NotFound);
}
