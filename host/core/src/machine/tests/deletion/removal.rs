//! The order to remove the VM, and what the cloud says to it.

use expect_test::expect;
use jiff::SignedDuration;

use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::{Deletion, VmState};
use crate::machine::{ClassFact, DriverFact, MachineOutcome};

use crate::machine::tests::facts::{self, broken, guest, in_progress, refused, vm, vm_that_is};
use crate::machine::tests::{check, deleting, ordered, running, seconds};

#[test]
fn a_vm_that_is_there_is_removed_and_looked_for_again() {
    check(
        &deleting().on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            status: Delete Processing Deleting(Drained), Drained=True Drained (all pods have gone)
            again after 1s
        "#]],
    );
}

#[test]
fn the_order_is_given_also_when_nothing_is_found_and_not_twice_while_it_works() {
    check(
        &deleting().on(MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Stopping)))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            status: Delete Processing Deleting(Drained), Drained=True Drained (all pods have gone)
            again after 1s
        "#]],
    );
}

#[test]
fn a_vm_that_stops_for_too_long_is_ordered_away_again() {
    check(
        &ordered(deleting(), 100).at(160).on(MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Stopping)))),
        &expect![[r#"
            act probe-vm
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            again after 15s
        "#]],
    );
}

#[test]
fn a_vm_without_stored_id_that_stops_is_ordered_away() {
    let unstored = deleting().with(|view| view.machine.provider_id = None);
    check(
        &unstored.on(MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Stopping)))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act probe-vm
            act delete-vm
            VmTerminating: the cloud is removing the VM
            status: Delete Processing Deleting(Drained), Drained=True Drained (all pods have gone)
            again after 9s
        "#]],
    );
}

#[test]
fn a_deletion_that_takes_long_is_asked_for_again() {
    let work = in_progress(SignedDuration::from_secs(20));
    check(
        &deleting().on(MachineOutcome::DeleteVm(Ok(Deletion::InProgress(work)))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmTerminating: the cloud is cloning a disk
            status: Delete Processing Deleting(VmWorking { message: "the cloud is cloning a disk" }), state job-7, Drained=True Drained (all pods have gone)
            again after 20s
        "#]],
    );
    let at_once = in_progress(SignedDuration::ZERO);
    let text = deleting().on(MachineOutcome::DeleteVm(Ok(Deletion::InProgress(at_once)))).report();
    assert!(text.ends_with("again after 1s\n"), "{text}");
}

/// Code, reason, what the operation says, and when it is tried again.
fn row(code: Code) -> String {
    let text = deleting().without_node().at(110).on(MachineOutcome::DeleteVm(Err(guest(code)))).report();
    let after_order = text.split_once("act delete-vm\n").unwrap().1;
    let lines: Vec<&str> = after_order.lines().collect();
    let reason = lines[0].split(':').next().unwrap();
    let said = lines[1].rsplit(", ").next().unwrap();
    format!("{code}: {reason}, {said}, {}\n", lines.last().unwrap())
}

#[test]
fn every_error_but_not_found_keeps_the_finalizer() {
    let codes = Code::ALL.into_iter().map(row);
    expect![[r#"
        Canceled: VmDeletionFailed, code Canceled, retry from 5s to 10m0s
        Unknown: VmDeletionFailed, status: Delete Failed Deleting(VmDeletionFailed { error: "machine codes error: code = [Unknown] message = [so it is]" }), retry from 5s to 2m0s
        InvalidArgument: VmDeletionFailed, code InvalidArgument, retry from 5s to 10m0s
        DeadlineExceeded: VmDeletionFailed, code DeadlineExceeded, retry from 5s to 2m0s
        NotFound: VmTerminating, status: Delete Processing Deleting(NoNodeToDrain), again after 1s
        AlreadyExists: VmDeletionFailed, code AlreadyExists, retry from 5s to 10m0s
        PermissionDenied: VmDeletionFailed, code PermissionDenied, retry from 5s to 10m0s
        ResourceExhausted: VmDeletionFailed, code ResourceExhausted, retry from 5s to 10m0s
        FailedPrecondition: VmDeletionFailed, code FailedPrecondition, retry from 5s to 10m0s
        Aborted: VmDeletionFailed, code Aborted, retry from 5s to 2m0s
        OutOfRange: VmDeletionFailed, code OutOfRange, retry from 5s to 10m0s
        Unimplemented: VmDeletionFailed, code Unimplemented, retry from 5s to 10m0s
        Internal: VmDeletionFailed, code Internal, retry from 5s to 10m0s
        Unavailable: VmDeletionFailed, code Unavailable, retry from 5s to 2m0s
        DataLoss: VmDeletionFailed, code DataLoss, retry from 5s to 10m0s
        Unauthenticated: VmDeletionFailed, code Unauthenticated, retry from 5s to 10m0s
        Uninitialized: VmDeletionFailed, code Uninitialized, retry from 5s to 10m0s
    "#]].assert_eq(&codes.collect::<String>());
}

#[test]
fn what_the_driver_wants_to_know_is_kept() {
    let error = DriverError {
        last_known_state: Some("job-8".into()),
        retry_after: Some(SignedDuration::from_secs(42)),
        ..DriverError::new(Code::FailedPrecondition, "a disk is locked")
    };
    check(
        &deleting().on(MachineOutcome::DeleteVm(Err(CallError::Guest(error)))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmDeletionFailed: machine codes error: code = [FailedPrecondition] message = [a disk is locked]
            status: Delete Failed Deleting(VmDeletionRefused { error: "machine codes error: code = [FailedPrecondition] message = [a disk is locked]" }), code FailedPrecondition, state job-8, Drained=True Drained (all pods have gone)
            retry from 5s to 10m0s, not before 42s
        "#]],
    );
    let deleted = Deletion::Deleted { last_known_state: Some("job-9".into()) };
    check(
        &deleting().on(MachineOutcome::ProbeVm(Ok(vm()))).on(MachineOutcome::DeleteVm(Ok(deleted))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            status: Delete Processing Deleting(Drained), state job-9, Drained=True Drained (all pods have gone)
            again after 1s
        "#]],
    );
}

#[test]
fn a_plugin_that_breaks_or_is_not_served_is_awaited() {
    check(
        &deleting().on(MachineOutcome::DeleteVm(Err(broken()))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            DriverBroken: the plugin hit its deadline limit (5m)
            status: Delete Failed Deleting(VmDeletionFailed { error: "the plugin hit its deadline limit (5m)" }), code DeadlineExceeded, Drained=True Drained (all pods have gone)
            retry from 5s to 2m0s
        "#]],
    );
    check(
        &deleting().on(MachineOutcome::DeleteVm(Err(refused()))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            DriverNotReady: plugin sim is not ready: Rejected
            status: Delete Failed Deleting(VmDeletionFailed { error: "plugin sim is not ready: Rejected" }), code Unavailable, Drained=True Drained (all pods have gone)
            retry from 5s to 2m0s
        "#]],
    );
}

#[test]
fn without_class_or_driver_the_vm_cannot_be_removed_and_the_machine_says_so() {
    let without_class = deleting().with(|view| {
        view.class = ClassFact::Missing("worker".into());
        view.driver = DriverFact::NotChosen;
    });
    check(
        &without_class,
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            ClassMissing: MachineClass worker does not exist, so the VM cannot be removed: create it again; where that cannot be mended and VM sim://1 is gone for certain, annotate this object with machinist.dev/vm-is-gone=true
            status: Delete Failed Deleting(VmDeletionRefused { error: "MachineClass worker does not exist, so the VM cannot be removed: create it again" }), Drained=True Drained (all pods have gone)
            retry from 5s to 10m0s
        "#]],
    );
    let CallError::Refused(refusal) = refused() else { panic!("no refusal") };
    check(
        &deleting().with(|view| view.driver = DriverFact::Refused(refusal)),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            DriverNotReady: plugin sim is not ready: Rejected; where that cannot be mended and VM sim://1 is gone for certain, annotate this object with machinist.dev/vm-is-gone=true
            status: Delete Failed Deleting(VmDeletionRefused { error: "plugin sim is not ready: Rejected" }), Drained=True Drained (all pods have gone)
            retry from 5s to 10m0s
        "#]],
    );
}

#[test]
fn a_vm_goes_also_when_the_pinned_version_of_its_driver_is_gone_and_every_pass_says_by_whom() {
    let begins = running().with(|view| view.machine.deletion = Some(seconds(99))).with(facts::substitute);
    check(
        &begins.at(100),
        &expect![[r#"
            act set-node-condition node-1 Terminating=True ScaleDown
            act cordon node-1
            act look-at-pods node-1
            Deleting: deletion has begun; the version that serves removes the VM: the pinned one is not loaded
            status: phase Terminating, timer on, Delete Processing Deleting(Begun)
            again at once
        "#]],
    );
    let going = deleting().with(facts::substitute);
    check(
        &going.clone().on(MachineOutcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1; the version that serves removes the VM: the pinned one is not loaded
            status: Delete Processing Deleting(Drained), Drained=True Drained (all pods have gone)
            again after 1s
        "#]],
    );
    check(
        &going.clone(),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1; the version that serves removes the VM: the pinned one is not loaded
            status: Delete Processing Deleting(Drained), Drained=True Drained (all pods have gone)
            again after 1s
        "#]],
    );
    check(
        &going.on(MachineOutcome::DeleteVm(Err(guest(Code::Unavailable)))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmDeletionFailed: machine codes error: code = [Unavailable] message = [so it is]; the version that serves removes the VM: the pinned one is not loaded
            status: Delete Failed Deleting(VmDeletionFailed { error: "machine codes error: code = [Unavailable] message = [so it is]" }), code Unavailable, Drained=True Drained (all pods have gone)
            retry from 5s to 2m0s
        "#]],
    );
}
