//! Machines that are too many, have failed, or were chosen.

use expect_test::expect;

use crate::disruption::requests::Permits;
use crate::driver::write_error::ActError;
use crate::machine_set::{BURST, DeleteReason, SetOutcome};

use crate::machine_set::tests::facts::child;
use crate::machine_set::tests::{check, closed, running, seconds, set, unclear};

#[test]
fn what_is_too_much_goes_the_oldest_first() {
    check(
        &closed(2, running(4)),
        &expect![[r#"
            act delete m0 Surplus + delete m1 Surplus
            RemovingMachines Now
            Machines that are not needed any more are being deleted
        "#]],
    );
}

#[test]
fn ordinals_are_closed_before_their_machines_go() {
    check(
        &set(1, running(2)),
        &expect![[r#"
            act write-set closed-ordinal=1
            act delete m0 Surplus
            RemovingMachines Now
            Machines that are not needed any more are being deleted
        "#]],
    );
    // Where that cannot be written they stay.
    let unwritten = set(3, [child(0).failed(), child(1)]).on(SetOutcome::WriteSet(Err(ActError::Conflict)));
    check(
        &unwritten,
        &expect![[r#"
            act write-set closed-ordinal=1
            WriteFailed Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            failed to write labels and annotations of the set: the object changed in the meantime
        "#]],
    );
    let of_another_program = child(0).with(|machine| machine.ordinal = None);
    assert_eq!(set(0, [of_another_program]).effects().len(), 1);
}

#[test]
fn a_pass_deletes_a_hundred_at_most() {
    let case = closed(0, running(250)).with(|view| view.set.is_frozen = true);
    assert_eq!(case.deleted().len(), BURST);
}

#[test]
fn a_failed_machine_goes_and_is_replaced_once_it_is_on_its_way() {
    check(
        &closed(2, [child(0), child(1).failed()]),
        &expect![[r#"
            act delete m1 Unhealthy
            RemovingMachines Now
            Machines that are not needed any more are being deleted
        "#]],
    );
    assert_eq!(closed(2, [child(0), child(1).failed().going()]).ordinals(), [2]);
}

#[test]
fn a_failed_machine_that_its_deployment_does_not_let_go_stays_unless_it_is_too_many() {
    let held = |wanted| {
        closed(wanted, [child(0), child(1).failed()])
            .with(|view| view.permits = Permits::Only(["another".into()].into()))
    };
    check(
        &held(2),
        &expect![[r#"
            WaitingForDeployment Resync
            failed Machines such as m1 go when their deployment lets them: its condition Ready says what it waits for
        "#]],
    );
    assert_eq!(held(3).ordinals(), [2], "its replacement comes first");
    assert_eq!(held(1).deleted(), ["m1"]);
    let lets = |names: &'static str| held(2).with(|view| view.permits = Permits::Only([names.into()].into()));
    assert_eq!(lets("m1").deleted(), ["m1"]);
    // Nobody notices one that has no Node.
    let alone = closed(2, [child(0), child(1).failed().with(|machine| machine.node_preserve_request = None)]);
    assert_eq!(alone.with(|view| view.permits = Permits::Only([].into())).deleted(), ["m1"]);
}

#[test]
fn machines_are_missing_and_others_have_failed_at_the_same_time() {
    check(
        &closed(3, [child(0), child(1).failed()]),
        &expect![[r#"
            act delete m1 Unhealthy
            act create #2 Claimed
            CreatingMachines Now
            missing Machines are being created
        "#]],
    );
}

#[test]
fn who_was_marked_before_the_last_scale_down_goes_even_if_nobody_is_too_many() {
    let chosen = |second| {
        child(1).with(|machine| {
            machine.priority = 1;
            machine.marked_at = Some(seconds(second));
        })
    };
    let deleted = |marked: i64, scaled: Option<i64>| {
        let machines = [child(0), chosen(marked)];
        closed(2, machines).with(|view| view.set.scaled_down_at = scaled.map(seconds)).deleted()
    };
    assert_eq!(deleted(10, Some(10)), ["m1"]);
    assert_eq!(deleted(11, Some(10)), [""; 0]);
    assert_eq!(deleted(10, None), [""; 0]);
    let unmarked = [child(0), child(1).with(|machine| machine.priority = 1)];
    assert_eq!(
        closed(2, unmarked).with(|view| view.set.scaled_down_at = Some(seconds(9))).deleted(),
        [""; 0]
    );
}

#[test]
fn a_marked_machine_is_the_one_that_is_too_many() {
    let marked = |ordinal| {
        child(ordinal).with(|machine| {
            machine.priority = 1;
            machine.marked_at = Some(seconds(10));
        })
    };
    let case = closed(2, [child(0), child(1), marked(2)]);
    assert_eq!(case.with(|view| view.set.scaled_down_at = Some(seconds(11))).deleted(), ["m2"]);
}

#[test]
fn who_was_just_updated_in_place_is_not_chosen() {
    let machines = [child(0).with(|machine| machine.is_updated_in_place = true), child(1), child(2)];
    assert_eq!(closed(1, machines).deleted(), ["m1"]);
}

#[test]
fn a_deletion_that_fails_is_reported_and_others_go_on() {
    let denied = Err(ActError::Denied { message: "no".into() });
    check(
        &closed(1, running(2)).on(SetOutcome::Delete("any".into(), DeleteReason::Surplus, denied)),
        &expect![[r#"
            act delete m0 Surplus
            DeletionFailed Retry { policy: RetryPolicy { base: 1s, cap: 1m }, hint: None }
            failed to delete a Machine: forbidden: no
            ReplicaFailure=FailedDelete
        "#]],
    );
    let changed = SetOutcome::Delete("any".into(), DeleteReason::Surplus, Err(ActError::Conflict));
    check(
        &closed(1, running(2)).on(changed),
        &expect![[r#"
            act delete m0 Surplus
            CachesBehind Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            a Machine that was to be deleted has changed: it is looked at again
        "#]],
    );
}

#[test]
fn a_deletion_without_an_answer_is_reported() {
    let case =
        closed(1, running(2)).on(SetOutcome::Delete("any".into(), DeleteReason::Surplus, Err(unclear())));
    assert_eq!(case.pass().1.reason.as_str(), "DeletionFailed");
}

#[test]
fn behind_a_shut_gate_nobody_is_deleted() {
    assert_eq!(closed(0, running(2)).frozen_gate().deleted(), [""; 0]);
    assert_eq!(closed(2, [child(0), child(1).failed()]).frozen_gate().deleted(), [""; 0]);
}

#[test]
fn a_machine_that_cannot_be_decoded_counts_and_another_goes_in_its_stead() {
    let unreadable = |ordinal| child(ordinal).with(|machine| machine.is_unreadable = true);
    assert_eq!(closed(2, [unreadable(0), child(1), child(2)]).deleted(), ["m1"]);
    assert_eq!(closed(0, [unreadable(0), child(1)]).deleted(), ["m1"]);
    assert_eq!(closed(1, [unreadable(0).failed()]).deleted(), [""; 0]);
    check(
        &closed(2, [unreadable(0), child(1)]),
        &expect![[r#"
            UnreadableMachine Resync
            Machines such as m0 cannot be decoded: they count and are left alone; correct or delete them
        "#]],
    );
    // It is neither adopted nor released, and gets no settings of the template.
    let drifted = unreadable(0).with(|machine| {
        machine.drift = [crate::machine_set::SyncedPart::Configuration].into();
        machine.labels.clear();
    });
    let loose = unreadable(1).owner(crate::machine_set::MachineOwner::None);
    assert_eq!(closed(1, [drifted, loose]).effects(), []);
}

#[test]
fn deletions_of_machines_that_are_gone_count_for_nothing_and_are_not_repeated_at_once() {
    let gone = SetOutcome::Delete("any".into(), DeleteReason::Surplus, Err(ActError::Gone));
    let conclusion = closed(1, running(2)).on(gone).pass().1;
    let pause = crate::machine::Requeue::Retry {
        policy: crate::scheduling::retry::RetryPolicy::CONFLICT,
        hint: None,
    };
    assert_eq!((conclusion.wake, conclusion.status.operation), (pause, None));
}

#[test]
fn who_failed_otherwise_than_by_its_health_is_distinguished() {
    let late = child(0).failed().with(|machine| {
        let never_joined = crate::value::phase::OperationType::Create;
        machine.operation =
            machine.operation.map(|last| crate::machine::OperationFact { kind: never_joined, ..last });
    });
    assert!(closed(2, [late, child(1).failed()]).report().contains("delete m0 Failed + delete m1 Unhealthy"));
}
