//! Adopts Machines without a controller that the selector selects, and releases those that it no longer selects.
//! Machines of other controllers are never touched.

use crate::machine_set::effect::{BURST, MachineRef, SetEffect, SetProgress};
use crate::machine_set::errors::SetErrors;
use crate::machine_set::facts::{ChildFact, MachineOwner, SetView};
use crate::machine_set::members;

fn is_orphan(view: &SetView, machine: &ChildFact) -> bool {
    machine.owner == MachineOwner::None
        && !machine.is_deleting
        && !machine.is_unreadable
        && members::is_selected(view, machine)
}

/// Returns whether the set must release it. A Machine in deletion stays the set's until it is gone.
fn is_stray(view: &SetView, machine: &ChildFact) -> bool {
    machine.owner == MachineOwner::This
        && !machine.is_deleting
        && !machine.is_unreadable
        && !members::is_selected(view, machine)
}

/// Returns whether the set may adopt this Machine, or must release it.
pub(crate) fn is_right(view: &SetView, effect: &SetEffect, machine: &ChildFact) -> bool {
    match effect {
        SetEffect::Adopt(_) => is_orphan(view, machine),
        SetEffect::Release(_) => is_stray(view, machine),
        SetEffect::AddFinalizer
        | SetEffect::ReleaseFinalizer
        | SetEffect::ListMachines
        | SetEffect::GetSet
        | SetEffect::GetMachine { .. }
        | SetEffect::Preserve(..)
        | SetEffect::Sync(..)
        | SetEffect::Create { .. }
        | SetEffect::Delete(..)
        | SetEffect::WriteSet(_) => false,
    }
}

/// Returns the next batch, or `None` when everything is done or was tried.
pub(crate) fn next(view: &SetView, progress: &SetProgress, errors: &mut SetErrors) -> Option<Vec<SetEffect>> {
    let machines = members::all(view, progress);
    let strays = machines.iter().filter(|machine| is_stray(view, machine));
    let releases = strays
        .filter(|machine| !progress.released.contains_key(&machine.uid))
        .map(|machine| SetEffect::Release(MachineRef::of(machine)));
    let mut effects: Vec<SetEffect> = releases.take(BURST.saturating_sub(progress.released.len())).collect();
    let orphans: Vec<&ChildFact> = machines.iter().filter(|machine| is_orphan(view, machine)).collect();
    if !orphans.is_empty() {
        match &progress.set {
            // The caches may be behind: a deleted set must not adopt.
            None => effects.push(SetEffect::GetSet),
            Some(Ok(set)) if set.uid == view.set.uid && !set.is_deleting => {
                let adoptions = orphans
                    .into_iter()
                    .filter(|machine| !progress.adopted.contains_key(&machine.uid))
                    .map(|machine| SetEffect::Adopt(MachineRef::of(machine)));
                effects.extend(adoptions.take(BURST.saturating_sub(progress.adopted.len())));
            }
            Some(Ok(_)) => {
                errors.unseen("the set was deleted or replaced: nothing is adopted until the caches show it");
            }
            Some(Err(error)) => errors.write("look at the set before it adopts Machines", error),
        }
    }
    for result in progress.adopted.values().chain(progress.released.values()) {
        if let Err(error) = result {
            errors.write("adopt or let go of a Machine", error);
        }
    }
    (!effects.is_empty()).then_some(effects)
}

/// Returns whether the owner of every Machine is known, so that they can be counted.
pub(crate) fn owners_are_known(view: &SetView, progress: &SetProgress) -> bool {
    members::all(view, progress).iter().all(|machine| {
        (!is_orphan(view, machine) || matches!(progress.adopted.get(&machine.uid), Some(Ok(()))))
            && (!is_stray(view, machine) || matches!(progress.released.get(&machine.uid), Some(Ok(()))))
    })
}

/// Returns the Machines that the selector selects and that others control, with their controller, in order.
pub(crate) fn overlaps<'a>(view: &'a SetView, progress: &'a SetProgress) -> Vec<(&'a ChildFact, &'a str)> {
    let theirs = members::all(view, progress).iter().filter_map(|machine| match &machine.owner {
        MachineOwner::Other(owner) if members::is_selected(view, machine) => Some((machine, owner.as_str())),
        MachineOwner::Other(_) | MachineOwner::None | MachineOwner::This => None,
    });
    theirs.collect()
}
