//! Scaling during a rollout: the sets share the change.
//!
//! Each set notes the number of its deployment when it was last scaled, which shows a change.

use jiff::Timestamp;

use super::strategy::{RolloutBounds, Strategy};
use super::targets::Targets;
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact};
use crate::machine_deployment::sets::group::{Cost, SetGroup, Tally, sum};

/// The result of scaling.
pub(crate) struct Scaling {
    pub targets: Targets,
    /// Whether the whole change is done: then the sets note the number of the deployment.
    pub is_whole: bool,
}

/// Returns whether the deployment wants another number than when its sets were scaled last.
pub(crate) fn is_due(view: &DeploymentView, group: &SetGroup<'_>, bounds: RolloutBounds) -> bool {
    let active = group.active();
    if active.is_empty() {
        return group.new.is_some() && bounds.desired > 0;
    }
    active.iter().any(|tally| noted(view, tally.set).is_some_and(|noted| noted != i64::from(bounds.desired)))
}

fn noted(view: &DeploymentView, set: &OwnedSetFact) -> Option<i64> {
    set.annotations.get(view.names.desired_replicas)?.parse().ok()
}

/// Returns the numbers that follow the deployment's.
pub(crate) fn scale(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    strategy: Strategy,
    bounds: RolloutBounds,
    now: Timestamp,
) -> Scaling {
    let mut targets = Targets::of(group);
    let active = group.active();
    let is_shared = active.len() > 1;
    let only = if is_shared { None } else { active.first().copied().or(group.new.as_ref()) };
    if let Some(only) = only {
        let wanted = alone(group, only, strategy, bounds);
        targets.set(only, wanted);
        return Scaling { targets, is_whole: wanted == bounds.desired };
    }
    if strategy == Strategy::Recreate {
        return Scaling { targets, is_whole: true };
    }
    let wanted = group.wanted();
    if wanted > bounds.most() {
        let left = shrink(view, group, bounds, &mut targets, &mut group.spare(bounds, now));
        return Scaling { targets, is_whole: left == 0 };
    }
    let Some(new) = &group.new else { return Scaling { targets, is_whole: true } };
    let missing = (bounds.most() - wanted).min(bounds.desired.saturating_sub(new.wanted));
    let more = missing.min(group.room(bounds));
    targets.raise(new, more);
    Scaling { targets, is_whole: more == missing }
}

/// Returns the number of the only set. It follows the deployment at once: a scale-up does not wait until other Machines
/// are drained. The rest of a rollout does wait, so the set must be below a number that it has not noted.
pub(crate) fn only_new(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    new: &Tally<'_>,
    bounds: RolloutBounds,
) -> u32 {
    let is_asked_for = noted(view, new.set).is_some_and(|noted| noted != i64::from(bounds.desired));
    if is_asked_for || new.wanted >= bounds.desired {
        return bounds.desired;
    }
    let room = bounds.most().saturating_sub(group.occupied());
    bounds.desired.min(new.wanted.saturating_add(room))
}

/// Returns the number of the only set with Machines: all of them. Machines of other sets, and its own in deletion,
/// count against it while they exist, and under Recreate none is created before they are gone.
fn alone(group: &SetGroup<'_>, only: &Tally<'_>, strategy: Strategy, bounds: RolloutBounds) -> u32 {
    let others = group.all().filter(|tally| tally.set.uid != only.set.uid);
    let room = match sum(others.map(|tally| tally.occupied)) {
        0 => bounds.most(),
        _ if strategy == Strategy::Recreate => 0,
        others => bounds.most().saturating_sub(others.saturating_add(only.going)),
    };
    bounds.desired.min(room.max(only.wanted))
}

/// Removes the surplus, and returns the rest that could not be removed: available Machines stay while they are needed.
///
/// Machines that the autoscaler has marked go first, in any set; then each set in proportion; then unavailable ones of
/// any set; then any that can be spared.
pub(crate) fn shrink(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    bounds: RolloutBounds,
    targets: &mut Targets,
    spare: &mut u32,
) -> u32 {
    let mut left = group.wanted().saturating_sub(bounds.most());
    let active = group.active();
    let shares: Vec<u32> = active.iter().map(|tally| share(view, tally, bounds)).collect();
    for tally in &active {
        let marked = tally.leading(targets.get(tally), |cost| cost == Cost::Marked);
        left -= targets.lower(tally, marked.min(left), spare);
    }
    for (tally, share) in active.iter().zip(shares) {
        let done = tally.wanted - targets.get(tally);
        left -= targets.lower(tally, share.saturating_sub(done).min(left), spare);
    }
    for tally in &active {
        let useless = tally.leading(targets.get(tally), |cost| cost == Cost::Nothing);
        left -= targets.lower(tally, useless.min(left), spare);
    }
    for tally in &active {
        left -= targets.lower(tally, left, spare);
    }
    left
}

/// Returns the share of a set by its size.
fn share(view: &DeploymentView, tally: &Tally<'_>, bounds: RolloutBounds) -> u32 {
    let noted = tally.set.annotations.get(view.names.max_replicas);
    let before = noted.and_then(|text| text.parse::<u32>().ok()).filter(|most| *most > 0);
    let before = u64::from(before.unwrap_or(view.deployment.status.replicas).max(1));
    // To the nearest whole number.
    let keeps = (u64::from(tally.wanted) * u64::from(bounds.most()) * 2 + before) / (before * 2);
    tally.wanted.saturating_sub(u32::try_from(keeps).unwrap_or(u32::MAX))
}
