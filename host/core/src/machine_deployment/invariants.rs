//! Rules that always hold. Tests, assertions and the simulator use the same functions.

use jiff::Timestamp;

use crate::machine::Requeue;
use crate::scheduling::gate::permits;

use super::conclusion::DeploymentConclusion;
use super::effect::{DeploymentEffect, DeploymentProgress, MachineChange};
use super::facts::{DeploymentView, SetOwner};
use super::rollout::targets::Targets;
use super::sets::group::{SetGroup, sum};
use super::validity::validity;

/// A rule that a step has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeploymentViolation {
    /// A reconcile without an end.
    #[error("a batch has no effects")]
    EmptyBatch,
    /// An effect is repeated: its outcome is known.
    #[error("an effect is done twice in one pass")]
    Repeated,
    /// The gate forbids it.
    #[error("a frozen gate is passed")]
    Frozen,
    /// Somebody else controls it.
    #[error("a set is touched that is not the deployment's")]
    ForeignSet,
    /// The spec is invalid.
    #[error("a set is created or scaled although the spec cannot be understood")]
    Invalid,
    /// Sets and Machines would be left behind.
    #[error(
        "the finalizer is released before all sets are gone, or a set is created without it or during deletion"
    )]
    Orphaned,
    /// More Machines than the deployment allows could exist at a time.
    #[error("a set grows although there could be more Machines than replicas and surge")]
    AboveSurge,
    /// Fewer available Machines than the deployment promises could be left.
    #[error("sets shrink although there could be fewer available Machines than must be")]
    BelowAvailability,
    /// Pods would have nowhere to go.
    #[error("more Nodes are selected for an update in place than can be spared")]
    TooManySelected,
    /// Old ones are there.
    #[error("a set is created or grows by Recreate while Machines of another template are there")]
    NotGone,
    /// A Machine that the autoscaler wants to delete is not marked.
    #[error("a set shrinks before the Machines to delete are marked")]
    Unmarked,
    /// The deployment would never be reconciled again.
    #[error("a deployment that is not gone has no wake-up")]
    NoWake,
    /// The next reconcile would follow at once and see the same.
    #[error("a pass follows at once although nothing has changed")]
    HotLoop,
}

/// Returns the rule that a batch breaks, if any.
pub fn batch(
    view: &DeploymentView,
    progress: &DeploymentProgress,
    effects: &[DeploymentEffect],
    now: Timestamp,
) -> Result<(), DeploymentViolation> {
    if effects.is_empty() {
        return Err(DeploymentViolation::EmptyBatch);
    }
    let mut rest = effects;
    while let Some((first, others)) = rest.split_first() {
        if others.contains(first) || progress.of(first).is_some() {
            return Err(DeploymentViolation::Repeated);
        }
        rest = others;
    }
    if effects.iter().any(|effect| !permits(view.gate, effect.kind())) {
        return Err(DeploymentViolation::Frozen);
    }
    effects.iter().try_for_each(|effect| touches(view, effect))?;
    numbers(view, effects, now)
}

/// Checks whose objects are written, and when.
fn touches(view: &DeploymentView, effect: &DeploymentEffect) -> Result<(), DeploymentViolation> {
    let owner = |uid| view.sets.iter().find(|set| set.uid == uid).map(|set| &set.owner);
    let is_deleting = view.deployment.deletion.is_some();
    let is_left = view.sets.iter().all(|set| set.owner != SetOwner::This);
    match effect {
        DeploymentEffect::AdoptSet(set) if owner(set.uid.clone()) != Some(&SetOwner::Nobody) => {
            Err(DeploymentViolation::ForeignSet)
        }
        DeploymentEffect::ReleaseSet(set)
        | DeploymentEffect::DeleteSet(set)
        | DeploymentEffect::WriteSet { set, .. }
            if owner(set.uid.clone()) != Some(&SetOwner::This) =>
        {
            Err(DeploymentViolation::ForeignSet)
        }
        DeploymentEffect::WriteMachine { change: MachineChange::Transfer { to, .. }, .. }
            if owner(to.uid.clone()) != Some(&SetOwner::This) =>
        {
            Err(DeploymentViolation::ForeignSet)
        }
        DeploymentEffect::WriteDeployment(change)
            if change.finalizer == Some(false) && !(is_deleting && is_left) =>
        {
            Err(DeploymentViolation::Orphaned)
        }
        DeploymentEffect::CreateSet(_) | DeploymentEffect::AdoptSet(_) if is_deleting => {
            Err(DeploymentViolation::Orphaned)
        }
        DeploymentEffect::WriteDeployment(_)
        | DeploymentEffect::AdoptSet(_)
        | DeploymentEffect::ReleaseSet(_)
        | DeploymentEffect::CreateSet(_)
        | DeploymentEffect::WriteSet { .. }
        | DeploymentEffect::DeleteSet(_)
        | DeploymentEffect::WriteMachine { .. }
        | DeploymentEffect::WriteNode { .. } => Ok(()),
    }
}

/// Checks the numbers of the sets after the effects.
fn numbers(
    view: &DeploymentView,
    effects: &[DeploymentEffect],
    now: Timestamp,
) -> Result<(), DeploymentViolation> {
    let group = SetGroup::of(view, now);
    let mut targets = Targets::of(&group);
    let mut made = 0;
    for effect in effects {
        match effect {
            DeploymentEffect::CreateSet(set) => made += set.replicas,
            DeploymentEffect::WriteSet { set, change } => {
                let tally = group.staying().find(|tally| tally.set.uid == set.uid);
                if let (Some(tally), Some((_, to))) = (tally, change.replicas) {
                    targets.set(tally, to);
                }
            }
            DeploymentEffect::WriteDeployment(_)
            | DeploymentEffect::AdoptSet(_)
            | DeploymentEffect::ReleaseSet(_)
            | DeploymentEffect::DeleteSet(_)
            | DeploymentEffect::WriteMachine { .. }
            | DeploymentEffect::WriteNode { .. } => {}
        }
    }
    let creates = effects.iter().any(|effect| matches!(effect, DeploymentEffect::CreateSet(_)));
    let changes: Vec<_> = targets.changes(&group).collect();
    let selected = effects.iter().filter(|effect| selects(effect)).count();
    if changes.is_empty() && !creates && selected == 0 {
        return Ok(());
    }
    let Ok(valid) = validity(view) else { return Err(DeploymentViolation::Invalid) };
    let bounds = valid.strategy.bounds(valid.desired);
    let is_larger = made > 0 || changes.iter().any(|(tally, to)| *to > tally.wanted.max(tally.live));
    let smaller = || changes.iter().filter(|(tally, to)| *to < tally.wanted);
    if smaller().next().is_some() && !super::trigger::read(view, now).marks.is_empty() {
        return Err(DeploymentViolation::Unmarked);
    }
    let is_recreate = valid.strategy == super::rollout::strategy::Strategy::Recreate;
    // While the rollout waits for a window, numbers are followed as in a paused deployment.
    let is_paused = view.deployment.spec.is_paused || super::rollout::window::held(view, now).is_some();
    if is_larger && is_recreate && !is_paused && !group.has_only_new() {
        return Err(DeploymentViolation::NotGone);
    }
    let is_alone = group.active().len() <= 1 && (is_paused || group.has_only_new());
    if is_alone {
        return Ok(());
    }
    // A transfer adds no Machine: it exists already.
    let moved = smaller().map(|(tally, to)| tally.wanted - to);
    let gone = smaller().map(|(tally, to)| (tally.wanted - to).min(tally.wanted.saturating_sub(tally.live)));
    let (moved, gone) = (sum(moved), sum(gone));
    let after = group.occupied().saturating_sub(gone.min(moved));
    let raised = changes.iter().map(|(tally, to)| to.saturating_sub(tally.live.max(tally.wanted)));
    let after = after.saturating_add(sum(raised)).saturating_add(made);
    if is_larger && after > bounds.most() {
        return Err(DeploymentViolation::AboveSurge);
    }
    let mut spare = group.spare(bounds, now);
    for (tally, to) in smaller() {
        let fewer = tally.wanted - to;
        if tally.give_up(tally.wanted, fewer, &mut spare) < fewer && !is_recreate {
            return Err(DeploymentViolation::BelowAvailability);
        }
    }
    if selected > super::sets::group::size(spare) {
        return Err(DeploymentViolation::TooManySelected);
    }
    Ok(())
}

fn selects(effect: &DeploymentEffect) -> bool {
    matches!(effect, DeploymentEffect::WriteNode { change, .. } if change.selected == Some(true))
}

/// Returns the rule that the end of a reconcile breaks, if any.
pub fn conclusion(
    view: &DeploymentView,
    progress: &DeploymentProgress,
    conclusion: &DeploymentConclusion,
) -> Result<(), DeploymentViolation> {
    let is_gone =
        view.deployment.deletion.is_some() && view.sets.iter().all(|set| set.owner != SetOwner::This);
    match conclusion.wake {
        Requeue::Gone if !is_gone => Err(DeploymentViolation::NoWake),
        Requeue::Now if !progress.has_written() && conclusion.status == view.deployment.status => {
            Err(DeploymentViolation::HotLoop)
        }
        Requeue::Gone
        | Requeue::Now
        | Requeue::Resync
        | Requeue::After(_)
        | Requeue::Check(_)
        | Requeue::Retry { .. } => Ok(()),
    }
}
