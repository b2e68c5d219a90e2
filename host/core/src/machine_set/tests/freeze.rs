//! Too many Machines, as the last resort.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine::OperationFact;
use crate::machine_set::{ChildFact, FailedJoins, ReplicaLimitFact, SetOutcome};
use crate::value::phase::{OperationState, OperationType};

use super::facts::{child, labels};
use super::{check, closed, running};

#[test]
fn a_set_with_far_too_many_machines_is_frozen_and_goes_on_deleting() {
    check(
        &closed(1, running(4)),
        &expect![[r#"
            act write-set freeze=True
            act delete m0 Surplus + delete m1 Surplus + delete m2 Surplus
            RemovingMachines Now
            Machines that are not needed any more are being deleted
            Frozen=OverShootingReplicaCount
        "#]],
    );
    // Twice what is wanted and one more is within the limits.
    assert!(closed(1, running(3)).pass().1.status.conditions.is_empty());
}

#[test]
fn those_on_their_way_out_count_and_those_without_the_templates_labels_do_not() {
    let going = running(4).into_iter().map(ChildFact::going);
    assert_eq!(closed(1, going).ordinals(), [0; 0]);
    let unlabelled =
        |ordinal| child(ordinal).going().with(|machine| machine.labels = labels(&[("pool", "a")]));
    assert_eq!(closed(1, (0..4).map(unlabelled)).ordinals(), [4]);
}

#[test]
fn with_a_deployment_its_replicas_and_surge_are_the_limit() {
    let of = |machines| {
        let deployment = ReplicaLimitFact { replicas: 3, surge: 1 };
        closed(3, running(machines)).with(|view| view.deployment = Some(deployment))
    };
    assert!(of(5).pass().1.status.conditions.is_empty());
    assert!(of(6).report().contains("act write-set freeze=True"));
}

#[test]
fn it_thaws_by_itself_when_there_are_few_enough() {
    let frozen = |machines| {
        closed(2, running(machines)).with(|view| {
            view.set.is_frozen = true;
            view.set.reported.is_frozen = true;
        })
    };
    check(
        &frozen(1),
        &expect![[r#"
            act write-set freeze=-
            act create #1 Claimed
            CreatingMachines Now
            missing Machines are being created
        "#]],
    );
    assert!(frozen(5).report().contains("act write-set freeze=-"));
    assert!(!frozen(6).report().contains("freeze=-"));
}

#[test]
fn it_thaws_when_it_is_asked_to_and_forgets_that_it_was_asked() {
    let case = closed(1, running(9)).with(|view| {
        view.set.is_frozen = true;
        view.set.reported.is_frozen = true;
        view.set.is_thaw_asked = true;
    });
    check(
        &case,
        &expect![[r#"
            act write-set freeze=-,unfreeze=-
            act delete m0 Surplus + delete m1 Surplus + delete m2 Surplus + delete m3 Surplus + delete m4 Surplus + delete m5 Surplus + delete m6 Surplus + delete m7 Surplus
            RemovingMachines Now
            Machines that are not needed any more are being deleted
        "#]],
    );
}

#[test]
fn a_thaw_that_could_not_be_written_makes_nobody() {
    let case = closed(2, running(1)).with(|view| view.set.is_frozen = true);
    check(
        &case.on(SetOutcome::WriteSet(Err(ActError::Conflict))),
        &expect![[r#"
            act write-set freeze=-
            WriteFailed Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            failed to write labels and annotations of the set: the object changed in the meantime
        "#]],
    );
}

#[test]
fn a_frozen_set_says_until_when_it_waits() {
    let going = running(4).into_iter().map(ChildFact::going);
    check(
        &closed(1, going).with(|view| {
            view.set.is_frozen = true;
            view.set.closed_ordinal = Some(3);
        }),
        &expect![[r#"
            MachineSetFrozen Resync
            the set has had 4 Machines or more, which is too many: none is created until there are 3 or fewer, or the annotation unfreeze is set
            Frozen=OverShootingReplicaCount
        "#]],
    );
}

/// It has never joined.
fn missed(ordinal: u32) -> ChildFact {
    child(ordinal).failed().with(|machine| {
        machine.operation =
            Some(OperationFact { kind: OperationType::Create, state: OperationState::Failed });
    })
}

fn watched(machines: impl IntoIterator<Item = ChildFact>, noted: Option<(u32, u32)>) -> super::Case {
    closed(4, machines).with(|view| {
        view.settings.failed_joins = Some(3);
        view.set.failed_joins = noted.map(|(count, last)| FailedJoins { count, last });
    })
}

#[test]
fn a_set_whose_last_machines_all_fail_to_join_is_frozen_if_that_is_asked_for() {
    check(
        &watched([child(0), missed(1), missed(2)], Some((1, 0))),
        &expect![[r#"
            act write-set freeze=True,failed-joins=3 up to 2
            act delete m1 Failed + delete m2 Failed
            MachineSetFrozen Now
            the last Machines of the set have all failed to join: none is created until one joins; find out why, for example by keeping one of them, then set the annotation unfreeze
            Frozen=MachinesFailToJoin
        "#]],
    );
    let unasked = closed(4, [child(0), missed(1), missed(2), missed(3)]);
    assert!(!unasked.report().contains("freeze"));
}

#[test]
fn failed_joins_count_once_and_are_forgotten_when_a_later_machine_joins() {
    let noted = |machines: Vec<ChildFact>, noted| {
        let text = watched(machines, noted).report();
        text.lines().find_map(|line| line.split_once("failed-joins=")).map(|(_, count)| count.to_owned())
    };
    assert_eq!(noted(vec![missed(5)], None).as_deref(), Some("1 up to 5"));
    assert_eq!(noted(vec![missed(5)], Some((1, 5))), None);
    assert_eq!(noted(vec![missed(6), missed(7)], Some((1, 5))).as_deref(), Some("3 up to 7"));
    // An older one that runs says nothing about what is made by now.
    assert_eq!(noted(vec![child(2), missed(6)], Some((1, 5))).as_deref(), Some("2 up to 6"));
    assert_eq!(noted(vec![child(6)], Some((1, 5))).as_deref(), Some("-"));
    assert_eq!(noted(vec![child(7), missed(6)], None), None);
}

#[test]
fn what_is_noted_of_failed_joins_is_read_again() {
    let noted = FailedJoins { count: 3, last: 17 };
    assert_eq!(FailedJoins::parse(&noted.to_string()), Some(noted));
    assert_eq!(FailedJoins::parse("many"), None);
}

#[test]
fn a_set_whose_machines_fail_to_join_thaws_when_it_is_asked_to_and_begins_again() {
    let frozen = watched([child(0), missed(3)], Some((3, 3))).with(|view| {
        view.set.is_frozen = true;
        view.set.reported.is_frozen = true;
    });
    assert!(!frozen.report().contains("freeze=-"));
    assert!(frozen.ordinals().is_empty());
    let asked = frozen.with(|view| view.set.is_thaw_asked = true);
    assert!(asked.report().contains("freeze=-,failed-joins=0 up to 3,unfreeze=-"), "{}", asked.report());
    assert_eq!(asked.ordinals(), [4, 5]);
    // One that is kept does not count again.
    let thawed = watched([child(0), missed(3)], Some((0, 3)));
    assert!(!thawed.report().contains("failed-joins=1"), "{}", thawed.report());
}
