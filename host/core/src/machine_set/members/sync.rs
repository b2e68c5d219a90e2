//! Copies settings of a set to its existing Machines.

use std::collections::BTreeSet;

use crate::value::phase::Phase;

use crate::machine_set::effect::{BURST, MachineRef, SetEffect, SetProgress};
use crate::machine_set::errors::SetErrors;
use crate::machine_set::facts::{ChildFact, SetView, SyncedPart};
use crate::machine_set::members;

/// Returns the parts to write. A Machine that has failed or is being deleted needs no timeout or taint; the kind of its
/// class is still needed to find it.
pub(crate) fn parts(machine: &ChildFact) -> BTreeSet<SyncedPart> {
    let is_past = machine.is_going() || machine.phase == Phase::Failed;
    let is_due = |part: &SyncedPart| match part {
        SyncedPart::NodeTemplate | SyncedPart::Configuration => !is_past,
        SyncedPart::ClassKind => true,
    };
    machine.drift.iter().copied().filter(is_due).collect()
}

/// Returns the next batch, one in each reconcile, so that a change of a thousand Machines does not delay other keys.
pub(crate) fn next(
    view: &SetView,
    progress: &SetProgress,
    troubles: &mut SetErrors,
) -> Option<Vec<SetEffect>> {
    for result in progress.synced.values() {
        if let Err(error) = result {
            troubles.write("hand down a change of the template to a Machine", error);
        }
    }
    let effects: Vec<SetEffect> = left(view, progress)
        .take(BURST.saturating_sub(progress.synced.len()))
        .map(|machine| SetEffect::Sync(MachineRef::of(machine), parts(machine)))
        .collect();
    (!effects.is_empty()).then_some(effects)
}

/// Returns the Machines that this reconcile has not written.
fn left<'a>(view: &'a SetView, progress: &'a SetProgress) -> impl Iterator<Item = &'a ChildFact> {
    members::owned(view, progress).into_iter().filter(|machine| {
        !machine.is_unreadable && !parts(machine).is_empty() && !progress.synced.contains_key(&machine.uid)
    })
}
