//! The state of a machine, and its deletion.

use machinist_sdk::driver::{Code, NoAnswerReason, VmState};
use serde_json::json;

use super::harness::{Fault, Harness, no_answer, request, request_of, spec, spec_with, with_id, with_state};
use super::takeover::{adopts, made_by_another_program, mcm};
use crate::instance::machine::{region_of, region_of_class};

#[test]
fn an_instance_is_found_by_id_and_without_it_by_uid() {
    let harness = Harness::new();
    let request = request(1);
    assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound);
    let vm = harness.create(&request).unwrap();
    harness.sent();
    for request in
        [request.clone(), with_id(&request, &vm), with_state(&request, vm.last_known_state.as_ref())]
    {
        let seen = harness.status(&request).unwrap();
        assert_eq!(
            (&seen.provider_id, &seen.node_name, seen.state),
            (&vm.provider_id, &vm.node_name, VmState::Pending)
        );
        assert_eq!(harness.sent().len(), 1);
    }
}

#[test]
fn every_state_has_its_name_and_what_ends_is_not_found() {
    let harness = Harness::new();
    let request = with_id(&request(1), &harness.create(&request(1)).unwrap());
    let table = [
        ("pending", VmState::Pending),
        ("running", VmState::Running),
        ("stopping", VmState::Stopping),
        ("stopped", VmState::Stopped),
        ("hibernating", VmState::Unknown),
    ];
    for (state, expected) in table {
        harness.change(0, |vm| vm.state = state);
        assert_eq!(harness.status(&request).unwrap().state, expected, "{state}");
    }
    for state in ["shutting-down", "terminated"] {
        harness.change(0, |vm| vm.state = state);
        assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound, "{state}");
    }
}

#[test]
fn several_instances_of_one_machine_are_named() {
    let harness = Harness::new();
    for key in ["one", "two"] {
        let mut request = request(1);
        request.idempotency_key = key.into();
        harness.create(&request).unwrap();
    }
    let error = harness.status(&request(1)).unwrap_err();
    assert_eq!(error.code, Code::OutOfRange);
    assert!(error.message.contains("i-00000001, i-00000002"), "{}", error.message);
    // By name as well.
    adopts(&harness);
    for vm in harness.live() {
        harness.change(usize::from(vm.id == "i-00000002"), |vm| {
            vm.tags.retain(|key, _| !key.starts_with("machinist.dev/"));
            vm.token = "another".into();
        });
    }
    assert_eq!(harness.status(&request(1)).unwrap_err().code, Code::OutOfRange);
    harness.delete(&request(1)).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn what_is_adopted_is_known_by_name_and_the_operators_tag_keys() {
    let harness = Harness::new();
    adopts(&harness);
    mcm(&harness, 1);
    // The operator's keys count, whatever the class says.
    let other_keys =
        spec_with(json!({ "tags": { "kubernetes.io/cluster/other": "", "kubernetes.io/role/node": "" } }));
    for spec in [spec(), other_keys] {
        assert_eq!(harness.status(&request_of(1, &spec)).unwrap_err().code, Code::Uninitialized);
    }
    assert_eq!(harness.status(&request(2)).unwrap_err().code, Code::NotFound);
    harness.delete(&request(1)).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn a_deletion_is_a_look_and_an_order_and_may_be_repeated() {
    let harness = Harness::new();
    let request = with_id(&request(1), &harness.create(&request(1)).unwrap());
    harness.create(&super::harness::request(2)).unwrap();
    harness.sent();
    harness.delete(&request).unwrap();
    assert_eq!(harness.sent(), ["DescribeInstances", "TerminateInstances"]);
    assert_eq!(harness.live().len(), 1);
    assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound);
    assert_eq!(harness.sent(), ["DescribeInstances"], "the proof that it is gone");
    // By uid, by name, by id: there is nothing to terminate.
    harness.delete(&request).unwrap();
    assert_eq!(harness.sent(), ["DescribeInstances"; 3]);
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn a_deletion_works_with_any_class() {
    for broken in ["{ nonsense", "null", "{\"region\": 1}", "{\"tags\": [], \"region\": \"eu-west-1\"}"] {
        for is_ours in [true, false] {
            let harness = Harness::new();
            let vm = harness.create(&request(1)).unwrap();
            let mut request = with_id(&request(1), &vm);
            request.class.spec = broken.into();
            assert_eq!(region_of(&request).unwrap(), "eu-west-1", "{broken}");
            if !is_ours {
                adopts(&harness);
                made_by_another_program(&harness, &vm);
            }
            harness.delete(&request).unwrap();
            assert!(harness.live().is_empty(), "{broken}");
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
    let harness = Harness::new();
    harness.set(|model| model.lags = true);
    let vm = harness.create(&request(1)).unwrap();
    // The host may have stored the id as well, or only the create's state.
    let noted = with_state(&request(1), vm.last_known_state.as_ref());
    for request in [with_id(&noted, &vm), noted] {
        harness.change(0, |vm| vm.state = "pending");
        harness.delete(&request).unwrap();
        assert!(harness.live().is_empty());
    }
}

#[test]
fn an_id_that_nobody_knows_is_success() {
    let harness = Harness::new();
    let mut request = request(1);
    request.machine.provider_id = Some("aws:///eu-west-1/i-0123456789abcdef0".into());
    harness.delete(&request).unwrap();
    assert_eq!(harness.sent(), ["DescribeInstances"; 3]);
    assert_eq!(harness.status(&request).unwrap_err().code, Code::NotFound);
}

#[test]
fn what_belongs_to_another_cluster_or_machine_is_left_alone() {
    let harness = Harness::new();
    let mut theirs = request(1);
    theirs.cluster = "c2".into();
    let vm = harness.create(&theirs).unwrap();
    let neighbour = harness.create(&request(2)).unwrap();
    let neighbour = with_id(&request(3), &neighbour);
    assert_eq!(harness.status(&neighbour).unwrap_err().code, Code::NotFound);
    harness.delete(&neighbour).unwrap();
    assert_eq!(harness.notes().iter().filter(|note| note.contains("left alone")).count(), 2);
    // Its id, or the Machine's uid, leads to it: the control plane was moved.
    let mut restored = request(1);
    restored.machine.uid = "uid-of-later".into();
    for request in [request(1), with_id(&request(1), &vm), with_id(&restored, &vm)] {
        for refused in [harness.status(&request).unwrap_err(), harness.delete(&request).unwrap_err()] {
            assert_eq!(refused.code, Code::FailedPrecondition, "never found to be gone");
            assert!(refused.message.contains("start the host with --cluster-id=c2"), "{}", refused.message);
        }
        assert_eq!(harness.live().len(), 2);
    }
    // A stranger's instance without any mark.
    harness.change(0, |vm| {
        vm.tags = [("Name".to_owned(), "database".to_owned())].into();
        vm.token = "a-strangers".into();
    });
    let refused = harness.delete(&with_id(&request(1), &vm)).unwrap_err();
    assert_eq!((refused.code, harness.live().len()), (Code::FailedPrecondition, 2));
}

#[test]
fn of_two_instances_the_one_that_is_named_goes_and_the_one_that_the_machine_keeps_stays() {
    let harness = Harness::new();
    let kept = harness.create(&request(1)).unwrap();
    let mut second = request(1);
    second.idempotency_key = "another".into();
    let second = harness.create(&second).unwrap();
    let request = with_id(&request(1), &kept);
    assert_eq!(harness.delete_one(&request, &kept.provider_id).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(harness.delete_one(&request, "sim:///a/b").unwrap_err().code, Code::InvalidArgument);
    for _ in 0..2 {
        harness.delete_one(&request, &second.provider_id).unwrap();
    }
    harness.delete_one(&request, "aws:///eu-west-1/i-0123456789abcdef0").unwrap();
    assert_eq!(harness.live().len(), 1);
    assert_eq!(harness.status(&request).unwrap().provider_id, kept.provider_id);

    let mut theirs = super::harness::request(2);
    theirs.cluster = "c2".into();
    let theirs = harness.create(&theirs).unwrap();
    let refused = harness.delete_one(&request, &theirs.provider_id).unwrap_err();
    assert_eq!((refused.code, harness.live().len()), (Code::FailedPrecondition, 2));
}

#[test]
fn a_machine_restored_under_another_uid_keeps_its_instance() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    let mut restored = with_id(&request(1), &vm);
    restored.machine.uid = "uid-of-later".into();
    assert_eq!(harness.status(&restored).unwrap().provider_id, vm.provider_id);
    harness.delete(&restored).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn a_deletion_that_fails_half_way_says_so_and_ends_well_when_repeated() {
    let harness = Harness::new();
    let request = with_id(&request(1), &harness.create(&request(1)).unwrap());
    harness.fault("TerminateInstances", Fault::Instead(no_answer(NoAnswerReason::TimedOut)));
    let error = harness.delete(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::DeadlineExceeded, true));
    harness.refuse("DescribeInstances", 503, "RequestLimitExceeded");
    let error = harness.delete(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::Unavailable, false));
    harness.refuse("TerminateInstances", 400, "OperationNotPermitted");
    let error = harness.delete(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::FailedPrecondition, false));
    assert!(error.message.contains("termination protection"), "{}", error.message);
    harness.delete(&request).unwrap();
    assert!(harness.live().is_empty());
}

#[test]
fn one_instance_that_cannot_be_ordered_away_does_not_keep_the_other() {
    let harness = Harness::new();
    for key in ["one", "two"] {
        let mut request = request_of(1, &spec());
        request.idempotency_key = key.into();
        harness.create(&request).unwrap();
    }
    harness.refuse("TerminateInstances", 400, "OperationNotPermitted");
    assert_eq!(harness.delete(&request(1)).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn a_reboot_is_a_look_and_an_order() {
    let harness = Harness::new();
    assert_eq!(harness.reboot(&request(1)).unwrap_err().code, Code::NotFound);
    let known = with_id(&request(1), &harness.create(&request(1)).unwrap());
    harness.sent();
    harness.bodies();
    harness.reboot(&known).unwrap();
    // A read, and the order.
    let bodies = harness.bodies();
    assert!(bodies.len() == 2 && bodies[0].starts_with("Action=DescribeInstances"), "{bodies:?}");
    assert_eq!(bodies[1], "Action=RebootInstances&Version=2016-11-15&InstanceId.1=i-00000001");
    harness.refuse("RebootInstances", 403, "UnauthorizedOperation");
    assert_eq!(harness.reboot(&known).unwrap_err().code, Code::PermissionDenied);
    harness.refuse("RebootInstances", 400, "InvalidInstanceID.NotFound");
    assert_eq!(harness.reboot(&known).unwrap_err().code, Code::NotFound);
}
