//! Creates missing Machines: one, then two, then four at a time, so that an error of the first does not happen a
//! hundred times.

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::ClassFact;
use crate::scheduling::gate::{EffectKind, permits};

use super::capacity;
use super::names;
use super::overshoot;
use crate::machine_set::effect::{BURST, CreateMode, NameTakenBy, SetEffect, SetProgress};
use crate::machine_set::errors::SetErrors;
use crate::machine_set::facts::SetView;
use crate::machine_set::members;
use crate::machine_set::members::adoption;

/// The number of names in a row that Machines of others have before the reconcile stops. Single ones are skipped.
pub(crate) const FOREIGN_NAMES: usize = 5;

/// Returns how many are missing, whether or not they may be created.
pub(crate) fn missing(view: &SetView, progress: &SetProgress) -> usize {
    members::wanted(view).saturating_sub(members::living(view, progress).len())
}

/// Returns whether creation is not blocked.
pub(crate) fn is_free(view: &SetView, progress: &SetProgress) -> bool {
    permits(view.gate, EffectKind::Create)
        && !view.set.is_scale_up_disabled
        && !overshoot::holds_creation(view, progress)
}

/// The result of this reconcile's creations so far.
enum Attempts {
    /// These effects come first: a name is taken by an unknown Machine, or an answer was lost.
    First(Vec<SetEffect>),
    /// No more are created in this reconcile.
    Stop,
    /// The number that was created.
    Made(usize),
}

pub(crate) fn next(
    view: &SetView,
    progress: &SetProgress,
    errors: &mut SetErrors,
    now: Timestamp,
) -> Option<Vec<SetEffect>> {
    let planned = missing(view, progress).min(BURST);
    if planned == 0 || !adoption::owners_are_known(view, progress) || !is_free(view, progress) {
        return None;
    }
    if names::is_unwritten(view, progress, now) {
        return None;
    }
    if names::may_be_unseen(view, progress) && !matches!(progress.listing, Some(Ok(_))) {
        return None;
    }
    let made = match attempts(view, progress, errors, now) {
        Attempts::First(effects) => return Some(effects),
        Attempts::Stop => return None,
        Attempts::Made(made) => made,
    };
    let batch = (made + 1).min(planned.saturating_sub(made));
    if batch > 0 && names::open(view, progress).next().is_none() {
        errors.ordinals_used_up(view.names.closed_ordinal);
        return None;
    }
    let creations: Vec<SetEffect> =
        names::open(view, progress).take(batch).map(|ordinal| creation(view, ordinal, now)).collect();
    (!creations.is_empty()).then_some(creations)
}

/// Lists the Machines, if some may be missing in the cache and others must be created.
pub(crate) fn unseen(
    view: &SetView,
    progress: &SetProgress,
    errors: &mut SetErrors,
) -> Option<Vec<SetEffect>> {
    if missing(view, progress) == 0 || !names::may_be_unseen(view, progress) {
        return None;
    }
    match &progress.listing {
        None => Some(vec![SetEffect::ListMachines]),
        Some(Ok(_)) => None,
        Some(Err(error)) => {
            errors.write("list the Machines of the set before it creates others", error);
            None
        }
    }
}

fn creation(view: &SetView, ordinal: u32, now: Timestamp) -> SetEffect {
    let class = capacity::class(view, now);
    let birth = match &view.class {
        // Alternatives are there.
        _ if class.is_some() => CreateMode::Claimed,
        ClassFact::Ready(_) => CreateMode::Claimed,
        ClassFact::Missing(_) | ClassFact::Invalid { .. } | ClassFact::Deleting(_) => CreateMode::Unclaimed,
    };
    let name = names::name(&view.set.key.name, &view.set.uid, ordinal);
    SetEffect::Create { name, ordinal, birth, class }
}

fn attempts(view: &SetView, progress: &SetProgress, errors: &mut SetErrors, now: Timestamp) -> Attempts {
    let (mut foreign, mut stops, mut first) = (0, false, Vec::new());
    for (ordinal, attempt) in &progress.created {
        match &attempt.result {
            Ok(()) => {}
            Err(_) if progress.is_made(attempt) => {}
            Err(_) if attempt.is_to_be_repeated() => first.push(creation(view, *ordinal, now)),
            Err(ActError::Conflict) => match progress.taken.get(&attempt.name) {
                None => first.push(SetEffect::GetMachine { name: attempt.name.clone() }),
                Some(Ok(NameTakenBy::Other)) => foreign += 1,
                Some(Ok(NameTakenBy::This) | Err(ActError::Gone)) => {
                    errors.unseen(
                        "a Machine that the caches do not show yet was created by an earlier reconcile",
                    );
                    stops = true;
                }
                Some(Err(error)) => {
                    errors.write("look whose Machine has the name of the next one", error);
                    stops = true;
                }
            },
            Err(error) => {
                errors.creation(error);
                stops = true;
            }
        }
    }
    if foreign >= FOREIGN_NAMES {
        errors.names_taken(foreign);
        stops = true;
    }
    match (first.is_empty(), stops) {
        (false, _) => Attempts::First(first),
        (true, true) => Attempts::Stop,
        (true, false) => Attempts::Made(progress.creations()),
    }
}
