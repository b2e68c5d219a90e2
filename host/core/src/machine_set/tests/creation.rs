//! Machines that are missing.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine::ClassFact;
use crate::machine_set::{BURST, CreateMode, NameTakenBy, SetEffect, SetOutcome};

use super::facts::child;
use super::{check, running, set, unclear};

#[test]
fn a_set_holds_itself_and_then_makes_one_two_and_four_machines() {
    check(
        &set(6, []).with(|view| view.set.has_finalizer = false),
        &expect![[r#"
            act claim
            act create #0 Claimed
            act create #1 Claimed + create #2 Claimed
            act create #3 Claimed + create #4 Claimed + create #5 Claimed
            CreatingMachines Now
            missing Machines are being created
        "#]],
    );
}

#[test]
fn a_pass_makes_a_hundred_at_most() {
    let (batches, _) = set(1_000, []).pass();
    let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 2, 4, 8, 16, 32, 37]);
    assert_eq!(sizes.iter().sum::<usize>(), BURST);
}

#[test]
fn creation_stops_at_the_first_batch_that_fails() {
    let denied = ActError::Denied { message: "exceeded quota".into() };
    check(
        &set(6, []).failing(2, denied),
        &expect![[r#"
            act create #0 Claimed
            act create #1 Claimed + create #2 Claimed
            CreationFailed Retry { policy: RetryPolicy { base: 1s, cap: 1m }, hint: None }
            failed to create a Machine: forbidden: exceeded quota
            ReplicaFailure=FailedCreate
        "#]],
    );
}

#[test]
fn machines_on_their_way_out_are_replaced_and_the_closed_ordinal_is_noted_before_it_goes() {
    check(
        &set(2, [child(0), child(1).going()]),
        &expect![[r#"
            act write-set closed-ordinal=1
            act create #2 Claimed
            CreatingMachines Now
            missing Machines are being created
        "#]],
    );
    let is_noted = set(2, [child(0), child(1).going()]).with(|view| view.set.closed_ordinal = Some(1));
    assert_eq!(is_noted.effects().len(), 1);
}

#[test]
fn the_lowest_open_ordinals_are_given_out() {
    assert_eq!(set(4, [child(4), child(1)]).ordinals(), [0, 2]);
    let closed = set(4, [child(4), child(1)]).with(|view| view.set.closed_ordinal = Some(2));
    assert_eq!(closed.ordinals(), [3, 5]);
    // Those of other programs have none.
    assert_eq!(set(3, [child(4).with(|machine| machine.ordinal = None)]).ordinals(), [0, 1]);
}

#[test]
fn a_name_that_is_taken_by_an_unseen_machine_of_the_set_ends_creation() {
    check(
        &set(4, running(1)).failing(1, ActError::Conflict),
        &expect![[r#"
            act create #1 Claimed
            act look-at-machine
            CachesBehind Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            a Machine that the caches do not show yet was created by an earlier reconcile
        "#]],
    );
}

#[test]
fn a_name_that_is_taken_by_a_stranger_is_left_out() {
    let case = set(3, running(1)).failing(1, ActError::Conflict);
    let case = case.on(SetOutcome::GetMachine("any".into(), Ok(NameTakenBy::Other)));
    check(
        &case,
        &expect![[r#"
            act create #1 Claimed
            act look-at-machine
            act create #2 Claimed
            act create #3 Claimed
            CreatingMachines Now
            missing Machines are being created
        "#]],
    );
}

#[test]
fn a_machine_whose_ordinal_somebody_has_taken_off_keeps_its_name() {
    let case = set(3, running(2)).with(|view| {
        view.machines[1].ordinal = None;
        view.machines[1].name =
            crate::machine_set::creation::names::name(&view.set.key.name, &view.set.uid, 1);
    });
    assert_eq!(case.ordinals(), [2]);
}

#[test]
fn a_set_whose_names_are_all_taken_says_so_and_does_not_try_for_ever() {
    let mut case = set(9, []).on(SetOutcome::GetMachine("any".into(), Ok(NameTakenBy::Other)));
    for ordinal in 0..100 {
        case = case.failing(ordinal, ActError::Conflict);
    }
    check(
        &case,
        &expect![[r#"
            act create #0 Claimed
            act look-at-machine
            act create #1 Claimed
            act look-at-machine
            act create #2 Claimed
            act look-at-machine
            act create #3 Claimed
            act look-at-machine
            act create #4 Claimed
            act look-at-machine
            act write-set closed-ordinal=4
            CreationFailed Retry { policy: RetryPolicy { base: 5s, cap: 10m }, hint: None }
            failed to create a Machine: the next 5 names belong to Machines of others; delete these, or recreate the set under another name
            ReplicaFailure=FailedCreate
        "#]],
    );
}

#[test]
fn a_creation_without_an_answer_is_repeated_under_the_same_name_and_then_given_up() {
    check(
        &set(3, []).failing(1, unclear()),
        &expect![[r#"
        act create #0 Claimed
        act create #1 Claimed + create #2 Claimed
        act create #1 Claimed
        act create #1 Claimed
        CreationFailed Retry { policy: RetryPolicy { base: 1s, cap: 1m }, hint: None }
        failed to create a Machine: the outcome is unknown: no answer
        ReplicaFailure=FailedCreate
    "#]],
    );
}

#[test]
fn an_answer_that_got_lost_is_found_out_by_the_name() {
    // The first attempt has made it: the second one meets it.
    let view = set(2, []).view;
    let mut progress = crate::machine_set::SetProgress::default();
    let name = crate::machine_set::creation::names::name(&view.set.key.name, &view.set.uid, 0);
    let mut reported = |outcome: SetOutcome| {
        progress.record(outcome);
        match crate::machine_set::step(&view, &progress, super::seconds(1)) {
            crate::machine_set::SetStep::Act(effects) => {
                effects.iter().map(super::effect_text).collect::<Vec<_>>().join(" + ")
            }
            crate::machine_set::SetStep::Finish(end) => end.message,
        }
    };
    assert_eq!(reported(SetOutcome::Create(0, name.clone(), Err(unclear()))), "create #0 Claimed");
    assert_eq!(reported(SetOutcome::Create(0, name.clone(), Err(ActError::Conflict))), "look-at-machine");
    assert_eq!(reported(SetOutcome::GetMachine(name, Ok(NameTakenBy::This))), "create #1 Claimed");
}

#[test]
fn a_higher_ordinal_on_the_set_than_on_any_machine_asks_for_a_listing() {
    // Either they are gone, or the caches do not show them yet.
    let case = set(3, running(2)).with(|view| view.set.closed_ordinal = Some(5));
    check(
        &case,
        &expect![[r#"
            act list-machines
            act create #6 Claimed
            CreatingMachines Now
            missing Machines are being created
        "#]],
    );
    let unseen = [child(0), child(1), child(5)];
    let listed = case.clone().on(SetOutcome::ListMachines(Ok(unseen.to_vec())));
    assert_eq!(listed.ordinals(), [0; 0]);
    check(
        &case.on(SetOutcome::ListMachines(Err(ActError::Throttled { after: None }))),
        &expect![[r#"
            act list-machines
            WriteFailed Retry { policy: RetryPolicy { base: 1s, cap: 1m }, hint: None }
            failed to list the Machines of the set before it creates others: the API server is throttling
        "#]],
    );
}

#[test]
fn a_view_in_doubt_is_replaced_by_a_listing_before_anything_is_counted() {
    let listed = running(3);
    let case = set(3, running(1)).in_doubt().on(SetOutcome::ListMachines(Ok(listed)));
    check(
        &case,
        &expect![[r#"
            act list-machines
            AllMachinesAvailable Resync
            all Machines that are wanted are available
        "#]],
    );
    let unlisted = set(3, running(1)).in_doubt().on(SetOutcome::ListMachines(Err(unclear())));
    assert_eq!(unlisted.ordinals(), [0; 0]);
    assert_eq!(unlisted.pass().1.status.observed_generation, None);
}

#[test]
fn an_ordinal_that_was_left_out_is_closed_once_nobody_is_missing() {
    check(
        &set(2, [child(0), child(2)]),
        &expect![[r#"
        act write-set closed-ordinal=2
        AllMachinesAvailable Now
        all Machines that are wanted are available
    "#]],
    );
    let closed = set(2, [child(0), child(2)]).with(|view| view.set.closed_ordinal = Some(2));
    assert!(closed.effects().is_empty());
}

#[test]
fn an_ordinal_that_no_set_reaches_is_reported() {
    let case = set(1, []).with(|view| view.set.closed_ordinal = Some(u32::MAX));
    check(
        &case,
        &expect![[r#"
            act list-machines
            CreationFailed Retry { policy: RetryPolicy { base: 5s, cap: 10m }, hint: None }
            failed to create a Machine: the annotation closed-ordinal of the set leaves no ordinal to give out: remove it
            ReplicaFailure=FailedCreate
        "#]],
    );
}

#[test]
fn a_machine_whose_class_is_not_there_is_made_without_a_mark() {
    let classes = [
        ClassFact::Missing("worker".into()),
        ClassFact::Deleting("worker".into()),
        ClassFact::Invalid { name: "worker".into(), message: "no".into() },
    ];
    for class in classes {
        let effects = set(1, []).with(|view| view.class = class).effects();
        assert!(matches!(effects.as_slice(), [SetEffect::Create { birth: CreateMode::Unclaimed, .. }]));
    }
}

#[test]
fn what_holds_creation_is_reported() {
    let frozen = set(2, running(1)).with(|view| view.set.is_frozen = true);
    // Three is neither too many nor few enough.
    let frozen = frozen.with(|view| view.settings.safety_down = 9);
    check(
        &frozen,
        &expect![[r#"
            MachineSetFrozen Resync
            Machines are missing and the label freeze of the set holds creation: remove it
        "#]],
    );
    check(
        &set(2, running(1)).with(|view| view.set.is_scale_up_disabled = true),
        &expect![[r#"
            ScaleUpDisabled Resync
            Machines are missing and none is created while Machines of the set are updated in place
        "#]],
    );
    check(
        &set(2, running(1)).frozen_gate(),
        &expect![[r#"
            Frozen Resync
            Machines are neither created nor deleted since 1971-01-01T00:00:00Z: the API server of the control cluster does not answer; it goes on when it does
        "#]],
    );
}

#[test]
fn a_set_that_cannot_hold_itself_makes_nothing() {
    let case = set(2, []).with(|view| view.set.has_finalizer = false);
    check(
        &case.on(SetOutcome::AddFinalizer(Err(ActError::Conflict))),
        &expect![[r#"
            act claim
            ClaimFailed Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            failed to put the finalizer on the set: the object changed in the meantime
        "#]],
    );
}
