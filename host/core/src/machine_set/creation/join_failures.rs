//! Freezes a set whose last Machines have all failed to join, if the settings ask for it: each further one would cost a
//! VM.
//!
//! Failed Machines are replaced and deleted, so the number in a row is noted on the set.

use std::fmt;

use crate::value::phase::{OperationState, OperationType, Phase};

use crate::machine_set::effect::SetProgress;
use crate::machine_set::facts::{ChildFact, SetView};
use crate::machine_set::members;

/// Machines in a row that have failed to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedJoins {
    pub count: u32,
    /// The highest ordinal among them.
    pub last: u32,
}

impl FailedJoins {
    /// Parses the note of the set. An invalid note counts as none.
    pub fn parse(text: &str) -> Option<Self> {
        let (count, last) = text.split_once(" up to ")?;
        Some(Self { count: count.parse().ok()?, last: last.parse().ok()? })
    }
}

impl fmt::Display for FailedJoins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} up to {}", self.count, self.last)
    }
}

/// Returns the count to note on the set. Machines count once, since those that were counted have lower ordinals; a
/// later one that joins, or a request to thaw, restarts the count.
pub(crate) fn counted(view: &SetView, progress: &SetProgress) -> Option<FailedJoins> {
    view.settings.failed_joins?;
    let machines = members::living(view, progress);
    if view.set.is_thaw_asked {
        // Preserved Machines do not count again.
        let past =
            machines.iter().filter(|machine| never_joined(machine)).filter_map(|machine| machine.ordinal);
        return past.max().map(|last| FailedJoins { count: 0, last });
    }
    let noted = view.set.failed_joins;
    let is_later = |machine: &&&ChildFact, than: Option<FailedJoins>| {
        than.is_none_or(|than| machine.ordinal > Some(than.last))
    };
    let has_joined = |machine: &&ChildFact| matches!(machine.phase, Phase::Running | Phase::Available);
    let is_over = machines.iter().any(|machine| has_joined(machine) && is_later(&machine, noted));
    let noted = noted.filter(|_| !is_over);
    let latest =
        machines.iter().filter(|machine| has_joined(machine)).filter_map(|machine| machine.ordinal).max();
    let failed = machines
        .iter()
        .filter(|machine| never_joined(machine) && is_later(machine, noted))
        .filter(|machine| machine.ordinal > latest);
    let ordinals: Vec<u32> = failed.filter_map(|machine| machine.ordinal).collect();
    let Some(last) = ordinals.iter().copied().max() else { return noted };
    let earlier = noted.map_or(0, |noted| noted.count);
    let count = earlier.saturating_add(u32::try_from(ordinals.len()).unwrap_or(u32::MAX));
    Some(FailedJoins { count, last })
}

/// Returns whether the count has reached the limit of the settings.
pub(crate) fn are_too_many(view: &SetView, progress: &SetProgress) -> bool {
    let counted = counted(view, progress).map_or(0, |counted| counted.count);
    view.settings.failed_joins.is_some_and(|limit| limit > 0 && counted >= limit)
}

/// Returns whether its last operation is a failed creation.
fn never_joined(machine: &ChildFact) -> bool {
    let is_creation = machine
        .operation
        .is_some_and(|last| (last.kind, last.state) == (OperationType::Create, OperationState::Failed));
    machine.phase == Phase::Failed && is_creation
}
