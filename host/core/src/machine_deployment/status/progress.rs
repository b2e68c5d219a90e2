//! The status of a deployment: counts, conditions, and whether a rollout makes progress.

use jiff::{SignedDuration, Timestamp};

use crate::machine::Requeue;
use crate::machine::node::health::ConditionStatus;

use super::{DeploymentCondition, DeploymentConditionKind, DeploymentStatus, FailedMachine};
use crate::machine_deployment::conclusion::DeploymentReason;
use crate::machine_deployment::effect::{DeploymentEffect, DeploymentProgress, EffectResult};
use crate::machine_deployment::facts::{DeploymentView, SetStatusFact};
use crate::machine_deployment::plan::Plan;
use crate::machine_deployment::rollout::stage::{RolloutCounts, RolloutStage};
use crate::machine_deployment::sets::freeze;
use crate::machine_deployment::sets::group::{SetGroup, sum};

/// Reasons that other programs read. The autoscaler treats a rollout as finished with the first of them, or when it is
/// paused.
pub mod words {
    pub const COMPLETE: &str = "NewMachineSetAvailable";
    /// A set was made.
    pub const CREATED: &str = "NewMachineSetCreated";
    /// A set of the template existed.
    pub const FOUND: &str = "FoundNewMachineSet";
    pub const UPDATED: &str = "MachineSetUpdated";
    /// There was none for too long.
    pub const LATE: &str = "ProgressDeadlineExceeded";
    /// A set could not be made.
    pub const CREATE_FAILED: &str = "MachineSetCreateError";
    pub const PAUSED: &str = "DeploymentPaused";
    pub const RESUMED: &str = "DeploymentResumed";
    /// Enough Machines are available.
    pub const ENOUGH: &str = "MinimumReplicasAvailable";
    pub const NOT_ENOUGH: &str = "MinimumReplicasUnavailable";
    /// A set is frozen.
    pub const SETS_FROZEN: &str = "MachineDeploymentStateSync";
}

/// Returns the status, and when its progress deadline must be checked.
pub(crate) fn status(
    view: &DeploymentView,
    plan: &Plan,
    progress: &DeploymentProgress,
    now: Timestamp,
) -> (DeploymentStatus, Requeue) {
    let group = SetGroup::of(view, now);
    let before = &view.deployment.status;
    let mut status = counted(view, &group);
    let is_acted_on = plan.has_acted && progress.setback().is_none();
    status.observed_generation =
        if is_acted_on { Some(view.deployment.generation) } else { before.observed_generation };
    status.collision_count = before.collision_count;
    let progressing = if plan.valid.is_some() {
        progressing(view, &group, &status, (plan, progress), now)
    } else {
        before.condition(DeploymentConditionKind::Progressing).cloned()
    };
    let wake = deadline(view, progressing.as_ref(), now);
    let progressing = progressing.map(|condition| in_time(view, condition, now));
    let available = available(plan, &status).map(|said| condition(before, said, now));
    let failure = failure(&group).map(|said| condition(before, said, now));
    let frozen = frozen(view).map(|said| condition(before, said, now));
    let available = available.or_else(|| before.condition(DeploymentConditionKind::Available).cloned());
    status.conditions = [available, frozen, progressing, failure].into_iter().flatten().collect();
    (status, wake)
}

/// Returns whether there was no progress for too long.
pub(crate) fn is_late(status: &DeploymentStatus) -> bool {
    status
        .condition(DeploymentConditionKind::Progressing)
        .is_some_and(|condition| condition.reason == words::LATE)
}

fn counted(view: &DeploymentView, group: &SetGroup<'_>) -> DeploymentStatus {
    let all = |number: fn(&SetStatusFact) -> u32| sum(group.all().map(|tally| number(&tally.set.status)));
    let available = all(|status| status.available);
    let mut failed_machines: Vec<FailedMachine> = group
        .all()
        .flat_map(|tally| {
            let set = &tally.set.name;
            let failed = tally.set.status.failed_machines.iter();
            failed.map(|machine| FailedMachine { set: set.clone(), machine: machine.clone() })
        })
        .collect();
    failed_machines.sort();
    DeploymentStatus {
        observed_generation: view.deployment.status.observed_generation,
        replicas: all(|status| status.replicas),
        updated: group.new.as_ref().map_or(0, |new| new.set.status.replicas),
        ready: all(|status| status.ready),
        available,
        preserved_failed: all(|status| status.preserved_failed),
        unavailable: group.wanted().saturating_sub(available),
        conditions: Vec::new(),
        collision_count: None,
        failed_machines,
    }
}

/// A condition without its times.
struct NewCondition {
    kind: DeploymentConditionKind,
    status: ConditionStatus,
    reason: String,
    message: String,
}

fn said(
    kind: DeploymentConditionKind,
    status: ConditionStatus,
    reason: &str,
    message: impl Into<String>,
) -> NewCondition {
    NewCondition { kind, status, reason: reason.to_owned(), message: message.into() }
}

/// Adds the times of the previous condition, if it is the same.
fn condition(before: &DeploymentStatus, said: NewCondition, now: Timestamp) -> DeploymentCondition {
    let earlier = before.condition(said.kind);
    let same_status = earlier.filter(|earlier| earlier.status == said.status);
    let same = same_status.filter(|earlier| earlier.reason == said.reason);
    DeploymentCondition {
        updated: same.map_or(Some(now), |earlier| earlier.updated),
        since: same_status.map_or(Some(now), |earlier| earlier.since),
        kind: said.kind,
        status: said.status,
        reason: said.reason,
        message: said.message,
    }
}

fn available(plan: &Plan, status: &DeploymentStatus) -> Option<NewCondition> {
    let valid = plan.valid?;
    let bounds = valid.strategy.bounds(valid.desired);
    let needed = bounds.fewest().saturating_sub(status.preserved_failed);
    let kind = DeploymentConditionKind::Available;
    Some(if status.available >= needed {
        said(kind, ConditionStatus::True, words::ENOUGH, "enough Machines are available")
    } else {
        let message = format!("fewer Machines are available than must be ({needed})");
        said(kind, ConditionStatus::False, words::NOT_ENOUGH, message)
    })
}

fn failure(group: &SetGroup<'_>) -> Option<NewCondition> {
    let reported = group.all().find_map(|tally| Some((tally, tally.set.status.failure.as_ref()?)));
    let (tally, (reason, message)) = reported?;
    let message = format!("MachineSet {}: {message}", tally.set.name);
    Some(said(DeploymentConditionKind::ReplicaFailure, ConditionStatus::True, reason, message))
}

fn frozen(view: &DeploymentView) -> Option<NewCondition> {
    let why = freeze::why(view)?;
    Some(said(DeploymentConditionKind::Frozen, ConditionStatus::True, words::SETS_FROZEN, why))
}

/// Returns whether all Machines exist, of the current template only, and this generation was applied.
fn is_complete(view: &DeploymentView, group: &SetGroup<'_>, status: &DeploymentStatus) -> bool {
    let counts = RolloutCounts {
        wanted: u32::try_from(view.deployment.spec.replicas).unwrap_or(u32::MAX),
        updated: status.updated,
        replicas: status.replicas,
        available: status.available,
    };
    let is_observed =
        status.observed_generation.is_some_and(|observed| observed >= view.deployment.generation);
    RolloutStage::of(counts, is_observed) == RolloutStage::Complete && group.has_only_new()
}

fn progressing(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    status: &DeploymentStatus,
    (plan, progress): (&Plan, &DeploymentProgress),
    now: Timestamp,
) -> Option<DeploymentCondition> {
    let before = &view.deployment.status;
    let earlier = before.condition(DeploymentConditionKind::Progressing);
    let reason = earlier.map(|condition| condition.reason.as_str());
    let kind = DeploymentConditionKind::Progressing;
    let say =
        |status, reason, message: String| Some(condition(before, said(kind, status, reason, message), now));
    let afresh = |status, reason, message: String| {
        say(status, reason, message).map(|condition| DeploymentCondition { updated: Some(now), ..condition })
    };
    if view.deployment.spec.is_paused || plan.is_held {
        let why = match (view.deployment.spec.is_paused, plan.reason) {
            (true, _) => "is paused",
            (false, DeploymentReason::WaitingForBudget) => "waits for its disruption budget",
            (false, DeploymentReason::InvalidOption) => "is held since an annotation cannot be understood",
            (false, _) => "waits for its maintenance window",
        };
        return match reason {
            Some(words::LATE) => earlier.cloned(),
            Some(_) | None => say(ConditionStatus::Unknown, words::PAUSED, format!("the deployment {why}")),
        };
    }
    let created = progress.done().find_map(|(effect, done)| match (effect, done) {
        (DeploymentEffect::CreateSet(set), EffectResult::Done) => Some(set),
        (_, EffectResult::Done | EffectResult::Taken(_)) => None,
    });
    if let Some(set) = created {
        return afresh(ConditionStatus::True, words::CREATED, format!("created MachineSet {}", set.name));
    }
    if let Some((DeploymentEffect::CreateSet(set), error)) = progress.setback() {
        let message = format!("failed to create MachineSet {}: {error}", set.name);
        return say(ConditionStatus::False, words::CREATE_FAILED, message);
    }
    let Some(new) = &group.new else { return earlier.cloned() };
    let name = &new.set.name;
    if is_complete(view, group, status) {
        let message = format!("MachineSet {name} has all Machines, and they are available");
        return say(ConditionStatus::True, words::COMPLETE, message);
    }
    if reason == Some(words::COMPLETE) && status.updated == status.replicas && group.has_only_new() {
        return earlier.cloned();
    }
    let fewer_old = |status: &DeploymentStatus| status.replicas.saturating_sub(status.updated);
    let is_further = status.updated > before.updated
        || status.ready > before.ready
        || status.available > before.available
        || fewer_old(status) < fewer_old(before);
    match reason {
        Some(words::PAUSED) => {
            afresh(ConditionStatus::Unknown, words::RESUMED, "the deployment goes on".to_owned())
        }
        None => afresh(ConditionStatus::True, words::FOUND, format!("found MachineSet {name}")),
        // The template differs from the one that was complete.
        Some(words::COMPLETE) => {
            afresh(ConditionStatus::True, words::UPDATED, format!("MachineSet {name} takes over"))
        }
        Some(_) if is_further => {
            afresh(ConditionStatus::True, words::UPDATED, format!("MachineSet {name} makes progress"))
        }
        Some(_) => earlier.cloned(),
    }
}

/// Returns until when there must be progress.
fn limit(view: &DeploymentView, condition: &DeploymentCondition) -> Option<Timestamp> {
    let seconds = view.deployment.spec.progress_deadline_seconds.filter(|seconds| *seconds > 0)?;
    let is_timed = !view.deployment.spec.is_paused
        && !matches!(condition.reason.as_str(), words::COMPLETE | words::LATE | words::PAUSED);
    let since = condition.updated.filter(|_| is_timed)?;
    since.checked_add(SignedDuration::from_secs(i64::from(seconds))).ok()
}

/// One second more, since stored times have no parts of one.
fn deadline(view: &DeploymentView, condition: Option<&DeploymentCondition>, now: Timestamp) -> Requeue {
    let limit = condition.and_then(|condition| limit(view, condition)).filter(|limit| *limit > now);
    limit.map_or(Requeue::Resync, |limit| {
        Requeue::After(limit.duration_since(now).saturating_add(SignedDuration::from_secs(1)))
    })
}

fn in_time(view: &DeploymentView, condition: DeploymentCondition, now: Timestamp) -> DeploymentCondition {
    if limit(view, &condition).is_none_or(|limit| limit > now) {
        return condition;
    }
    let message = format!("no progress since: {}", condition.message);
    DeploymentCondition {
        status: ConditionStatus::False,
        reason: words::LATE.to_owned(),
        message,
        updated: Some(now),
        since: if condition.status == ConditionStatus::False { condition.since } else { Some(now) },
        kind: condition.kind,
    }
}
