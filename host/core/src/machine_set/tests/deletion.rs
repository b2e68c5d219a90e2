//! Sets that are being deleted.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine_set::{BURST, DeleteReason, MachineOwner, SetOutcome};
use crate::scheduling::gate::{FreezeReason, Gate};

use super::facts::child;
use super::{Case, check, running, seconds, set, unclear};

fn going(machines: impl IntoIterator<Item = crate::machine_set::ChildFact>) -> Case {
    set(3, machines).with(|view| view.set.deletion = Some(seconds(900)))
}

#[test]
fn a_set_takes_its_machines_with_it_a_hundred_at_a_time() {
    assert_eq!(going(running(250)).deleted().len(), BURST);
}

#[test]
fn it_waits_for_those_on_their_way_and_makes_and_adopts_nobody() {
    check(
        &going([child(0).going(), child(1).owner(MachineOwner::None)]),
        &expect![[r#"
            Deleting Resync
            the set is being deleted: it goes when its Machines are gone
        "#]],
    );
}

#[test]
fn it_goes_when_its_machines_are_gone() {
    check(
        &going([child(1).owner(MachineOwner::None)]),
        &expect![[r#"
            act release-finalizer
            Deleted Gone
            all Machines of the set are gone
        "#]],
    );
    check(
        &going([]).on(SetOutcome::ReleaseFinalizer(Err(ActError::Conflict))),
        &expect![[r#"
            act release-finalizer
            FinalizerHeld Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            failed to take the finalizer off the set: the object changed in the meantime
        "#]],
    );
    check(
        &going([]).with(|view| view.set.has_finalizer = false),
        &expect![[r#"
            Deleted Gone
            nothing of ours holds the set
        "#]],
    );
}

#[test]
fn in_doubt_it_lists_its_machines_before_it_goes() {
    check(
        &going([]).in_doubt().on(SetOutcome::ListMachines(Ok(running(1)))),
        &expect![[r#"
            act list-machines
            act delete m0 SetDeleted
            Deleting Now
            the set is being deleted: it goes when its Machines are gone
        "#]],
    );
    check(
        &going([]).in_doubt().on(SetOutcome::ListMachines(Err(unclear()))),
        &expect![[r#"
            act list-machines
            WriteFailed Retry { policy: RetryPolicy { base: 1s, cap: 1m }, hint: None }
            failed to list the Machines of the set: the outcome is unknown: no answer
        "#]],
    );
}

#[test]
fn machines_that_are_gone_already_are_not_asked_about_again_at_once() {
    let gone = SetOutcome::Delete("any".into(), DeleteReason::SetDeleted, Err(ActError::Gone));
    check(
        &going(running(1)).on(gone),
        &expect![[r#"
            act delete m0 SetDeleted
            Deleting Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            the set is being deleted: it goes when its Machines are gone
        "#]],
    );
}

#[test]
fn who_wants_to_keep_the_machines_may_delete_the_set_without_them() {
    check(
        &going(running(2)).with(|view| view.set.leaves_machines = true),
        &expect![[r#"
            LeavingMachines Resync
            the set is deleted without its Machines: the garbage collector takes it off their owners, then it goes
        "#]],
    );
}

#[test]
fn behind_a_shut_gate_its_machines_stay_and_it_says_why() {
    let away = Gate::Frozen { since: seconds(0), reason: FreezeReason::TargetClusterUnreachable };
    assert_eq!(going(running(2)).with(|view| view.gate = away).deleted().len(), 2, "a cluster is torn down");
    check(
        &going(running(2)).frozen_gate(),
        &expect![[r#"
            Frozen Resync
            the deletion of Machines is held: the API server of the control cluster does not answer; it goes on when it does
        "#]],
    );
}

#[test]
fn a_machine_that_cannot_be_decoded_is_not_deleted_and_holds_its_set() {
    let unreadable = child(1).with(|machine| machine.is_unreadable = true);
    check(
        &going([child(0).going(), unreadable]),
        &expect![[r#"
            Deleting Resync
            the set is being deleted, and Machines such as m1 cannot be decoded: correct or delete them
        "#]],
    );
}
