//! Creates whose outcome is open: the cloud works on them, or nobody knows whether it has.

use expect_test::expect;
use jiff::SignedDuration;

use crate::driver::Creation;
use crate::machine::{MachineView, Outcome};

use super::facts::{capabilities, in_progress, operation, vm, window};
use super::{Case, begun, check, creating, pending, seconds};

/// A create that the cloud was at work on when it was asked last.
fn at_work(view: &mut MachineView) {
    view.machine.operation = operation("Create", "Processing");
    view.machine.last_known_state = Some("job-7".into());
}

#[test]
fn a_create_that_takes_long_is_asked_for_again_with_its_token_and_not_looked_for() {
    let work = in_progress(SignedDuration::from_secs(20));
    check(
        &creating().on(Outcome::CreateVm(Ok(Creation::InProgress(work.clone())))),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        CloudWorking: the cloud is cloning a disk
        status: Create Processing CloudWorking { message: "the cloud is cloning a disk" }, state job-7
        again after 20s
    "#]],
    );
    check(
        &begun().with(at_work),
        &expect![[r#"
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, in zone-a
            again at once
        "#]],
    );
    check(
        &begun().with(at_work).on(Outcome::CreateVm(Ok(Creation::InProgress(work)))),
        &expect![[r#"
        act ensure-token
        act create-vm
        CloudWorking: the cloud is cloning a disk
        status: Create Processing CloudWorking { message: "the cloud is cloning a disk" }, state job-7
        again after 20s
    "#]],
    );
}

#[test]
fn a_driver_that_wants_to_be_asked_at_once_or_next_year_is_asked_within_reason() {
    for ask_again in [SignedDuration::ZERO, SignedDuration::from_hours(24 * 365)] {
        let text = creating().on(Outcome::CreateVm(Ok(Creation::InProgress(in_progress(ask_again))))).tell();
        let last = text.lines().last().unwrap();
        let expected = if ask_again.is_zero() { "again after 1s" } else { "again after 1h0m0s" };
        assert_eq!(last, expected);
    }
}

#[test]
fn awaiting_the_node_is_not_mistaken_for_a_create_that_goes_on() {
    let lost = pending().with(|view| {
        view.machine.provider_id = None;
        view.machine.last_known_state = Some("job-7".into());
    });
    check(
        &lost,
        &expect![[r#"
            act probe-vm
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, in zone-a
            again at once
        "#]],
    );
}

fn without_keys() -> Case {
    creating().with(capabilities(|offers| offers.idempotency_key = false))
}

#[test]
fn where_the_cloud_keeps_no_keys_the_intent_is_noted_before_the_create() {
    check(
        &without_keys(),
        &expect![[r#"
            act claim
            act ensure-token
            act note-intent
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn without_keys_nothing_is_created_until_the_last_create_must_have_shown() {
    // Begun at second 10, it may take five minutes and then show eight seconds later.
    let unresolved = without_keys().with(|view| {
        view.machine.has_finalizer = true;
        view.machine.has_priority = true;
        view.machine.create_intent = Some(seconds(10));
    });
    check(
        &unresolved.clone().at(40),
        &expect![[r#"
        act probe-vm
        act ensure-token
        CreationUnresolved: an earlier create may have made a VM: waiting until the cloud's reads must show it
        again after 4m38s
    "#]],
    );
    check(
        &unresolved.clone().at(317),
        &expect![[r#"
        act probe-vm
        act ensure-token
        CreationUnresolved: an earlier create may have made a VM: waiting until the cloud's reads must show it
        again after 1s
    "#]],
    );
    check(
        &unresolved.at(318),
        &expect![[r#"
            act probe-vm
            act ensure-token
            act note-intent
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn without_keys_a_vm_that_shows_late_is_adopted() {
    let unresolved = without_keys().with(|view| {
        view.machine.has_finalizer = true;
        view.machine.has_priority = true;
        view.machine.create_intent = Some(seconds(10));
    });
    check(
        &unresolved.at(40).on(Outcome::ProbeVm(Ok(vm()))),
        &expect![[r#"
            act probe-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn without_keys_a_cloud_whose_reads_never_lag_needs_no_patience() {
    let current = without_keys().with(window(SignedDuration::ZERO)).with(|view| {
        view.machine.has_finalizer = true;
        view.machine.has_priority = true;
        view.machine.create_intent = Some(seconds(10));
    });
    check(
        &current.at(11),
        &expect![[r#"
            act probe-vm
            act ensure-token
            act note-intent
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, in zone-a
            again at once
        "#]],
    );
}

#[test]
fn without_keys_a_create_that_goes_on_is_taken_up_without_waiting() {
    let resumed = without_keys().with(at_work).with(|view| {
        view.machine.has_finalizer = true;
        view.machine.has_priority = true;
        view.machine.create_intent = Some(seconds(10));
    });
    check(
        &resumed.at(20),
        &expect![[r#"
            act ensure-token
            act create-vm
            act record-vm sim://1 node-1
            WaitingForNode: the VM is created, Node node-1 has not joined yet: the Machine fails at 1971-01-01T00:20:00Z
            status: phase Pending, timer on, Create Processing Creating, in zone-a
            again at once
        "#]],
    );
}
