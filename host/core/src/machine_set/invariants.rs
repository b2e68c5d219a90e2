//! Rules that always hold. Tests, assertions and the simulator use the same functions.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::machine::Requeue;
use crate::scheduling::gate::permits;

use super::conclusion::SetConclusion;
use super::creation::capacity;
use super::creation::create;
use super::creation::names;
use super::effect::{BURST, CurrentSet, DeleteReason, MachineRef, SetEffect, SetProgress};
use super::facts::{ChildFact, Freshness, SetView};
use super::members;
use super::members::adoption;
use super::removal::choose;
use super::validity;

/// A rule that a step has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetViolation {
    /// There would be more than are wanted.
    #[error("a Machine is created that is not wanted")]
    SurplusCreation,
    /// There would be fewer than are wanted.
    #[error("a Machine is deleted as surplus that is wanted")]
    WantedDeleted,
    /// The Machine is healthy, or is to be preserved.
    #[error("a Machine is deleted that has neither failed nor was chosen")]
    HealthyDeleted,
    /// Its deployment has not permitted the deletion.
    #[error("a failed Machine is deleted that its deployment does not let go")]
    NotLetGo,
    /// The whole set is not being deleted.
    #[error("all Machines of a set are deleted that stays, or its finalizer is taken off")]
    SetStays,
    /// Nothing would find the Machine again.
    #[error("a Machine is created or changed for a set whose spec is invalid")]
    InvalidSet,
    /// The set could vanish before its Machines.
    #[error("a Machine is created for a set without our finalizer, or that is being deleted")]
    WithoutFinalizer,
    /// Nobody knows how many there are.
    #[error(
        "Machines are created, deleted or released on a view that is in doubt, or before their owner is known"
    )]
    OwnersUnknown,
    /// Another reconcile could not know that the name was used.
    #[error("a Machine gets a name that does not follow from its ordinal, or an ordinal that was given out")]
    WrongName,
    /// It belongs to somebody else, or is wanted.
    #[error("a Machine is adopted or let go that should not be")]
    WrongClaim,
    /// The cache may not know that the set is gone.
    #[error("a Machine is adopted without a look at the set")]
    BlindAdoption,
    /// Nobody knows what it is.
    #[error("a Machine is touched that cannot be decoded")]
    Unreadable,
    /// It is somebody else's.
    #[error("a Machine is touched that is not the set's")]
    Foreign,
    /// Machines would have no owner that removes them.
    #[error("the finalizer of a set is taken off that has Machines")]
    ReleaseBeforeMachines,
    /// The gate or a label forbids it.
    #[error("what is held is done")]
    Blocked,
    /// The batch would delay other owners too long.
    #[error("a pass does more than a burst")]
    TooMany,
    /// The same effect twice: its outcome is known already.
    #[error("an effect is done twice in one pass")]
    Repeated,
    /// A reconcile without an end.
    #[error("a batch has no effects")]
    EmptyBatch,
    /// The set would never be reconciled again, or at once without reason.
    #[error("a set is looked at never again although it is there, or at once although nothing has changed")]
    WrongWake,
    /// Nobody would know why.
    #[error("a pass ends without a word")]
    WithoutReason,
}

/// Returns the rule that a batch breaks, if any.
pub fn batch(
    view: &SetView,
    progress: &SetProgress,
    effects: &[SetEffect],
    now: Timestamp,
) -> Result<(), SetViolation> {
    if effects.is_empty() {
        return Err(SetViolation::EmptyBatch);
    }
    let subjects: BTreeSet<String> = effects.iter().map(subject).collect();
    if subjects.len() < effects.len() || effects.iter().any(|effect| is_done(progress, effect)) {
        return Err(SetViolation::Repeated);
    }
    if effects.iter().any(|effect| !permits(view.gate, effect.kind())) {
        return Err(SetViolation::Blocked);
    }
    if !effects.iter().all(is_for_any_set) && view.set.deletion.is_none() && validity::problem(view).is_some()
    {
        return Err(SetViolation::InvalidSet);
    }
    effects.iter().try_for_each(|effect| one(view, progress, effect, now))?;
    creations(view, progress, effects, now)?;
    deletions(view, progress, effects)
}

/// Returns the subject of an effect, so that it is done once.
fn subject(effect: &SetEffect) -> String {
    let of = |machine: &MachineRef| format!("{} {}", effect.name(), machine.uid);
    match effect {
        SetEffect::Adopt(machine)
        | SetEffect::Release(machine)
        | SetEffect::Preserve(machine, _)
        | SetEffect::Sync(machine, _)
        | SetEffect::Delete(machine, _) => of(machine),
        SetEffect::Create { name, .. } | SetEffect::GetMachine { name } => {
            format!("{} {name}", effect.name())
        }
        SetEffect::AddFinalizer
        | SetEffect::ReleaseFinalizer
        | SetEffect::ListMachines
        | SetEffect::GetSet
        | SetEffect::WriteSet(_) => effect.name().to_owned(),
    }
}

fn is_done(progress: &SetProgress, effect: &SetEffect) -> bool {
    match effect {
        SetEffect::AddFinalizer => progress.claim.is_some(),
        SetEffect::ReleaseFinalizer => progress.release_finalizer.is_some(),
        SetEffect::ListMachines => progress.listing.is_some(),
        SetEffect::GetSet => progress.set.is_some(),
        SetEffect::GetMachine { name } => progress.taken.contains_key(name),
        SetEffect::Adopt(machine) => progress.adopted.contains_key(&machine.uid),
        SetEffect::Release(machine) => progress.released.contains_key(&machine.uid),
        SetEffect::Preserve(machine, _) => progress.kept.contains_key(&machine.uid),
        SetEffect::Sync(machine, _) => progress.synced.contains_key(&machine.uid),
        SetEffect::Create { ordinal, .. } => {
            progress.created.get(ordinal).is_some_and(|creation| !creation.is_to_be_repeated())
        }
        SetEffect::Delete(machine, _) => progress.deleted.contains_key(&machine.uid),
        SetEffect::WriteSet(_) => progress.write_set.is_some(),
    }
}

fn is_for_any_set(effect: &SetEffect) -> bool {
    matches!(effect, SetEffect::ListMachines | SetEffect::GetSet | SetEffect::GetMachine { .. })
}

fn one(
    view: &SetView,
    progress: &SetProgress,
    effect: &SetEffect,
    now: Timestamp,
) -> Result<(), SetViolation> {
    let is_deleting = view.set.deletion.is_some();
    let machine = |target: &MachineRef| {
        members::all(view, progress)
            .iter()
            .find(|machine| machine.uid == target.uid)
            .ok_or(SetViolation::Foreign)
    };
    match effect {
        SetEffect::ListMachines | SetEffect::GetSet | SetEffect::GetMachine { .. } => Ok(()),
        SetEffect::AddFinalizer | SetEffect::WriteSet(_) if is_deleting => {
            Err(SetViolation::WithoutFinalizer)
        }
        SetEffect::AddFinalizer | SetEffect::WriteSet(_) => Ok(()),
        SetEffect::ReleaseFinalizer if !is_deleting => Err(SetViolation::SetStays),
        SetEffect::ReleaseFinalizer if is_in_doubt(view, progress) => Err(SetViolation::OwnersUnknown),
        SetEffect::ReleaseFinalizer if !members::owned(view, progress).is_empty() => {
            Err(SetViolation::ReleaseBeforeMachines)
        }
        SetEffect::ReleaseFinalizer => Ok(()),
        SetEffect::Adopt(target) | SetEffect::Release(target) => {
            if is_deleting || !adoption::is_right(view, effect, machine(target)?) {
                return Err(SetViolation::WrongClaim);
            }
            let has_looked = matches!(&progress.set, Some(Ok(CurrentSet { uid, is_deleting: false }))
                if *uid == view.set.uid);
            let is_adoption = matches!(effect, SetEffect::Adopt(_));
            if is_adoption && !has_looked { Err(SetViolation::BlindAdoption) } else { Ok(()) }
        }
        SetEffect::Preserve(target, _) | SetEffect::Sync(target, _) if is_deleting => {
            machine(target).and(Err(SetViolation::SetStays))
        }
        SetEffect::Preserve(target, _) | SetEffect::Sync(target, _) => {
            is_own(view, progress, machine(target)?)
        }
        SetEffect::Create { name, ordinal, .. } => {
            let follows = *name == names::name(&view.set.key.name, &view.set.uid, *ordinal);
            let is_open = progress.created.contains_key(ordinal)
                || names::open(view, progress).take(2 * BURST).any(|open| open == *ordinal);
            if follows && is_open { Ok(()) } else { Err(SetViolation::WrongName) }
        }
        SetEffect::Delete(target, why) => {
            let machine = machine(target)?;
            is_own(view, progress, machine)?;
            deletion(view, progress, machine, *why, now)
        }
    }
}

fn is_own(view: &SetView, progress: &SetProgress, machine: &ChildFact) -> Result<(), SetViolation> {
    let is_own = members::owned(view, progress).iter().any(|own| own.uid == machine.uid);
    match (is_own, machine.is_unreadable) {
        (true, false) => Ok(()),
        (true, true) => Err(SetViolation::Unreadable),
        (false, _) => Err(SetViolation::Foreign),
    }
}

fn is_in_doubt(view: &SetView, progress: &SetProgress) -> bool {
    view.freshness == Freshness::InDoubt && !matches!(progress.listing, Some(Ok(_)))
}

fn deletion(
    view: &SetView,
    progress: &SetProgress,
    machine: &ChildFact,
    why: DeleteReason,
    now: Timestamp,
) -> Result<(), SetViolation> {
    let is_deleting = view.set.deletion.is_some();
    let owners_are_known =
        adoption::owners_are_known(view, progress) && !names::is_unwritten(view, progress, now);
    if is_in_doubt(view, progress) || (!is_deleting && !owners_are_known) {
        return Err(SetViolation::OwnersUnknown);
    }
    match why {
        DeleteReason::SetDeleted if is_deleting && !view.set.leaves_machines => Ok(()),
        DeleteReason::SetDeleted => Err(SetViolation::SetStays),
        DeleteReason::Surplus => Ok(()),
        DeleteReason::Marked if choose::is_marked(view, machine) => Ok(()),
        DeleteReason::Failed | DeleteReason::Unhealthy if !choose::is_deletion_permitted(view, machine) => {
            Err(SetViolation::NotLetGo)
        }
        DeleteReason::Failed | DeleteReason::Unhealthy if choose::is_given_up(machine, progress, now) => {
            Ok(())
        }
        DeleteReason::Exhausted if capacity::is_to_move(view, machine, now) => Ok(()),
        DeleteReason::Marked | DeleteReason::Failed | DeleteReason::Unhealthy | DeleteReason::Exhausted => {
            Err(SetViolation::HealthyDeleted)
        }
    }
}

/// Checks that no more Machines exist than are wanted, with those that this reconcile has created.
fn creations(
    view: &SetView,
    progress: &SetProgress,
    effects: &[SetEffect],
    now: Timestamp,
) -> Result<(), SetViolation> {
    let planned = effects.iter().filter(|effect| matches!(effect, SetEffect::Create { .. })).count();
    if planned == 0 {
        return Ok(());
    }
    let is_held = view.set.has_finalizer || matches!(progress.claim, Some(Ok(())));
    if !is_held || view.set.deletion.is_some() {
        return Err(SetViolation::WithoutFinalizer);
    }
    let is_listed = matches!(progress.listing, Some(Ok(_)));
    let is_unseen = names::may_be_unseen(view, progress) && !is_listed;
    let is_noted = !names::is_unwritten(view, progress, now);
    if is_unseen || !is_noted || is_in_doubt(view, progress) || !adoption::owners_are_known(view, progress) {
        return Err(SetViolation::OwnersUnknown);
    }
    if !create::is_free(view, progress) {
        return Err(SetViolation::Blocked);
    }
    let made = progress.creations();
    if members::living(view, progress).len() + made + planned > members::wanted(view) {
        return Err(SetViolation::SurplusCreation);
    }
    if made + planned > BURST { Err(SetViolation::TooMany) } else { Ok(()) }
}

/// Checks that no fewer Machines are left than are wanted.
fn deletions(view: &SetView, progress: &SetProgress, effects: &[SetEffect]) -> Result<(), SetViolation> {
    let surplus = |why: &DeleteReason| *why == DeleteReason::Surplus;
    let planned: Vec<&DeleteReason> = effects
        .iter()
        .filter_map(|effect| match effect {
            SetEffect::Delete(_, why) => Some(why),
            SetEffect::AddFinalizer
            | SetEffect::ReleaseFinalizer
            | SetEffect::ListMachines
            | SetEffect::GetSet
            | SetEffect::GetMachine { .. }
            | SetEffect::Adopt(_)
            | SetEffect::Release(_)
            | SetEffect::Preserve(..)
            | SetEffect::Sync(..)
            | SetEffect::Create { .. }
            | SetEffect::WriteSet(_) => None,
        })
        .collect();
    let earlier = progress.deleted.values().filter(|(why, _)| surplus(why)).count();
    let surplus = earlier + planned.iter().filter(|why| surplus(why)).count();
    if surplus > members::surplus(view, progress) {
        return Err(SetViolation::WantedDeleted);
    }
    if progress.deleted.len() + planned.len() > BURST { Err(SetViolation::TooMany) } else { Ok(()) }
}

/// Returns the rule that the end of a reconcile breaks, if any.
pub fn conclusion(
    view: &SetView,
    progress: &SetProgress,
    conclusion: &SetConclusion,
) -> Result<(), SetViolation> {
    if conclusion.message.is_empty() {
        return Err(SetViolation::WithoutReason);
    }
    let is_released = !view.set.has_finalizer || matches!(progress.release_finalizer, Some(Ok(())));
    let is_right = match conclusion.wake {
        Requeue::Gone => view.set.deletion.is_some() && is_released,
        Requeue::Now => progress.has_written(),
        Requeue::After(after) | Requeue::Check(after) => after > SignedDuration::ZERO,
        Requeue::Retry { policy, .. } => policy.base.max(policy.cap) > SignedDuration::ZERO,
        Requeue::Resync => true,
    };
    if is_right { Ok(()) } else { Err(SetViolation::WrongWake) }
}
