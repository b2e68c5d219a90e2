//! Adoption and release of Machines.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine_set::{CurrentSet, MachineOwner, SetOutcome};

use super::facts::{child, labels};
use super::{check, set};

#[test]
fn orphans_that_are_selected_are_adopted_after_a_look_at_the_set_and_count() {
    check(
        &set(2, [child(0).owner(MachineOwner::None), child(1)]),
        &expect![[r#"
            act look-at-set
            act adopt m0
            AllMachinesAvailable Now
            all Machines that are wanted are available
        "#]],
    );
}

#[test]
fn a_set_that_was_deleted_or_replaced_adopts_nobody_and_makes_nobody() {
    let looks = [
        CurrentSet { uid: "set-uid".into(), is_deleting: true },
        CurrentSet { uid: "another".into(), is_deleting: false },
    ];
    for look in looks {
        check(
            &set(2, [child(0).owner(MachineOwner::None)]).on(SetOutcome::GetSet(Ok(look))),
            &expect![[r#"
                act look-at-set
                CachesBehind Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
                the set was deleted or replaced: nothing is adopted until the caches show it
            "#]],
        );
    }
}

#[test]
fn while_an_adoption_is_open_nobody_is_made_or_deleted() {
    let adopt = SetOutcome::Adopt("any".into(), Err(ActError::Conflict));
    check(
        &set(5, [child(0).owner(MachineOwner::None), child(1).failed()]).on(adopt),
        &expect![[r#"
            act look-at-set
            act adopt m0
            act write-set closed-ordinal=1
            WriteFailed Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            failed to adopt or let go of a Machine: the object changed in the meantime
        "#]],
    );
}

#[test]
fn a_machine_that_is_not_selected_any_more_is_let_go_and_replaced() {
    let strange = child(0).with(|machine| machine.labels = labels(&[("pool", "b")]));
    check(
        &set(2, [strange, child(1)]),
        &expect![[r#"
            act release m0
            act create #2 Claimed
            CreatingMachines Now
            missing Machines are being created
        "#]],
    );
}

#[test]
fn what_others_control_or_is_on_its_way_out_is_left_alone() {
    let theirs = child(0).owner(MachineOwner::Other("pool-b".into()));
    let going = child(1).owner(MachineOwner::None).going();
    let unlabelled = child(2).owner(MachineOwner::None).with(|machine| machine.labels = labels(&[]));
    check(
        &set(0, [theirs, going, unlabelled]),
        &expect![[r#"
            act write-set closed-ordinal=2
            AllMachinesAvailable Now
            all Machines that are wanted are available
            Overlapping=True SelectsMachinesOfOthers: spec.selector also selects Machines that are controlled by pool-b: they are left alone; give each its own label in selector and template
        "#]],
    );
}

#[test]
fn an_overlap_that_is_over_is_taken_back() {
    let case = set(0, []).with(|view| view.set.reported.is_overlapping = true);
    check(
        &case,
        &expect![[r#"
            AllMachinesAvailable Resync
            all Machines that are wanted are available
            Overlapping=False NoOverlap: the selector selects no Machines of others
        "#]],
    );
}

#[test]
fn a_thousand_orphans_are_adopted_a_hundred_at_a_time_and_none_is_made_meanwhile() {
    let orphans = (0..1_000).map(|ordinal| child(ordinal).owner(MachineOwner::None));
    let case = set(1_000, orphans);
    let (batches, conclusion) = case.pass();
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 100]);
    assert_eq!(conclusion.wake, crate::machine::Requeue::Now);
}
