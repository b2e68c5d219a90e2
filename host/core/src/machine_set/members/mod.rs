//! Machines that belong to a set.
//!
//! | module | what it does |
//! | --- | --- |
//! | `adoption` | adopts and releases Machines by the selector |
//! | `sync` | copies settings of the set to its Machines |

pub(crate) mod adoption;
pub(crate) mod sync;

use super::effect::SetProgress;
use super::facts::{ChildFact, MachineOwner, SetSelectorFact, SetView};

/// Returns all Machines: as listed in this reconcile, or else from the caches.
pub(super) fn all<'a>(view: &'a SetView, progress: &'a SetProgress) -> &'a [ChildFact] {
    match &progress.listing {
        Some(Ok(listed)) => listed,
        Some(Err(_)) | None => &view.machines,
    }
}

/// Returns those that the set controls, with those adopted and without those released in this reconcile.
pub(super) fn owned<'a>(view: &'a SetView, progress: &'a SetProgress) -> Vec<&'a ChildFact> {
    let is_owned = |machine: &&ChildFact| match machine.owner {
        MachineOwner::This => !matches!(progress.released.get(&machine.uid), Some(Ok(()))),
        MachineOwner::None => matches!(progress.adopted.get(&machine.uid), Some(Ok(()))),
        MachineOwner::Other(_) => false,
    };
    all(view, progress).iter().filter(is_owned).collect()
}

/// Returns those of them that count: the others are being deleted.
pub(super) fn living<'a>(view: &'a SetView, progress: &'a SetProgress) -> Vec<&'a ChildFact> {
    owned(view, progress).into_iter().filter(|machine| !machine.is_going()).collect()
}

/// Returns those of them that may be deleted: one that was just updated in place is about to belong to another set, and
/// one that cannot be decoded is not touched.
pub(super) fn eligible<'a>(view: &'a SetView, progress: &'a SetProgress) -> Vec<&'a ChildFact> {
    let living = living(view, progress).into_iter();
    living.filter(|machine| !machine.is_updated_in_place && !machine.is_unreadable).collect()
}

/// Those of them that cannot be decoded.
pub(super) fn unreadable<'a>(view: &'a SetView, progress: &'a SetProgress) -> Vec<&'a ChildFact> {
    living(view, progress).into_iter().filter(|machine| machine.is_unreadable).collect()
}

/// Returns how many more there are than are wanted, of those that may be deleted.
pub(super) fn surplus(view: &SetView, progress: &SetProgress) -> usize {
    let (eligible, unreadable) = (eligible(view, progress).len(), unreadable(view, progress).len());
    (eligible + unreadable).saturating_sub(wanted(view)).min(eligible)
}

/// The selector selects it.
pub(super) fn is_selected(view: &SetView, machine: &ChildFact) -> bool {
    match &view.set.selector {
        SetSelectorFact::Given(selector) => selector.matches(&machine.labels),
        SetSelectorFact::Missing | SetSelectorFact::Invalid(_) => false,
    }
}

/// How many are wanted.
pub(super) fn wanted(view: &SetView) -> usize {
    usize::try_from(view.set.replicas).unwrap_or_default()
}
