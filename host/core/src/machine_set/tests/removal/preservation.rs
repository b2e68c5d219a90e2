//! Failed Machines that are kept.

use expect_test::expect;
use jiff::SignedDuration;

use crate::driver::write_error::ActError;
use crate::machine::Requeue;
use crate::machine_set::{PreserveChange, SetOutcome};

use crate::machine_set::tests::facts::child;
use crate::machine_set::tests::{check, closed};

#[test]
fn the_newest_failed_machines_are_kept_as_far_as_there_is_room() {
    let machines = [child(0).failed(), child(1).failed(), child(2).failed(), child(3)];
    check(
        &closed(4, machines).with(|view| view.set.auto_preserve_max = 2),
        &expect![[r#"
            act preserve m2 Begin + preserve m1 Begin
            act delete m0 Unhealthy
            RemovingMachines Now
            Machines that are not needed any more are being deleted
        "#]],
    );
}

#[test]
fn those_that_are_kept_already_take_up_room() {
    let kept = child(0).failed().request("auto-preserved").kept(5_000);
    let case = closed(2, [kept, child(1).failed()]).with(|view| view.set.auto_preserve_max = 1);
    assert_eq!(case.deleted(), ["m1"]);
    let status = case.pass().1.status;
    assert_eq!((status.auto_preserved, status.preserved_failed), (1, 1));
    assert_eq!(status.failed, ["m1".into()]);
}

#[test]
fn less_room_lets_the_oldest_go() {
    let kept = |ordinal| child(ordinal).failed().request("auto-preserved").kept(5_000);
    check(
        &closed(3, [kept(0), kept(1), child(2)]).with(|view| view.set.auto_preserve_max = 1),
        &expect![[r#"
            act preserve m0 End
            WaitingForMachines Now
            the Machines are there; those that are not available are waited for
        "#]],
    );
}

#[test]
fn who_has_a_word_on_it_already_is_left_alone() {
    let machines = [
        child(0).failed().request("now").kept(5_000),
        child(1).failed().request("when-failed"),
        // His Node's word counts, also when it says no.
        child(2).failed().with(|machine| machine.node_preserve_request = Some("false".into())),
    ];
    let case = closed(3, machines).with(|view| view.set.auto_preserve_max = 3);
    assert_eq!(case.deleted(), ["m2"]);
    assert_eq!(case.effects().len(), 1);
}

#[test]
fn a_wish_that_nobody_understands_is_none() {
    assert_eq!(closed(1, [child(0).failed().request("nwo")]).deleted(), ["m0"]);
    let on_node = child(0).failed().with(|machine| machine.node_preserve_request = Some("nwo".into()));
    assert_eq!(closed(1, [on_node]).deleted(), ["m0"]);
    let fixed = closed(1, [child(0).failed().request("nwo")]).with(|view| view.set.auto_preserve_max = 1);
    assert_eq!(fixed.deleted(), [""; 0]);
}

#[test]
fn a_machine_whose_wish_could_not_be_written_is_not_deleted() {
    let case = closed(1, [child(0).failed()]).with(|view| view.set.auto_preserve_max = 1);
    check(
        &case.on(SetOutcome::Preserve("any".into(), PreserveChange::Begin, Err(ActError::Conflict))),
        &expect![[r#"
            act preserve m0 Begin
            WriteFailed Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            failed to write the wish to keep a Machine: the object changed in the meantime
        "#]],
    );
}

#[test]
fn a_kept_machine_is_looked_at_when_its_time_is_over_and_goes_then() {
    let kept = child(0).failed().request("now").kept(1_500);
    let case = closed(1, [kept]);
    assert_eq!(case.pass().1.wake, Requeue::After(SignedDuration::from_secs(500)));
    let later = crate::machine_set::tests::Case { now: crate::machine_set::tests::seconds(1_500), ..case };
    assert_eq!(later.deleted(), ["m0"]);
}

#[test]
fn a_set_that_is_too_large_deletes_even_what_is_kept_but_last() {
    let machines = [child(0).failed().request("now").kept(5_000), child(1)];
    assert_eq!(closed(1, machines.clone()).deleted(), ["m1"]);
    assert_eq!(closed(0, machines).with(|view| view.set.is_frozen = true).deleted().len(), 2);
}
