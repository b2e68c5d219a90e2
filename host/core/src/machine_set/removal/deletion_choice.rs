//! Decides about a Machine that has failed, or that the autoscaler has marked.

use jiff::Timestamp;

use crate::machine::summary::FIRST_PRIORITY;
use crate::value::phase::OperationType;

use super::keep;
use crate::machine_set::effect::{DeleteReason, SetProgress};
use crate::machine_set::facts::{ChildFact, SetView};

/// Returns whether it has failed and is not, or no longer, to be preserved.
pub(crate) fn is_given_up(machine: &ChildFact, progress: &SetProgress, now: Timestamp) -> bool {
    !keep::is_unwritten(machine, progress) && machine.is_given_up(keep::request(machine, progress), now)
}

/// Returns whether its health or something else failed it.
pub(crate) fn why_failed(machine: &ChildFact) -> DeleteReason {
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
