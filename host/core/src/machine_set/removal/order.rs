//! Deletion priority and marks of a set's Machines.

use jiff::Timestamp;

use crate::machine::node::preservation::AUTO_PRESERVED;
use crate::machine_set::removal::ranking::RemovalCandidate;

use crate::machine_set::facts::ChildFact;

/// The priority of Machines without a valid one.
const DEFAULT_PRIORITY: i64 = 3;

/// Returns the deletion priority: the lowest is deleted first.
pub(crate) fn priority(machine: &ChildFact) -> i64 {
    let number = machine.priority.as_deref().and_then(|text| text.trim().parse().ok());
    number.unwrap_or(DEFAULT_PRIORITY)
}

/// Returns whether it is preserved now.
pub(crate) fn is_preserved(machine: &ChildFact, now: Timestamp) -> bool {
    kept_until(machine, now).is_some()
}

/// Returns the rank of a Machine: the least is deleted first. No two Machines are equal.
pub(crate) fn place(machine: &ChildFact, now: Timestamp) -> impl Ord + use<> {
    let is_automatic = machine.preserve_wish.as_deref() == Some(AUTO_PRESERVED);
    RemovalCandidate {
        kept: kept_until(machine, now).map(|until| (until, is_automatic)),
        priority: priority(machine),
        marked_at: machine.marked_at,
        phase: machine.phase,
        created: machine.created,
        name: &machine.name,
    }
    .place()
}

fn kept_until(machine: &ChildFact, now: Timestamp) -> Option<Timestamp> {
    machine.preserved_until.filter(|until| *until > now)
}
