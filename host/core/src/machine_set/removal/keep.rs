//! Preserves failed Machines without a request, so that somebody can look at them: as many as the set's limit.

use std::cmp::Reverse;

use crate::machine::node::preservation::{AUTO_PRESERVED, is_known, node_decides};
use crate::value::phase::Phase;

use crate::machine_set::effect::{BURST, MachineRef, PreserveChange, SetEffect, SetProgress};
use crate::machine_set::errors::SetErrors;
use crate::machine_set::facts::{ChildFact, SetView};
use crate::machine_set::members;

/// Returns the request of the Machine's own annotation, with the change of this reconcile.
pub(crate) fn wish<'a>(machine: &'a ChildFact, progress: &SetProgress) -> Option<&'a str> {
    match progress.kept.get(&machine.uid) {
        Some((PreserveChange::Begin, Ok(()))) => Some(AUTO_PRESERVED),
        Some((PreserveChange::End, Ok(()))) => None,
        Some((PreserveChange::Begin | PreserveChange::End, Err(_))) | None => {
            machine.preserve_wish.as_deref()
        }
    }
}

/// Returns whether a change of the request failed: the Machine's preservation is unknown.
pub(crate) fn is_unwritten(machine: &ChildFact, progress: &SetProgress) -> bool {
    matches!(progress.kept.get(&machine.uid), Some((_, Err(_))))
}

/// Returns the number that is preserved in this way.
pub(crate) fn count(view: &SetView, progress: &SetProgress) -> usize {
    let machines = members::living(view, progress);
    machines.into_iter().filter(|machine| wish(machine, progress) == Some(AUTO_PRESERVED)).count()
}

/// Returns the next batch, from the state before this reconcile.
pub(crate) fn next(
    view: &SetView,
    progress: &SetProgress,
    troubles: &mut SetErrors,
) -> Option<Vec<SetEffect>> {
    for (_, result) in progress.kept.values() {
        if let Err(error) = result {
            troubles.write("write the wish to keep a Machine", error);
        }
    }
    let effects: Vec<SetEffect> = changes(view, progress)
        .into_iter()
        .filter(|(machine, _)| !progress.kept.contains_key(&machine.uid))
        .take(BURST.saturating_sub(progress.kept.len()))
        .map(|(machine, keep)| SetEffect::Preserve(MachineRef::of(machine), keep))
        .collect();
    (!effects.is_empty()).then_some(effects)
}

/// Returns all changes that the facts require.
pub(crate) fn changes<'a>(
    view: &'a SetView,
    progress: &'a SetProgress,
) -> Vec<(&'a ChildFact, PreserveChange)> {
    let mut machines = members::living(view, progress);
    machines.retain(|machine| !machine.is_unreadable);
    let is_kept = |machine: &&ChildFact| machine.preserve_wish.as_deref() == Some(AUTO_PRESERVED);
    let room = usize::try_from(view.set.auto_preserve_max).unwrap_or_default();
    let mut kept: Vec<&ChildFact> = machines.iter().copied().filter(is_kept).collect();
    if kept.len() > room {
        kept.sort_by_key(|machine| (machine.created, machine.name.clone()));
        kept.truncate(kept.len() - room);
        return kept.into_iter().map(|machine| (machine, PreserveChange::End)).collect();
    }
    let mut failed: Vec<&ChildFact> =
        machines.into_iter().filter(|machine| is_to_be_asked_for(machine)).collect();
    failed.sort_by_key(|machine| (Reverse(machine.created), machine.name.clone()));
    failed.truncate(room - kept.len());
    failed.into_iter().map(|machine| (machine, PreserveChange::Begin)).collect()
}

/// Returns whether it has failed without any preservation request on it or on its Node.
fn is_to_be_asked_for(machine: &ChildFact) -> bool {
    let own = machine.preserve_wish.as_deref().unwrap_or_default();
    let says_something = !own.is_empty() && is_known(own);
    let of_node = machine.node_preserve_wish.as_deref();
    machine.phase == Phase::Failed
        && !says_something
        && !node_decides(of_node, machine.node_wish_heeded.as_deref())
}
