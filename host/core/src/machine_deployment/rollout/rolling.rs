//! RollingUpdate: more of the new, fewer of the old, within bounds.

use jiff::Timestamp;

use super::strategy::RolloutBounds;
use super::targets::Targets;
use crate::machine_deployment::sets::group::{Cost, SetGroup};

/// Returns the next numbers. Each set gets as many as the bounds allow, so that all change at the same time.
///
/// Assumes that all sets have observed their last change: otherwise the result of an earlier number is not counted.
pub(crate) fn step(group: &SetGroup<'_>, bounds: RolloutBounds, now: Timestamp) -> Targets {
    let mut targets = Targets::of(group);
    raise_new(group, bounds, &mut targets);
    let mut spare = group.spare(bounds, now);
    lower_new(group, bounds, &mut targets, &mut spare);
    lower_old(group, bounds, now, &mut targets, &mut spare);
    targets
}

/// Raises the new set as far as there is room, up to the wanted number.
pub(crate) fn raise_new(group: &SetGroup<'_>, bounds: RolloutBounds, targets: &mut Targets) {
    let Some(new) = &group.new else { return };
    targets.raise(new, bounds.desired.saturating_sub(new.wanted).min(group.room(bounds)));
}

pub(crate) fn lower_new(group: &SetGroup<'_>, bounds: RolloutBounds, targets: &mut Targets, spare: &mut u32) {
    let Some(new) = &group.new else { return };
    targets.lower(new, new.wanted.saturating_sub(bounds.desired), spare);
}

/// Lowers the old sets: first unavailable Machines, then others, the oldest set first.
///
/// Unavailable Machines may yet become available, so not all of them are deleted before the new ones exist: as many
/// stay as are needed, and as many again as the new set still waits for.
pub(crate) fn lower_old(
    group: &SetGroup<'_>,
    bounds: RolloutBounds,
    now: Timestamp,
    targets: &mut Targets,
    spare: &mut u32,
) {
    let awaited = group.new.as_ref().map_or(0, |new| new.wanted.saturating_sub(new.available));
    let needed = group.fewest(bounds, now).saturating_add(awaited);
    let mut removable = group.wanted().saturating_sub(needed);
    for old in &group.old {
        let useless = old.leading(targets.get(old), |cost| cost == Cost::Nothing);
        removable -= targets.lower(old, useless.min(removable), spare);
    }
    for old in &group.old {
        removable -= targets.lower(old, removable, spare);
    }
}
