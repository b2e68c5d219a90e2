//! From a deletion timestamp to nothing left.

use expect_test::expect;

use crate::driver::error::{Code, DriverError};
use crate::driver::write_error::ActError;
use crate::machine::{ClassFact, DeleteRequestFact, MachineOutcome, MachineView, NodePresence, TargetFact};
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::phase::Phase;

use crate::machine::tests::facts::{operation, vm};
use crate::machine::tests::{check, creating, deleting, failed, ordered, pending, running, seconds, unknown};

#[test]
fn a_machine_without_our_finalizer_is_let_go() {
    check(
        &creating().with(|view| view.machine.deletion = Some(seconds(1))),
        &expect![[r#"
        Deleted: nothing of ours holds the Machine
        never again
    "#]],
    );
}

#[test]
fn the_status_says_first_that_a_machine_is_going_whatever_it_was_before() {
    check(
        &running().with(|view| view.machine.deletion = Some(seconds(99))),
        &expect![[r#"
            act set-node-condition node-1 Terminating=True ScaleDown
            act cordon node-1
            act look-at-pods node-1
            Deleting: deletion has begun
            status: phase Terminating, timer on, Delete Processing Deleting(Begun)
            again at once
        "#]],
    );
    for case in [creating(), pending(), unknown(), failed()] {
        let going = case.with(|view| {
            view.machine.has_finalizer = true;
            view.machine.deletion = Some(seconds(99));
        });
        let text = going.tell();
        assert!(text.contains("Deleting:") && text.contains("phase Terminating"), "{text}");
        assert!(!text.contains("-vm"), "the cloud is not asked before that: {text}");
    }
}

#[test]
fn a_vm_that_the_machine_does_not_know_is_stored_before_it_goes_so_that_its_node_is_found() {
    let unstored = || {
        deleting().with(|view| {
            view.machine.provider_id = None;
            view.machine.node_name = None;
            view.target = TargetFact::Cluster(NodePresence::Absent);
        })
    };
    check(
        &unstored().on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            Deleting: the VM's Node is known
            again at once
        "#]],
    );
    let mut uninitialized = DriverError::new(Code::Uninitialized, "half made");
    uninitialized.provider_id = Some(vm().provider_id);
    uninitialized.node_name = Some(vm().node_name);
    check(
        &unstored().on(MachineOutcome::ProbeVm(Err(uninitialized.into()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            Deleting: the VM's Node is known
            again at once
        "#]],
    );
    let unreachable = ActError::Unreachable { message: "down".into() };
    check(
        &unstored().on(MachineOutcome::ProbeVm(Ok(vm()))).on(MachineOutcome::RecordVm(Err(unreachable))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            WriteFailed: failed to store the VM's id on the Machine: the API server is unreachable: down
            retry from 1s to 1m0s
        "#]],
    );
    let invalid = ActError::Invalid { message: "never".into() };
    check(
        &unstored().on(MachineOutcome::ProbeVm(Ok(vm()))).on(MachineOutcome::RecordVm(Err(invalid))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            act delete-vm
            VmTerminating: the cloud is removing the VM
            status: Delete Processing Deleting(NoNodeToDrain)
            again after 9s
        "#]],
    );
}

#[test]
fn once_the_vm_is_gone_node_token_and_finalizer_follow() {
    check(
        &ordered(deleting(), 100),
        &expect![[r#"
            act probe-vm
            act delete-vm
            act delete-node node-1 node-uid-1 + forget-token
            act release-finalizer
            Deleted: VM and Node are gone
            never again
        "#]],
    );
    check(
        &ordered(deleting(), 100).without_node().at(110),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
    check(
        &ordered(deleting(), 100).without_target().at(110),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
}

#[test]
fn who_has_joined_has_no_token_to_look_for() {
    check(
        &ordered(deleting(), 100).with(|view| view.machine.has_join_duration = true),
        &expect![[r#"
            act probe-vm
            act delete-vm
            act delete-node node-1 node-uid-1
            act release-finalizer
            Deleted: VM and Node are gone
            never again
        "#]],
    );
}

#[test]
fn without_a_node_the_token_and_the_finalizer_go() {
    check(
        &ordered(deleting(), 100).without_node().at(110),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
}

#[test]
fn deletion_goes_on_with_a_class_that_is_going_and_a_spec_that_is_invalid() {
    let broken_objects = deleting().with(|view| {
        view.machine.going.order =
            Some(DeleteRequestFact { first: seconds(90), at: seconds(90), asked: seconds(90) });
        view.class = ClassFact::Deleting("worker".into());
        view.machine.invalid = Some("spec.class.kind must be MachineClass".into());
        view.machine.operation = operation("Create", "Failed");
    });
    assert!(broken_objects.tell().ends_with("never again\n"));
}

#[test]
fn a_frozen_gate_lets_requested_deletions_end() {
    assert_eq!(ordered(deleting(), 100).frozen().tell(), ordered(deleting(), 100).tell());
}

#[test]
fn a_node_of_another_vm_is_not_deleted() {
    let foreign = TargetFact::Cluster(NodePresence::Foreign("sim://2".into()));
    check(
        &ordered(deleting(), 100).with(|view| view.target = foreign).at(110),
        &expect![[r#"
        act probe-vm
        act delete-vm
        act forget-token
        act release-finalizer
        Deleted: VM and Node are gone
        never again
    "#]],
    );
}

#[test]
fn what_cannot_be_removed_after_the_vm_keeps_the_finalizer() {
    let denied = ActError::Denied { message: "no rights".into() };
    check(
        &ordered(deleting(), 100).on(MachineOutcome::DeleteNode(Err(denied.clone()))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            act delete-node node-1 node-uid-1 + forget-token
            NodeDeletionFailed: failed to delete the Node: forbidden: no rights
            status: Delete Failed Deleting(NodeDeletionFailed { node: "node-1", error: "forbidden: no rights" })
            retry from 1s to 1m0s
        "#]],
    );
    check(
        &ordered(deleting(), 100).on(MachineOutcome::ForgetToken(Err(denied))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            act delete-node node-1 node-uid-1 + forget-token
            BootstrapTokenFailed: failed to delete the bootstrap token: forbidden: no rights
            status: Delete Failed Deleting(NodeDeleted { node: "node-1" })
            retry from 1s to 1m0s
        "#]],
    );
    check(
        &ordered(deleting(), 100).on(MachineOutcome::ReleaseFinalizer(Err(ActError::Conflict))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            act delete-node node-1 node-uid-1 + forget-token
            act release-finalizer
            FinalizerHeld: failed to take the finalizer off: the object changed in the meantime
            retry from 200ms to 5s
        "#]],
    );
}

#[test]
fn a_machine_that_says_terminating_and_is_not_deleted_is_not_removed() {
    let case = running().with(|view| view.machine.phase = Phase::Terminating);
    assert!(!case.tell().contains("delete-"));
}

#[test]
fn a_node_that_an_outage_may_hide_is_waited_for_where_there_is_a_vm_and_nobody_forces_it() {
    let unseen = || deleting().with(|view| view.target = TargetFact::Cluster(NodePresence::Absent));
    let frozen =
        |reason| move |view: &mut MachineView| view.gate = Gate::Frozen { since: seconds(0), reason };
    for reason in [FreezeReason::TargetClusterUnreachable, FreezeReason::CatchingUp] {
        let text = unseen().with(frozen(reason)).tell();
        assert!(text.contains("DrainFailed") && !text.contains("delete-vm"), "{text}");
        let forced = unseen().with(frozen(reason)).with(|view| view.machine.going.is_forced = true).tell();
        assert!(forced.contains("act delete-vm"), "{forced}");
        let late = unseen().with(frozen(reason)).at(99 + 7_200 + 1).tell();
        assert!(late.contains("act delete-vm"), "{late}");
    }
    for case in [unseen(), unseen().with(frozen(FreezeReason::Requested))] {
        assert!(case.tell().contains("act delete-vm"), "{}", case.tell());
    }
}
