//! A set that is being deleted: its Machines go first, then our finalizer. What its spec says does not matter any more.

use jiff::Timestamp;

use crate::machine::Wake;
use crate::scheduling::gate::{EffectKind, Gate, permits};

use super::conclusion::{Conclusion, Reason, SetStatus, Step};
use super::effect::{BURST, Effect, MachineRef, Progress, Why};
use super::errors::{Trouble, Troubles};
use super::facts::{ChildFact, Freshness, SetView};
use super::members;
use super::removal::choose as remove;
use super::removal::order;
use super::status;
use super::step::unlisted;

pub(super) fn step(view: &SetView, progress: &Progress, now: Timestamp) -> Step {
    if !view.set.has_finalizer {
        return gone(view, progress, now, "nothing of ours holds the set");
    }
    if view.freshness == Freshness::InDoubt {
        match &progress.listing {
            None => return Step::act(Effect::ListMachines),
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
        return end(view, progress, now, Reason::Orphaning, message.into(), Wake::Resync);
    }
    let mut living: Vec<&ChildFact> = members::living(view, progress);
    living.retain(|machine| !machine.is_unreadable);
    if let Gate::Frozen { reason, .. } = view.gate
        && !living.is_empty()
        && !permits(view.gate, EffectKind::CascadeDelete)
    {
        let message = format!("the deletion of Machines is held: {}", reason.sentence());
        return end(view, progress, now, Reason::Held, message, Wake::Resync);
    }
    living.sort_by_cached_key(|machine| order::place(machine, now));
    let untried = living.iter().filter(|machine| !progress.deleted.contains_key(&machine.uid));
    let effects: Vec<Effect> = untried
        .take(BURST.saturating_sub(progress.deleted.len()))
        .map(|machine| Effect::Delete(MachineRef::of(machine), Why::SetDeleted))
        .collect();
    if !effects.is_empty() {
        return Step::Act(effects);
    }
    let mut troubles = Troubles::default();
    remove::tell(progress, &mut troubles);
    match troubles.worst() {
        Some(Trouble { reason, message, wake }) => {
            let status = status::of(view, progress, &troubles, now);
            Step::Finish(Conclusion { status, reason: *reason, message: message.clone(), wake: *wake })
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
            let wake = super::step::after(progress).unwrap_or(Wake::Resync);
            end(view, progress, now, Reason::Deleting, message, wake)
        }
    }
}

/// Nothing is left that the set would leave behind.
fn released(view: &SetView, progress: &Progress, now: Timestamp) -> Step {
    match &progress.release_finalizer {
        None => Step::act(Effect::ReleaseFinalizer),
        Some(Ok(())) => gone(view, progress, now, "all Machines of the set are gone"),
        Some(Err(error)) => {
            let message = format!("failed to take the finalizer off the set: {error}");
            let wake = crate::machine::retry_write(error);
            end(view, progress, now, Reason::FinalizerHeld, message, wake)
        }
    }
}

fn gone(view: &SetView, progress: &Progress, now: Timestamp, message: &str) -> Step {
    end(view, progress, now, Reason::Deleted, message.to_owned(), Wake::Gone)
}

fn end(
    view: &SetView,
    progress: &Progress,
    now: Timestamp,
    reason: Reason,
    message: String,
    wake: Wake,
) -> Step {
    let status =
        SetStatus { observed_generation: Some(view.set.generation), ..status::counts(view, progress, now) };
    Step::Finish(Conclusion { status, reason, message, wake })
}
