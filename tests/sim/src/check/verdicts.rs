//! Policies that only observe change nothing: the built-in rule decides.

use jiff::Timestamp;
use memory_api::Change;

use super::facts::{Facts, text};
use super::node::Looks;
use super::rules::PROPAGATION;

/// A host changes the phase of a Machine that has joined.
pub(super) fn of_change(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    // A host that cannot see the Nodes uses their last known state.
    if facts.has_judges || facts.is_blind(change.actor, now) {
        return None;
    }
    let phase = |object| text(object, "/status/currentStatus/phase");
    let (from, to) = (phase(change.old), phase(change.new));
    let machine = facts.machines.get(text(change.new, "/metadata/uid"))?;
    let node = facts.node_of(machine).filter(|node| !node.is_deleting)?;
    let is_old = node.looks_since.is_some_and(|since| now.duration_since(since) > PROPAGATION);
    let is_healthy = node.looks == Looks::Healthy;
    // After an outage of the API server time starts again, whatever Nodes say.
    let is_reset = text(change.new, "/status/lastOperation/description").contains("was reset");
    let is_wrong = match (from, to) {
        ("Running", "Unknown") => is_healthy,
        ("Unknown" | "Failed", "Running") => !is_healthy && !is_reset,
        _ => false,
    };
    (is_wrong && is_old).then(|| {
        let since = node.looks_since.unwrap_or(now);
        format!(
            "{} makes Machine {} {to} although its Node has been {:?} since {since} and no policy decides",
            change.actor, machine.name, node.looks
        )
    })
}
