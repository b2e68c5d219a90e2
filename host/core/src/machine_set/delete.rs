//! Deletes a set: its Machines first, then our finalizer, whatever its spec.

use jiff::Timestamp;

use crate::machine::{Requeue, retry_write};
use crate::scheduling::gate::{EffectKind, Gate, permits};

use super::conclusion::{SetConclusion, SetReason, SetStatus, SetStep};
use super::effect::{BURST, DeleteReason, MachineRef, SetEffect, SetProgress};
use super::errors::{SetError, SetErrors};
use super::facts::{ChildFact, Freshness, SetView};
use super::members;
use super::removal::choose;
use super::status;
use super::step::unlisted;

pub(super) fn step(view: &SetView, progress: &SetProgress, now: Timestamp) -> SetStep {
    if !view.set.has_finalizer {
        return gone(view, progress, now, "nothing of ours holds the set");
    }
    if view.freshness == Freshness::InDoubt {
        match &progress.listing {
            None => return SetStep::act(SetEffect::ListMachines),
            Some(Ok(_)) => {}
            Some(Err(error)) => return unlisted(view, progress, error, now),
        }
    }
    let owned = members::owned(view, progress);
    if owned.is_empty() {
        return released(view, progress, now);
    }
    if view.set.leaves_machines {
        let message = "the set is deleted without its Machines: the garbage collector takes it off their owners, then it goes";
        return end(view, progress, now, SetReason::Orphaning, message.into(), Requeue::Resync);
    }
    let mut living: Vec<&ChildFact> = members::living(view, progress);
    living.retain(|machine| !machine.is_unreadable);
    if let Gate::Frozen { reason, .. } = view.gate
        && !living.is_empty()
        && !permits(view.gate, EffectKind::CascadeDelete)
    {
        let message = format!("the deletion of Machines is held: {}", reason.sentence());
        return end(view, progress, now, SetReason::GateFrozen, message, Requeue::Resync);
    }
    living.sort_by_cached_key(|machine| machine.deletion_rank(now));
    let untried = living.iter().filter(|machine| !progress.deleted.contains_key(&machine.uid));
    let effects: Vec<SetEffect> = untried
        .take(BURST.saturating_sub(progress.deleted.len()))
        .map(|machine| SetEffect::Delete(MachineRef::of(machine), DeleteReason::SetDeleted))
        .collect();
    if !effects.is_empty() {
        return SetStep::Act(effects);
    }
    let mut errors = SetErrors::default();
    choose::report_failures(progress, &mut errors);
    match errors.worst() {
        Some(SetError { reason, message, wake }) => {
            let status = status::of(view, progress, &errors, now);
            SetStep::Finish(SetConclusion { status, reason: *reason, message: message.clone(), wake: *wake })
        }
        None => {
            let unreadable = members::unreadable(view, progress);
            let message = match unreadable.first() {
                None => "the set is being deleted: it goes when its Machines are gone".to_owned(),
                Some(machine) => format!(
                    "the set is being deleted, and Machines such as {} cannot be decoded: correct or delete them",
                    machine.name
                ),
            };
            let wake = super::step::after(progress).unwrap_or(Requeue::Resync);
            end(view, progress, now, SetReason::Deleting, message, wake)
        }
    }
}

/// Removes the finalizer, since no Machine is left.
fn released(view: &SetView, progress: &SetProgress, now: Timestamp) -> SetStep {
    match &progress.release_finalizer {
        None => SetStep::act(SetEffect::ReleaseFinalizer),
        Some(Ok(())) => gone(view, progress, now, "all Machines of the set are gone"),
        Some(Err(error)) => {
            let message = format!("failed to take the finalizer off the set: {error}");
            let wake = retry_write(error);
            end(view, progress, now, SetReason::FinalizerHeld, message, wake)
        }
    }
}

fn gone(view: &SetView, progress: &SetProgress, now: Timestamp, message: &str) -> SetStep {
    end(view, progress, now, SetReason::Deleted, message.to_owned(), Requeue::Gone)
}

fn end(
    view: &SetView,
    progress: &SetProgress,
    now: Timestamp,
    reason: SetReason,
    message: String,
    wake: Requeue,
) -> SetStep {
    let status =
        SetStatus { observed_generation: Some(view.set.generation), ..status::counts(view, progress, now) };
    SetStep::Finish(SetConclusion { status, reason, message, wake })
}
