//! Settings that a set copies to its Machines.

use expect_test::expect;

use crate::driver::write_error::ActError;
use crate::machine_set::{BURST, ChildFact, SetEffect, SetOutcome, SyncedPart};
use crate::value::phase::Phase;

use super::facts::child;
use super::{check, set};

fn drifted(machine: ChildFact) -> ChildFact {
    machine.with(|machine| {
        machine.drift = [SyncedPart::NodeTemplate, SyncedPart::Configuration, SyncedPart::ClassKind].into();
    })
}

#[test]
fn machines_that_live_get_all_of_it_and_those_that_are_past_it_the_kind_of_their_class() {
    let machines = [
        drifted(child(0)),
        drifted(child(1).failed().request("now").kept(5_000)),
        drifted(child(2).going()),
        child(3),
    ];
    check(
        &set(3, machines).with(|view| view.set.closed_ordinal = Some(3)),
        &expect![[r#"
            act sync m0 {NodeTemplate, Configuration, ClassKind} + sync m1 {ClassKind} + sync m2 {ClassKind}
            WaitingForMachines Now
            the Machines are there; those that are not available are waited for
        "#]],
    );
}

#[test]
fn a_hundred_are_written_in_a_pass() {
    let case = set(250, (0..250).map(|ordinal| drifted(child(ordinal))));
    let (batches, conclusion) = case.pass();
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [BURST]);
    assert_eq!(conclusion.wake, crate::machine::Requeue::Now);
}

#[test]
fn a_change_that_cannot_be_handed_down_holds_up_nothing_else() {
    let case = set(2, [drifted(child(0))]);
    check(
        &case.on(SetOutcome::Sync("any".into(), Err(ActError::Conflict))),
        &expect![[r#"
            act sync m0 {NodeTemplate, Configuration, ClassKind}
            act create #1 Claimed
            WriteFailed Retry { policy: RetryPolicy { base: 200ms, cap: 5s }, hint: None }
            failed to hand down a change of the template to a Machine: the object changed in the meantime
        "#]],
    );
}

#[test]
fn in_every_phase_what_is_handed_down_is_right() {
    for phase in Phase::ALL {
        let effects = set(1, [drifted(child(0)).phase(phase)]).effects();
        let parts = effects.iter().find_map(|effect| match effect {
            SetEffect::Sync(_, parts) => Some(parts.len()),
            _ => None,
        });
        let is_past = matches!(phase, Phase::Failed | Phase::Terminating);
        assert_eq!(parts, Some(if is_past { 1 } else { 3 }), "{phase:?}");
    }
}

#[test]
fn an_invalid_setting_is_reported_until_it_is_corrected() {
    let problems = vec!["spec.template.spec.drainTimeout is no duration".to_owned()];
    let wrong = set(1, [child(0)]).with(|view| view.set.problems = problems);
    check(
        &wrong,
        &expect![[r#"
            AllMachinesAvailable Resync
            all Machines that are wanted are available
            Valid=False NotUnderstood: spec.template.spec.drainTimeout is no duration: correct it; until then it counts as not set for Machines
        "#]],
    );
    let corrected = set(1, [child(0)]).with(|view| view.set.reported.is_invalid = true);
    assert!(corrected.report().contains("Valid=True Understood"), "{}", corrected.report());
    assert!(!set(1, [child(0)]).report().contains("Valid="));
}
