//! The next step of a deployment.

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::{Requeue, retry_write};
use crate::scheduling::retry::RetryPolicy;

use super::conclusion::{
    DeploymentConclusion, DeploymentEvent, DeploymentEventKind, DeploymentReason, DeploymentStep,
};
use super::effect::{DeploymentChange, DeploymentEffect, DeploymentProgress, EffectResult, SetKey};
use super::facts::DeploymentView;
use super::plan::{self, Plan};
use super::status::DeploymentStatus;
use super::status::progress;

/// Returns the next step for a deployment. Pure: the same arguments give the same step.
///
/// A reconcile plans once, from its facts, does the batches of its plan one after the other, and ends. The next
/// reconcile sees the results.
pub fn step(view: &DeploymentView, progress: &DeploymentProgress, now: Timestamp) -> DeploymentStep {
    let plan = plan::plan(view, now);
    for batch in &plan.batches {
        let open: Vec<DeploymentEffect> =
            batch.effects.iter().filter(|effect| progress.of(effect).is_none()).cloned().collect();
        if !open.is_empty() {
            return DeploymentStep::Act(open);
        }
        let has_failed = batch.effects.iter().any(|effect| !matches!(progress.of(effect), Some(Ok(_))));
        if batch.is_vital && has_failed {
            let withdrawal = RefusedRollback::of(&plan, progress).map(|refused| refused.withdrawal());
            if let Some(effect) = withdrawal.filter(|effect| progress.of(effect).is_none()) {
                return DeploymentStep::Act(vec![effect]);
            }
            break;
        }
    }
    DeploymentStep::Finish(conclude(view, &plan, progress, now))
}

fn conclude(
    view: &DeploymentView,
    plan: &Plan,
    progress: &DeploymentProgress,
    now: Timestamp,
) -> DeploymentConclusion {
    let mut notes: Vec<DeploymentEvent> =
        progress.done().filter_map(|(effect, done)| note(effect, done)).collect();
    if progress.setback().is_none() {
        notes.extend(plan.notes.iter().cloned());
    }
    notes.extend(withdrawn(plan, progress).map(|refused| refused.note()));
    let (mut status, wake) = progress::status(view, plan, progress, now);
    let ended = ending(view, plan, progress, &mut status);
    let (reason, message) = ended
        .as_ref()
        .map_or((plan.reason, plan.message.clone()), |ended| (ended.reason, ended.message.clone()));
    let is_late = ended.is_none() && progress::is_late(&status) && plan.can_be_late;
    let (reason, message) = if is_late {
        (DeploymentReason::ProgressDeadlineExceeded, late(view, &message))
    } else {
        (reason, message)
    };
    let wake = match ended {
        Some(ended) => ended.wake,
        None if plan.wake == Requeue::Gone => Requeue::Gone,
        None if progress.has_written() => Requeue::Now,
        None => sooner(plan.wake, wake),
    };
    DeploymentConclusion { status, reason, message, notes, wake }
}

fn late(view: &DeploymentView, message: &str) -> String {
    let seconds = view.deployment.spec.progress_deadline_seconds.unwrap_or_default();
    format!(
        "no progress for {seconds} s (spec.progressDeadlineSeconds): {message}; fix what holds it up, or return to the \
         template before with spec.rollbackTo"
    )
}

/// The end of a reconcile that could not do all of its plan.
struct EarlyEnd {
    reason: DeploymentReason,
    message: String,
    wake: Requeue,
}

fn ending(
    view: &DeploymentView,
    plan: &Plan,
    progress: &DeploymentProgress,
    status: &mut DeploymentStatus,
) -> Option<EarlyEnd> {
    if let Some((effect, error)) = progress.setback().or(progress.failure()) {
        if let ActError::Conflict | ActError::Gone = error {
            // Other programs write as well: the planned status counts, and the next reconcile follows within moments.
            return Some(EarlyEnd {
                reason: plan.reason,
                message: plan.message.clone(),
                wake: retry_write(error),
            });
        }
        let reason = match effect {
            DeploymentEffect::CreateSet(_) => DeploymentReason::SetCreateFailed,
            DeploymentEffect::WriteDeployment(_)
            | DeploymentEffect::AdoptSet(_)
            | DeploymentEffect::ReleaseSet(_)
            | DeploymentEffect::WriteSet { .. }
            | DeploymentEffect::DeleteSet(_)
            | DeploymentEffect::WriteMachine { .. }
            | DeploymentEffect::WriteNode { .. } => DeploymentReason::WriteFailed,
        };
        let message = format!("failed to {}: {error}", effect.subject());
        let wake = if withdrawn(plan, progress).is_some() { Requeue::Now } else { retry_write(error) };
        return Some(EarlyEnd { reason, message, wake });
    }
    progress.done().find_map(|(effect, done)| match (effect, done) {
        (DeploymentEffect::CreateSet(set), EffectResult::Taken(by)) => {
            let template = &view.deployment.spec.template;
            let is_it = by.template.makes_the_same_as(template, view.names.template_hash);
            if by.is_own && !by.is_deleting && is_it {
                let message = format!("MachineSet {} is there, and is awaited in the cache", set.name);
                let wake = Requeue::retry(RetryPolicy::CONFLICT);
                return Some(EarlyEnd { reason: plan.reason, message, wake });
            }
            let collisions = view.deployment.status.collision_count.unwrap_or_default().saturating_add(1);
            status.collision_count = Some(collisions);
            let why = match (by.is_own, by.is_deleting) {
                (false, _) => "has that name and is not this deployment's",
                (true, true) => "has that name and is being deleted",
                (true, false) => "has that name and another template",
            };
            let message = format!("MachineSet {} {why}: another name is tried", set.name);
            Some(EarlyEnd { reason: DeploymentReason::SetNameTaken, message, wake: Requeue::Now })
        }
        (_, EffectResult::Done | EffectResult::Taken(_)) => None,
    })
}

/// An earlier template that the server refuses.
struct RefusedRollback<'a> {
    set: &'a SetKey,
    error: &'a ActError,
}

impl<'a> RefusedRollback<'a> {
    fn of(plan: &'a Plan, progress: &'a DeploymentProgress) -> Option<Self> {
        plan.batches.iter().flat_map(|batch| &batch.effects).find_map(|effect| {
            let DeploymentEffect::WriteDeployment(change) = effect else { return None };
            let set = change.rollback.as_ref()?.as_ref()?;
            let error = progress.of(effect)?.as_ref().err()?;
            matches!(error, ActError::Invalid { .. }).then_some(Self { set, error })
        })
    }

    /// Returns the write that removes the request for it. A retry would block everything else until somebody notices.
    fn withdrawal(&self) -> DeploymentEffect {
        let change = DeploymentChange { rollback: Some(None), ..DeploymentChange::default() };
        DeploymentEffect::WriteDeployment(change)
    }

    fn is_withdrawn(&self, progress: &DeploymentProgress) -> bool {
        matches!(progress.of(&self.withdrawal()), Some(Ok(_)))
    }

    fn note(&self) -> DeploymentEvent {
        let Self { set, error } = self;
        let message = format!(
            "cannot roll back to the template of MachineSet {}: {error}; write the template that is wanted",
            set.name
        );
        DeploymentEvent { kind: DeploymentEventKind::RollbackRevisionNotFound, message }
    }
}

fn withdrawn<'a>(plan: &'a Plan, progress: &'a DeploymentProgress) -> Option<RefusedRollback<'a>> {
    RefusedRollback::of(plan, progress).filter(|refused| refused.is_withdrawn(progress))
}

fn note(effect: &DeploymentEffect, done: &EffectResult) -> Option<DeploymentEvent> {
    let (name, from, to) = match effect {
        DeploymentEffect::CreateSet(set) if *done == EffectResult::Done && set.replicas > 0 => {
            (&set.name, 0, set.replicas)
        }
        DeploymentEffect::WriteSet { set, change } => {
            change.replicas.map(|(from, to)| (&set.name, from, to))?
        }
        DeploymentEffect::AdoptSet(set) => {
            let message = format!("adopted MachineSet {}", set.name);
            return Some(DeploymentEvent { kind: DeploymentEventKind::SetClaimed, message });
        }
        DeploymentEffect::ReleaseSet(set) => {
            let message = format!("released MachineSet {}, which is not selected any more", set.name);
            return Some(DeploymentEvent { kind: DeploymentEventKind::SetClaimed, message });
        }
        DeploymentEffect::CreateSet(_)
        | DeploymentEffect::WriteDeployment(_)
        | DeploymentEffect::DeleteSet(_)
        | DeploymentEffect::WriteMachine { .. }
        | DeploymentEffect::WriteNode { .. } => return None,
    };
    let way = if to > from { "up" } else { "down" };
    Some(DeploymentEvent {
        kind: DeploymentEventKind::ScalingSet,
        message: format!("Scaled {way} machine set {name} to {to}"),
    })
}

/// Returns the earlier of two requeues, of which neither is at once.
pub(super) fn sooner(one: Requeue, other: Requeue) -> Requeue {
    match (one, other) {
        (Requeue::After(one), Requeue::After(other)) => Requeue::After(one.min(other)),
        (Requeue::Resync, other) => other,
        (one, _) => one,
    }
}
