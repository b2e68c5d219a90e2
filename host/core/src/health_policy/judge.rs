//! Decides which opinion counts.

use jiff::Timestamp;

use crate::value::id::PluginName;

use super::opinion::{Action, Mode, Opinion, PolicyVerdict};

/// The joint opinion of all policies about a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub health: Health,
    pub judge: Judge,
    /// The different decisions that observing policies would have made. Sorted by policy.
    pub observed: Vec<Finding>,
    /// When the first of the opinions expires, so that it is time to ask again. `None`: there are no policies.
    pub holds_until: Option<Timestamp>,
}

/// The health of a Machine, and the action that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    Healthy,
    Unhealthy {
        because: String,
        /// The suggested action. The built-in rule always says [`Action::Replace`].
        action: Action,
    },
    /// Unknown: the Machine stays in its phase, and does not fail.
    Undecided {
        because: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge {
    /// No policy enforces: the built-in rule.
    BuiltIn,
    /// This policy. Of several with the same opinion, the first by name.
    Policy(PluginName),
}

/// The decision that an observing policy would have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub policy: PluginName,
    pub verdict: PolicyVerdict,
    pub action: Action,
    pub reason: String,
}

/// Weighs the opinions. `built_in` is the result of the built-in rule.
///
/// Without an enforcing policy, the built-in rule counts. With some, they count instead of it: one without a verdict
/// blocks any decision; else one that says unhealthy decides, with the mildest action of those that say so; else the
/// Machine is healthy. So each policy can make a Machine unhealthy, and each can block.
pub fn judge(built_in: &Health, opinions: &[Opinion]) -> Judgement {
    let mut sorted: Vec<&Opinion> = opinions.iter().collect();
    sorted.sort_by(|one, other| one.policy.cmp(&other.policy));
    let (health, judge) = decided(built_in, &sorted);
    let observed = sorted
        .iter()
        .filter(|opinion| opinion.mode == Mode::Observe && differs(opinion, &health))
        .map(|opinion| finding(opinion))
        .collect();
    let holds_until = opinions.iter().map(|opinion| opinion.holds_until).min();
    Judgement { health, judge, observed, holds_until }
}

fn decided(built_in: &Health, sorted: &[&Opinion]) -> (Health, Judge) {
    let enforcing: Vec<&Opinion> =
        sorted.iter().copied().filter(|opinion| opinion.mode == Mode::Enforce).collect();
    let Some(first) = enforcing.first() else { return (built_in.clone(), Judge::BuiltIn) };
    if let Some(holding) = enforcing.iter().find(|opinion| opinion.verdict == PolicyVerdict::Unknown) {
        let because = holding.reason.clone();
        return (Health::Undecided { because }, Judge::Policy(holding.policy.clone()));
    }
    let sick = enforcing.iter().filter(|opinion| matches!(opinion.verdict, PolicyVerdict::Unhealthy { .. }));
    // The first of the mildest: `min_by_key` returns the earlier one of equals.
    match sick.min_by_key(|opinion| opinion.action) {
        Some(mildest) => (
            Health::Unhealthy { because: mildest.reason.clone(), action: mildest.action },
            Judge::Policy(mildest.policy.clone()),
        ),
        None => (Health::Healthy, Judge::Policy(first.policy.clone())),
    }
}

fn differs(opinion: &Opinion, health: &Health) -> bool {
    match (opinion.verdict, health) {
        (PolicyVerdict::Healthy, Health::Healthy) | (PolicyVerdict::Unknown, Health::Undecided { .. }) => {
            false
        }
        (PolicyVerdict::Unhealthy { .. }, Health::Unhealthy { action, .. }) => opinion.action != *action,
        (PolicyVerdict::Healthy, Health::Unhealthy { .. } | Health::Undecided { .. })
        | (PolicyVerdict::Unhealthy { .. } | PolicyVerdict::Unknown, Health::Healthy)
        | (PolicyVerdict::Unhealthy { .. }, Health::Undecided { .. })
        | (PolicyVerdict::Unknown, Health::Unhealthy { .. }) => true,
    }
}

fn finding(opinion: &Opinion) -> Finding {
    Finding {
        policy: opinion.policy.clone(),
        verdict: opinion.verdict,
        action: opinion.action,
        reason: opinion.reason.clone(),
    }
}
