//! What policies make of a Machine that has joined: who has to be asked, what one that holds or reboots changes, and what those
//! that only observe would have done.
//!
//! The phases and their clocks are those of `join`, whoever calls a Machine sick.

use jiff::{SignedDuration, Timestamp};

use crate::gate::{EffectKind, permits};
use crate::health::{self, Cause, READY, Status};
use crate::phase::Phase;
use crate::policy::{Action, Health, Judge, Judgement, Mode, Opinion, RebootStep, judge};

use super::conclusion::{Conclusion, ConditionKind, OwnCondition, Reason, Step, Wake, elapsed};
use super::effect::{Effect, Progress};
use super::join;
use super::step::{rest, retry_write, write_failed};
use super::view::{DriverFact, MachineView, TargetFact};

/// The life of a Machine with a VM, as policies see it.
pub(super) fn step(view: &MachineView, progress: &Progress, now: Timestamp) -> Step {
    if !view.policies.is_any() || !is_asked_about(view) {
        return told_no_more(view, join::step(view, progress, now));
    }
    if !view.policies.to_ask.is_empty() {
        match &progress.opinions {
            None => return Step::act(Effect::AskPolicies),
            Some(Ok(_)) => {}
            // Nothing is concluded from a silence that is ours.
            Some(Err(error)) => {
                let message = format!("failed to ask the policies: {error}");
                return rest(Reason::PolicyUnheard, message, retry_write(error));
            }
        }
    }
    let judgement = judgement(view, progress);
    let step = judged(view, &judgement, progress, now);
    observed(view, &judgement, progress, held_until(step, &judgement, now))
}

/// What was said about the Machine: answers that still hold, and those of this pass.
pub(super) fn opinions(view: &MachineView, progress: &Progress) -> Vec<Opinion> {
    if !is_asked_about(view) {
        return Vec::new();
    }
    let fresh = progress.opinions.iter().flat_map(|asked| asked.iter().flatten());
    view.policies.opinions.iter().chain(fresh).cloned().collect()
}

/// Machines that have joined. Before that their creation is what is watched, later their end or their update.
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

fn judgement(view: &MachineView, progress: &Progress) -> Judgement {
    let built_in = match view.node() {
        Some(node) => health::verdict(&node.conditions, &view.settings.must_be_false),
        None => health::Verdict::Unhealthy { because: vec![Cause { kind: READY.to_owned(), status: None }] },
    };
    judge(&built_in, &opinions(view, progress))
}

fn judged(view: &MachineView, judgement: &Judgement, progress: &Progress, now: Timestamp) -> Step {
    let Judge::Policy(policy) = &judgement.judge else { return join::step(view, progress, now) };
    match &judgement.health {
        // A Node that is gone is nobody's idea of healthy; a policy that says so holds.
        Health::Healthy if view.node().is_none() => {
            let because = format!("policy {policy} says healthy, though the Node is gone");
            undecided(view, &because, progress, now)
        }
        Health::Healthy => join::step(view, progress, now),
        Health::Undecided { because } => {
            undecided(view, &format!("policy {policy} holds: {because}"), progress, now)
        }
        Health::Unhealthy { because, action } => match (action, view.machine.phase) {
            // The phase comes first: what is done about a Machine is done while it is known to be unhealthy.
            (Action::Replace, _) | (Action::None | Action::Reboot, Phase::Running | Phase::Failed) => {
                join::step(view, progress, now)
            }
            (Action::None, _) => {
                let message = format!("policy {policy} waits: {because}");
                instead(without_clock(view, progress, now), Reason::NodeUnhealthy, message)
            }
            (Action::Reboot, _) => rebooted(view, &format!("policy {policy}: {because}"), progress, now),
        },
    }
}

/// The Machine keeps its phase.
fn undecided(view: &MachineView, because: &str, progress: &Progress, now: Timestamp) -> Step {
    let message =
        format!("it is not decided whether the Machine is healthy, and it is not failed: {because}");
    if view.machine.phase == Phase::Running && view.node().is_none() {
        return rest(Reason::PolicyHolds, message, Wake::Resync);
    }
    instead(without_clock(view, progress, now), Reason::PolicyHolds, message)
}

/// As if the Machine could be unhealthy for ever: everything else goes on.
fn without_clock(view: &MachineView, progress: &Progress, now: Timestamp) -> Step {
    let mut patient = view.clone();
    patient.settings.health_timeout = None;
    join::step(&patient, progress, now)
}

/// The same end with other words, unless something else is worth more words.
fn instead(step: Step, reason: Reason, message: String) -> Step {
    let Step::Finish(mut conclusion) = step else { return step };
    let is_about_health =
        matches!(conclusion.reason, Reason::NodeUnhealthy | Reason::NodeMissing | Reason::NodeHealthy);
    if conclusion.status.phase.is_none() && is_about_health {
        // What `join` says of the time-out is not so: it was asked as if there were none.
        let health = |condition: &&mut OwnCondition| {
            condition.kind == ConditionKind::Healthy && condition.status != Status::True
        };
        for condition in conclusion.status.conditions.iter_mut().filter(health) {
            condition.message.clone_from(&message);
        }
        conclusion.reason = reason;
        conclusion.message = message;
    }
    Step::Finish(conclusion)
}

fn rebooted(view: &MachineView, because: &str, progress: &Progress, now: Timestamp) -> Step {
    let waits = |why: &str| {
        let message = format!("the VM is to be started anew ({because}), and {why}");
        instead(without_clock(view, progress, now), Reason::PolicyHolds, message)
    };
    if !permits(view.gate, EffectKind::Reboot) {
        return waits("that is held while the host is frozen");
    }
    if !can_reboot(view) {
        return waits("its driver cannot do that");
    }
    if progress.note_reboot.is_none() {
        return match view.policies.reboots.next(now) {
            RebootStep::Reboot(reboots) => Step::act(Effect::NoteReboot(reboots)),
            RebootStep::NotBefore(time) => {
                let at = time.round(jiff::Unit::Second).unwrap_or(time);
                let step = waits(&format!("was started anew not long ago: not again before {at}"));
                sooner(step, elapsed(now, time) + SignedDuration::from_secs(1))
            }
        };
    }
    if let Some(Err(error)) = &progress.note_reboot {
        return write_failed(Reason::RebootFailed, "write down that the VM is started anew", error);
    }
    match &progress.reboot {
        None => Step::act(Effect::RebootVm),
        Some(Ok(())) => {
            let message = format!("the VM was started anew: {because}");
            instead(without_clock(view, progress, now), Reason::VmRebooted, message)
        }
        Some(Err(error)) => {
            let message = format!("failed to start the VM anew ({because}): {error}");
            instead(without_clock(view, progress, now), Reason::RebootFailed, message)
        }
    }
}

/// Whether the driver that serves can start VMs anew.
fn can_reboot(view: &MachineView) -> bool {
    match &view.driver {
        DriverFact::Ready(facts) => facts.capabilities.reboot,
        DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Substitute { .. } => false,
    }
}

/// Back when the first opinion ends.
fn held_until(step: Step, judgement: &Judgement, now: Timestamp) -> Step {
    match judgement.holds_until {
        // One second more, so that it has ended when the pass comes.
        Some(until) => sooner(step, elapsed(now, until) + SignedDuration::from_secs(1)),
        None => step,
    }
}

fn sooner(step: Step, after: SignedDuration) -> Step {
    let Step::Finish(mut conclusion) = step else { return step };
    conclusion.wake = match conclusion.wake {
        Wake::Resync => Wake::After(after),
        Wake::After(own) => Wake::After(own.min(after)),
        other @ (Wake::Now | Wake::Retry { .. } | Wake::Gone) => other,
    };
    Step::Finish(conclusion)
}

/// Tells what policies that only observe would have done.
fn observed(view: &MachineView, judgement: &Judgement, progress: &Progress, step: Step) -> Step {
    let observe = opinions(view, progress).iter().any(|opinion| opinion.mode == Mode::Observe);
    if !observe {
        return told_no_more(view, step);
    }
    let says = |finding: &crate::policy::Finding| {
        let action = match finding.verdict {
            crate::policy::Verdict::Unhealthy { .. } => format!(", {}", finding.action),
            crate::policy::Verdict::Healthy | crate::policy::Verdict::Unknown => String::new(),
        };
        format!("{} says {}{action}: {}", finding.policy, finding.verdict.as_str(), finding.reason)
    };
    if judgement.observed.is_empty() && !view.policies.is_told {
        // Nothing to take back: that policies agree is not worth a write on each Machine.
        return step;
    }
    let condition = if judgement.observed.is_empty() {
        OwnCondition {
            kind: ConditionKind::PolicyObserved,
            status: Status::False,
            reason: "PolicyAgrees",
            message: "the policies that observe would have decided the same".into(),
        }
    } else {
        let all: Vec<String> = judgement.observed.iter().map(says).collect();
        OwnCondition {
            kind: ConditionKind::PolicyObserved,
            status: Status::True,
            reason: "PolicyWouldDiffer",
            message: format!("nothing was done for it: {}", all.join("; ")),
        }
    };
    with_condition(step, condition)
}

/// What was told of policies that are not there any more is taken back.
fn told_no_more(view: &MachineView, step: Step) -> Step {
    if !view.policies.is_told {
        return step;
    }
    with_condition(
        step,
        OwnCondition {
            kind: ConditionKind::PolicyObserved,
            status: Status::False,
            reason: "NoPolicy",
            message: "no policy observes this Machine at the moment".into(),
        },
    )
}

fn with_condition(step: Step, condition: OwnCondition) -> Step {
    match step {
        Step::Finish(conclusion) => Step::Finish(adding(conclusion, condition)),
        act @ Step::Act(_) => act,
    }
}

fn adding(mut conclusion: Conclusion, condition: OwnCondition) -> Conclusion {
    conclusion.status.conditions.push(condition);
    conclusion
}
