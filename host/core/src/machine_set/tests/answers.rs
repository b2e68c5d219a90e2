//! No request is repeated without a pause, whatever the answer.

use crate::driver::write_error::ActError;
use crate::machine::Requeue;
use crate::machine_set::{DeleteReason, MachineOwner, PreserveChange, SetEffect, SetOutcome, SyncedPart};

use super::facts::child;
use super::{Case, closed, running, seconds, set};

fn errors() -> [ActError; 8] {
    let message = || "so it is".to_owned();
    [
        ActError::Conflict,
        ActError::Gone,
        ActError::Throttled { after: None },
        ActError::Denied { message: message() },
        ActError::Invalid { message: message() },
        ActError::Unreachable { message: message() },
        ActError::Ambiguous { message: message() },
        ActError::Forbidden { reason: "not now" },
    ]
}

/// Passes that have one thing to do, and how it fails.
fn passes(error: &ActError) -> Vec<(Case, SetOutcome)> {
    let fails = || Err(error.clone());
    let uid = || "any".into();
    let drifted = child(0).with(|machine| machine.drift = [SyncedPart::Configuration].into());
    let stray = child(0).with(|machine| machine.labels.clear());
    let kept = || child(0).failed();
    vec![
        (closed(1, running(2)), SetOutcome::Delete(uid(), DeleteReason::Surplus, fails())),
        (
            set(2, running(2)).with(|view| view.set.deletion = Some(seconds(900))),
            SetOutcome::Delete(uid(), DeleteReason::SetDeleted, fails()),
        ),
        (
            set(0, []).with(|view| view.set.deletion = Some(seconds(900))),
            SetOutcome::ReleaseFinalizer(fails()),
        ),
        (set(0, []).with(|view| view.set.has_finalizer = false), SetOutcome::Claim(fails())),
        (closed(1, [child(0).owner(MachineOwner::None)]), SetOutcome::Adopt(uid(), fails())),
        (closed(1, [stray]), SetOutcome::Release(uid(), fails())),
        (closed(1, [drifted]), SetOutcome::Sync(uid(), fails())),
        (
            closed(1, [kept()]).with(|view| view.set.auto_preserve_max = 1),
            SetOutcome::Preserve(uid(), PreserveChange::Begin, fails()),
        ),
        (set(1, running(2)), SetOutcome::WriteSet(fails())),
        (set(1, []).in_doubt(), SetOutcome::ListMachines(Err(error.clone()))),
    ]
}

#[test]
fn a_pass_whose_every_write_fails_comes_back_after_a_pause() {
    for error in errors() {
        for (case, outcome) in passes(&error) {
            // Machines are not made either.
            let case = (0..8).fold(case, |case, ordinal| case.failing(ordinal, error.clone()));
            let told = format!("{outcome:?}");
            let (batches, conclusion) = case.on(outcome).pass();
            let has_deleted = batches.concat().iter().any(|effect| matches!(effect, SetEffect::Delete(..)));
            let is_other = has_deleted && !told.starts_with("Delete");
            assert!(is_other || conclusion.wake != Requeue::Now, "{told}: {conclusion:?}");
            assert_ne!(conclusion.wake, Requeue::Gone, "{told}: {conclusion:?}");
        }
    }
}

#[test]
fn a_machine_that_cannot_be_made_is_asked_for_again_after_a_pause() {
    for error in errors() {
        let conclusion = set(1, []).failing(0, error.clone()).failing(1, error.clone()).pass().1;
        // A name that this set's own Machine has is awaited in the caches.
        assert_ne!(conclusion.wake, Requeue::Now, "{error}: {conclusion:?}");
    }
}
