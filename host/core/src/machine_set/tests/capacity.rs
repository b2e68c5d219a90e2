//! Alternatives for a cloud that has no capacity.

use expect_test::expect;

use crate::machine_set::SetView;

use super::facts::child;
use super::{check, closed, seconds, set};

/// The classes of the list that were found exhausted so many seconds ago; all of them can be used.
fn tried(
    classes: &'static [&'static str],
    exhausted: &'static [(&'static str, i64)],
) -> impl Fn(&mut SetView) {
    move |view| {
        view.alternatives.classes = classes.iter().map(|class| (*class).into()).collect();
        for (class, ago) in exhausted {
            view.alternatives.exhausted.found(&(*class).into(), seconds(1_000 - ago));
        }
    }
}

#[test]
fn machines_are_made_of_the_first_class_that_is_not_exhausted() {
    let effects = |exhausted| {
        let case = set(1, []).with(tried(&["worker", "b", "c"], exhausted));
        case.report().lines().next().map(str::to_owned).unwrap()
    };
    assert_eq!(effects(&[]), "act create #0 Claimed");
    assert_eq!(effects(&[("worker", 60)]), "act create #0 Claimed of b");
    assert_eq!(effects(&[("worker", 60), ("b", 30)]), "act create #0 Claimed of c");
    assert_eq!(effects(&[("worker", 601), ("b", 30)]), "act create #0 Claimed", "its rest is over");
    // All of them rest: the first to be asked again is.
    assert_eq!(effects(&[("worker", 10), ("b", 30), ("c", 20)]), "act create #0 Claimed of b");
}

#[test]
fn a_machine_that_the_cloud_has_no_capacity_for_makes_room_for_one_of_another_class() {
    check(
        &closed(2, [child(0), child(1).exhausted()]).with(tried(&["worker", "b"], &[("worker", 5)])),
        &expect![[r#"
            act delete m1 Exhausted
            RemovingMachines Now
            Machines that are not needed any more are being deleted
        "#]],
    );
    let going =
        closed(2, [child(0), child(1).exhausted().going()]).with(tried(&["worker", "b"], &[("worker", 5)]));
    assert!(going.report().starts_with("act create #2 Claimed of b\n"), "{}", going.report());
}

#[test]
fn where_all_are_exhausted_machines_stay_and_ask_again() {
    let case = closed(1, [child(0).exhausted()]).with(tried(&["worker", "b"], &[("worker", 5), ("b", 3)]));
    check(
        &case,
        &expect![[r#"
            WaitingForMachines After(9m 55s)
            the Machines are there; those that are not available are waited for
        "#]],
    );
    // One of the last class goes back to the first when that has rested.
    let of_b = child(0).exhausted().with(|machine| machine.class = Some("b".into()));
    let rested = closed(1, [of_b]).with(tried(&["worker", "b"], &[("worker", 601), ("b", 3)]));
    assert_eq!(rested.deleted(), ["m0"]);
}

#[test]
fn without_alternatives_a_machine_without_capacity_is_left_to_its_own_retries() {
    let alone = closed(1, [child(0).exhausted()]);
    assert_eq!((alone.deleted(), alone.effects().len()), (Vec::<String>::new(), 0));
    let found = closed(1, [child(0).exhausted()]).with(tried(&[], &[("worker", 5)]));
    assert_eq!(found.effects().len(), 0);
    assert!(set(1, []).with(tried(&[], &[("worker", 5)])).report().starts_with("act create #0 Claimed\n"));
}

#[test]
fn who_has_a_vm_is_never_moved_and_a_shut_gate_holds_those_who_have_none() {
    let running = closed(1, [child(0)]).with(tried(&["worker", "b"], &[("worker", 5)]));
    assert_eq!(running.effects().len(), 0);
    let held =
        closed(1, [child(0).exhausted()]).with(tried(&["worker", "b"], &[("worker", 5)])).frozen_gate();
    assert_eq!(held.deleted(), Vec::<String>::new());
}

#[test]
fn an_alternative_that_is_not_there_is_named() {
    check(
        &set(1, [child(0)]).with(|view| view.alternatives.unusable = vec!["b".into(), "c".into()]),
        &expect![[r#"
            InvalidOption Resync
            class alternatives are not there, or being deleted, and are left out: b, c; create them, or take them off the list
        "#]],
    );
}
