//! Chooses the Machines that a set deletes.

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::summary::FIRST_PRIORITY;
use crate::scheduling::gate::{EffectKind, permits};
use crate::value::phase::OperationType;

use super::keep;
use crate::machine_set::creation::capacity;
use crate::machine_set::creation::names;
use crate::machine_set::effect::{BURST, DeleteReason, MachineRef, SetEffect, SetProgress};
use crate::machine_set::errors::SetErrors;
use crate::machine_set::facts::{ChildFact, SetView};
use crate::machine_set::members;
use crate::machine_set::members::adoption;

/// Returns the Machines to delete by the facts, with those that the reconcile has deleted already. At most a burst.
pub(crate) fn plan<'a>(
    view: &'a SetView,
    progress: &'a SetProgress,
    now: Timestamp,
) -> Vec<(&'a ChildFact, DeleteReason)> {
    let mut machines = members::eligible(view, progress);
    let surplus = members::surplus(view, progress);
    // Most sets have the wanted number, and are not sorted.
    if surplus > 0 {
        machines.sort_by_cached_key(|machine| machine.deletion_rank(now));
    }
    let surplus = surplus.min(BURST);
    let too_many = machines.iter().take(surplus).map(|machine| (*machine, DeleteReason::Surplus));
    let others = machines.iter().skip(surplus).filter_map(|machine| {
        if is_marked(view, machine) {
            Some((*machine, DeleteReason::Marked))
        } else if is_given_up(machine, progress, now) && is_deletion_permitted(view, machine) {
            Some((*machine, why_failed(machine)))
        } else if capacity::is_to_move(view, machine, now) {
            Some((*machine, DeleteReason::Exhausted))
        } else {
            None
        }
    });
    too_many.chain(others).take(BURST).collect()
}

pub(crate) fn next(
    view: &SetView,
    progress: &SetProgress,
    errors: &mut SetErrors,
    now: Timestamp,
) -> Option<Vec<SetEffect>> {
    report_failures(progress, errors);
    let may_go = adoption::owners_are_known(view, progress) && permits(view.gate, EffectKind::SetDelete);
    if !may_go || names::is_unwritten(view, progress, now) {
        return None;
    }
    let effects: Vec<SetEffect> = plan(view, progress, now)
        .into_iter()
        .filter(|(machine, _)| !progress.deleted.contains_key(&machine.uid))
        .map(|(machine, why)| SetEffect::Delete(MachineRef::of(machine), why))
        .collect();
    (!effects.is_empty()).then_some(effects)
}

/// Adds the failures of deletions.
pub(crate) fn report_failures(progress: &SetProgress, errors: &mut SetErrors) {
    for (_, result) in progress.deleted.values() {
        match result {
            Ok(()) | Err(ActError::Gone) => {}
            Err(ActError::Conflict) => {
                errors.unseen("a Machine that was to be deleted has changed: it is looked at again");
            }
            Err(error) => errors.deletion(error),
        }
    }
}

/// Returns whether it has failed and is not, or no longer, to be preserved.
pub(crate) fn is_given_up(machine: &ChildFact, progress: &SetProgress, now: Timestamp) -> bool {
    !keep::is_unwritten(machine, progress) && machine.is_given_up(keep::request(machine, progress), now)
}

/// Returns whether its health or something else failed it.
fn why_failed(machine: &ChildFact) -> DeleteReason {
    match machine.operation.map(|last| last.kind) {
        Some(OperationType::HealthCheck) => DeleteReason::Unhealthy,
        Some(_) | None => DeleteReason::Failed,
    }
}

/// Returns whether its deployment permits its deletion, or no pods run on it.
pub(crate) fn is_deletion_permitted(view: &SetView, machine: &ChildFact) -> bool {
    !machine.is_in_use() || view.permits.permits(&machine.name)
}

/// Returns whether the autoscaler has marked it, and has lowered the number of Machines since. It is deleted even if
/// the number was raised again: its Node is empty, and another Machine replaces it.
pub(crate) fn is_marked(view: &SetView, machine: &ChildFact) -> bool {
    let is_first = machine.priority == FIRST_PRIORITY;
    let is_scaled = match (machine.marked_at, view.set.scaled_down_at) {
        (Some(marked), Some(scaled)) => marked <= scaled,
        (None, _) | (_, None) => false,
    };
    is_first && is_scaled
}
