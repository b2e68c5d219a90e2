//! Applies the opinions of health policies to a Machine that has joined, and reports the decisions that observing
//! policies would have made.
//!
//! The phases and their timeouts are those of `join`, with any policy.

use jiff::{SignedDuration, Timestamp};

use crate::health_policy::{Action, Finding, Health, Judge, Judgement, Mode, Opinion, PolicyVerdict, judge};
use crate::machine::node::health::{self, ConditionStatus, READY, UnhealthyCondition};
use crate::value::phase::Phase;

use super::reboot;
use crate::machine::conclusion::{
    MachineConclusion, MachineCondition, MachineConditionKind, MachineReason, MachineStep, Requeue, elapsed,
};
use crate::machine::effect::{MachineEffect, MachineProgress};
use crate::machine::facts::{MachineView, TargetFact};
use crate::machine::join;
use crate::machine::step::{rest, retry_write};

/// The shortest pause before policies are asked again about a failed Machine, however short their answers are valid. A
/// change of its Node requeues it at once.
const OF_FAILED: SignedDuration = SignedDuration::from_mins(1);

/// Returns the next step for a Machine with a VM, with the opinions of policies.
pub(crate) fn step(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    if !view.policies.is_any() || !is_asked_about(view) {
        return no_longer_reported(view, join::step(view, progress, now));
    }
    if !view.policies.to_ask.is_empty() {
        match &progress.opinions {
            None => return MachineStep::act(MachineEffect::AskPolicies),
            Some(Ok(_)) => {}
            // A policy that could not be asked decides nothing.
            Some(Err(error)) => {
                let message = format!("failed to ask the policies: {error}");
                return rest(MachineReason::PolicyUnheard, message, retry_write(error));
            }
        }
    }
    let judgement = judgement(view, progress);
    let step = judged(view, &judgement, progress, now);
    observed(view, &judgement, progress, held_until(view, step, &judgement, now))
}

/// Returns the opinions about the Machine: valid answers, and those of this reconcile.
pub(crate) fn opinions(view: &MachineView, progress: &MachineProgress) -> Vec<Opinion> {
    if !is_asked_about(view) {
        return Vec::new();
    }
    let fresh = progress.opinions.iter().flat_map(|asked| asked.iter().flatten());
    view.policies.opinions.iter().chain(fresh).cloned().collect()
}

/// Returns whether policies are asked about the Machine: after it has joined, and before its deletion or update.
fn is_asked_about(view: &MachineView) -> bool {
    let has_joined = match view.machine.phase {
        Phase::Running | Phase::Unknown => true,
        Phase::Failed => view.machine.provider_id.is_some(),
        Phase::New
        | Phase::Pending
        | Phase::Available
        | Phase::CrashLoopBackOff
        | Phase::Terminating
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => false,
    };
    has_joined && matches!(view.target, TargetFact::Cluster(_))
}

/// Returns the judgement of the Machine, by its Node or its absence.
pub(crate) fn judgement(view: &MachineView, progress: &MachineProgress) -> Judgement {
    let built_in = match view.node() {
        Some(node) => health::verdict(&node.conditions, &view.settings.must_be_false),
        None => health::NodeHealth::Unhealthy {
            because: vec![UnhealthyCondition { kind: READY.to_owned(), status: None }],
        },
    };
    judge(&Health::from(&built_in), &opinions(view, progress))
}

fn judged(
    view: &MachineView,
    judgement: &Judgement,
    progress: &MachineProgress,
    now: Timestamp,
) -> MachineStep {
    let Judge::Policy(policy) = &judgement.judge else { return join::step(view, progress, now) };
    match &judgement.health {
        // A policy that calls a Machine without a Node healthy keeps it in its phase.
        Health::Healthy if view.node().is_none() => {
            let because = format!("policy {policy} says healthy, though the Node is gone");
            undecided(view, &because, progress, now)
        }
        Health::Healthy => join::step(view, progress, now),
        Health::Undecided { because } => {
            undecided(view, &format!("policy {policy} holds: {because}"), progress, now)
        }
        Health::Unhealthy { because, action } => match (action, view.machine.phase) {
            // The phase is written first: an action follows while the Machine is known to be unhealthy.
            (Action::Replace, _) | (Action::None | Action::Reboot, Phase::Running) => {
                join::step(view, progress, now)
            }
            // A failed Machine is replaced, or preserved for inspection.
            (Action::None, Phase::Failed) => {
                too_late(join::step(view, progress, now), &format!("policy {policy} would wait: {because}"))
            }
            (Action::Reboot, Phase::Failed) => {
                let request = format!("policy {policy} would have its VM rebooted: {because}");
                too_late(join::step(view, progress, now), &request)
            }
            (Action::None, _) => {
                let message = format!("policy {policy} waits: {because}");
                instead(without_clock(view, progress, now), MachineReason::PolicyHolds, message)
            }
            (Action::Reboot, _) => reboot::step(view, &format!("policy {policy}: {because}"), progress, now),
        },
    }
}

/// The Machine keeps its phase.
fn undecided(view: &MachineView, because: &str, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    if view.machine.phase == Phase::Failed {
        return too_late(join::step(view, progress, now), because);
    }
    let message =
        format!("it is not decided whether the Machine is healthy, and it is not failed: {because}");
    if view.machine.phase == Phase::Running && view.node().is_none() {
        return rest(MachineReason::PolicyHolds, message, Requeue::Resync);
    }
    instead(without_clock(view, progress, now), MachineReason::PolicyHolds, message)
}

/// Ends a reconcile of a failed Machine for which a policy wants another action than a replacement.
fn too_late(step: MachineStep, request: &str) -> MachineStep {
    let MachineStep::Finish(mut conclusion) = step else { return step };
    if conclusion.status.phase.is_none() {
        conclusion.reason = MachineReason::Failed;
        conclusion.message =
            format!("failed, and stays so until it is replaced or recovers, although {request}");
    }
    MachineStep::Finish(conclusion)
}

/// Returns the step without the health timeout: everything else continues.
pub(crate) fn without_clock(view: &MachineView, progress: &MachineProgress, now: Timestamp) -> MachineStep {
    let mut without_timeout = view.clone();
    without_timeout.settings.health_timeout = None;
    join::step(&without_timeout, progress, now)
}

/// Replaces reason and message of the end, unless the end reports something more important.
pub(crate) fn instead(step: MachineStep, reason: MachineReason, message: String) -> MachineStep {
    let MachineStep::Finish(mut conclusion) = step else { return step };
    let is_about_health = matches!(
        conclusion.reason,
        MachineReason::NodeUnhealthy | MachineReason::NodeMissing | MachineReason::NodeHealthy
    );
    if conclusion.status.phase.is_none() && is_about_health {
        // The text of `join` ignores the timeout: it was called without one.
        let health = |condition: &&mut MachineCondition| {
            condition.kind == MachineConditionKind::Healthy && condition.status != ConditionStatus::True
        };
        for condition in conclusion.status.conditions.iter_mut().filter(health) {
            condition.message.clone_from(&message);
        }
        conclusion.reason = reason;
        conclusion.message = message;
    }
    MachineStep::Finish(conclusion)
}

/// Requeues when the first opinion expires. Opinions about a failed Machine change little, and are asked for seldom.
fn held_until(view: &MachineView, step: MachineStep, judgement: &Judgement, now: Timestamp) -> MachineStep {
    let Some(until) = judgement.holds_until else { return step };
    // One second more, so that it has expired when the reconcile comes.
    let after = elapsed(now, until) + SignedDuration::from_secs(1);
    match view.machine.phase {
        Phase::Failed => sooner(step, after.max(OF_FAILED)),
        Phase::New
        | Phase::Pending
        | Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::Unknown
        | Phase::CrashLoopBackOff
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => sooner(step, after),
    }
}

pub(crate) fn sooner(step: MachineStep, after: SignedDuration) -> MachineStep {
    let MachineStep::Finish(mut conclusion) = step else { return step };
    conclusion.wake = match conclusion.wake {
        Requeue::Resync => Requeue::After(after),
        Requeue::After(own) => Requeue::After(own.min(after)),
        other @ (Requeue::Now | Requeue::Check(_) | Requeue::Retry { .. } | Requeue::Gone) => other,
    };
    MachineStep::Finish(conclusion)
}

/// Reports the decisions that observing policies would have made.
fn observed(
    view: &MachineView,
    judgement: &Judgement,
    progress: &MachineProgress,
    step: MachineStep,
) -> MachineStep {
    let observe = opinions(view, progress).iter().any(|opinion| opinion.mode == Mode::Observe);
    if !observe {
        return no_longer_reported(view, step);
    }
    let says = |finding: &Finding| {
        let action = match finding.verdict {
            PolicyVerdict::Unhealthy { .. } => format!(", {}", finding.action),
            PolicyVerdict::Healthy | PolicyVerdict::Unknown => String::new(),
        };
        format!("{} says {}{action}: {}", finding.policy, finding.verdict.as_str(), finding.reason)
    };
    if judgement.observed.is_empty() && !view.policies.is_reported {
        // Agreement of policies is not worth a write on each Machine.
        return step;
    }
    let condition = if judgement.observed.is_empty() {
        MachineCondition {
            kind: MachineConditionKind::PolicyObserved,
            status: ConditionStatus::False,
            reason: "PolicyAgrees",
            message: "the policies that observe would have decided the same".into(),
        }
    } else {
        let all: Vec<String> = judgement.observed.iter().map(says).collect();
        MachineCondition {
            kind: MachineConditionKind::PolicyObserved,
            status: ConditionStatus::True,
            reason: "PolicyWouldDiffer",
            message: format!("nothing was done for it: {}", all.join("; ")),
        }
    };
    with_condition(step, condition)
}

/// Clears the report about policies that no longer exist.
fn no_longer_reported(view: &MachineView, step: MachineStep) -> MachineStep {
    if !view.policies.is_reported {
        return step;
    }
    with_condition(
        step,
        MachineCondition {
            kind: MachineConditionKind::PolicyObserved,
            status: ConditionStatus::False,
            reason: "NoPolicy",
            message: "no policy observes this Machine at the moment".into(),
        },
    )
}

fn with_condition(step: MachineStep, condition: MachineCondition) -> MachineStep {
    match step {
        MachineStep::Finish(conclusion) => MachineStep::Finish(adding(conclusion, condition)),
        act @ MachineStep::Act(_) => act,
    }
}

fn adding(mut conclusion: MachineConclusion, condition: MachineCondition) -> MachineConclusion {
    conclusion.status.conditions.push(condition);
    conclusion
}
