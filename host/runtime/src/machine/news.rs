//! What a pass has to tell of its Machine: what it did, what holds from here on, and that this has changed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_core::health::Status;
use machinist_core::machine::{
    Conclusion, ConditionKind, DeletionStage, Effect, Outcome, OwnCondition, Severity, Wake,
};
use machinist_core::phase::Phase;

use crate::events::{About, News};

use super::observe::Observed;
use crate::conditions::READY;

/// An effect that users see and that no condition shows.
pub(super) fn of_deed(observed: &Observed, effect: &Effect, outcome: &Outcome) -> Option<News> {
    let deed = |reason, message| Some(normal(observed, reason, reason, message));
    if let (Effect::RecordVm { provider_id, node_name }, Outcome::RecordVm(Ok(()))) = (effect, outcome) {
        let node = node_name.as_ref().map(|name| format!(", its Node will be {name}")).unwrap_or_default();
        return deed("VmRecorded", format!("VM {provider_id} is recorded{node}"));
    }
    if let (Effect::Cordon { node }, Outcome::Cordon(Ok(()))) = (effect, outcome) {
        return deed("NodeCordoned", format!("Node {node} takes no more pods"));
    }
    if let Outcome::DeleteMachine(Ok(())) = outcome {
        return deed("NodeDeletionFollowed", "the Machine is deleted, since its Node is".to_owned());
    }
    None
}

/// Why the Machine is as it is, and which of its conditions have changed.
pub(super) fn of_conclusion(observed: &Observed, conclusion: &Conclusion) -> Vec<News> {
    let stored = stored(observed, READY);
    let reason = conclusion.reason.as_str();
    let message = crate::events::clip(&conclusion.message, crate::conditions::MESSAGE_BYTES);
    let has_reason = stored.is_some_and(|stored| stored.reason == reason);
    let mut news = vec![News {
        severity: conclusion.reason.severity(),
        repeats: matches!(conclusion.wake, Wake::Retry { .. }),
        is_known: has_reason && stored.is_some_and(|stored| stored.message == message),
        ..normal(observed, "state", reason, conclusion.message.clone())
    }];
    let phase = observed.view.machine.phase;
    if let Some(next) = conclusion.status.phase.filter(|next| *next != phase && has_reason) {
        // The reason is the same as before, so it would not be told.
        let message = format!("{} → {}: {}", word(phase), word(next), conclusion.message);
        news.push(normal(observed, "phase", "PhaseChanged", message));
    }
    let changed = conclusion.status.conditions.iter().filter(|condition| has_changed(observed, condition));
    news.extend(changed.map(|condition| {
        // What the state says already is not told again by the condition that is about the same.
        let is_implied = condition.reason == reason || is_implied(observed, condition);
        News { is_implied, ..of_condition(observed, condition) }
    }));
    news
}

/// What the state's Event says as well: that pods are leaving, and that a Node had none that had to.
fn is_implied(observed: &Observed, condition: &OwnCondition) -> bool {
    let was_waited_for = observed.view.machine.going.left_at == Some(DeletionStage::Drain);
    match (condition.kind, condition.reason) {
        (ConditionKind::Drained, "PodsLeaving") => true,
        (ConditionKind::Drained, "Drained") => !was_waited_for,
        _ => false,
    }
}

fn of_condition(observed: &Observed, condition: &OwnCondition) -> News {
    let is_bad = match condition.kind {
        ConditionKind::Healthy | ConditionKind::Valid => condition.status != Status::True,
        ConditionKind::Contested => condition.status == Status::True,
        ConditionKind::Drained
        | ConditionKind::InPlaceUpdated
        | ConditionKind::Preserved
        | ConditionKind::PolicyObserved => false,
    };
    News {
        severity: if is_bad { Severity::Warning } else { Severity::Normal },
        // Messages count down and list what is left; Events are for what is new.
        same: Some(format!("{:?}", condition.status)),
        ..normal(observed, condition.kind.as_str(), condition.reason, condition.message.clone())
    }
}

fn has_changed(observed: &Observed, condition: &OwnCondition) -> bool {
    let status = match condition.status {
        Status::True => "True",
        Status::False => "False",
        Status::Unknown => "Unknown",
    };
    let stored = stored(observed, condition.kind.as_str());
    stored.is_none_or(|stored| stored.reason != condition.reason || stored.status != status)
}

fn stored<'a>(observed: &'a Observed, kind: &str) -> Option<&'a Condition> {
    let own = observed.machine.status.as_ref()?.machinist.as_ref()?;
    own.conditions.iter().find(|condition| condition.type_ == kind)
}

fn normal(observed: &Observed, topic: &'static str, reason: &'static str, message: String) -> News {
    News::normal(About::of("Machine", &observed.machine.metadata), topic, reason, message)
}

fn word(phase: Phase) -> &'static str {
    if phase == Phase::New { "Creating" } else { phase.as_str() }
}
