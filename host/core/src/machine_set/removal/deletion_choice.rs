//! Decides about a Machine that has failed, or that the autoscaler has marked.

use jiff::Timestamp;

use crate::machine::node::preservation::{self, AUTO_PRESERVED, NOW, WHEN_FAILED};
use crate::machine_set::removal::ranking::FIRST_PRIORITY;
use crate::value::phase::{OperationType, Phase};

use super::keep;
use super::order;
use crate::machine_set::effect::{DeleteReason, SetProgress};
use crate::machine_set::facts::{ChildFact, SetView};

/// Returns whether it has failed and is not, or no longer, to be preserved.
pub(crate) fn is_given_up(machine: &ChildFact, progress: &SetProgress, now: Timestamp) -> bool {
    if machine.phase != Phase::Failed || keep::is_unwritten(machine, progress) {
        return false;
    }
    match machine.preserved_until {
        Some(until) => until <= now,
        None => !is_wished(machine, progress),
    }
}

/// Returns whether its health or something else failed it.
pub(crate) fn why_failed(machine: &ChildFact) -> DeleteReason {
    match machine.operation.map(|last| last.kind) {
        Some(OperationType::HealthCheck) => DeleteReason::Unhealthy,
        Some(_) | None => DeleteReason::Failed,
    }
}

/// Returns whether its deployment permits its deletion, or no pods run on it.
pub(crate) fn is_let_go(view: &SetView, machine: &ChildFact) -> bool {
    !machine.is_in_use() || view.permits.permits(&machine.name)
}

/// Returns whether a request preserves it. An invalid request is none.
fn is_wished(machine: &ChildFact, progress: &SetProgress) -> bool {
    let own = keep::wish(machine, progress);
    let of_node = machine.node_preserve_wish.as_deref();
    let wish = preservation::effective(own, of_node, machine.node_wish_heeded.as_deref());
    matches!(wish, Ok(NOW | WHEN_FAILED | AUTO_PRESERVED))
}

/// Returns whether the autoscaler has marked it, and has lowered the number of Machines since. It is deleted even if
/// the number was raised again: its Node is empty, and another Machine replaces it.
pub(crate) fn is_marked(view: &SetView, machine: &ChildFact) -> bool {
    let is_first = order::priority(machine) == FIRST_PRIORITY;
    let is_scaled = match (machine.marked_at, view.set.scaled_down_at) {
        (Some(marked), Some(scaled)) => marked <= scaled,
        (None, _) | (_, None) => false,
    };
    is_first && is_scaled
}
