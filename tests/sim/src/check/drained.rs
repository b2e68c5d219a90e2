//! No VM goes from under its pods and volumes, before force.

use jiff::{SignedDuration, Timestamp};
use memory_api::Change;

use super::facts::{Facts, text};
use super::machine::MachineFact;
use super::rules::{PROPAGATION, may_force};
use crate::names::claim_of;
use crate::rule::Rule;

/// The longest time that a volume may stay attached after the deletion of its pod before it is given up: the default.
/// Its pod's grace period comes on top.
const DETACH: SignedDuration = SignedDuration::from_mins(2);

/// A host orders the VM of this Machine away for the first time.
pub(super) fn of_delete(
    facts: &Facts,
    machine: &MachineFact,
    actor: &str,
    now: Timestamp,
) -> Option<(Rule, String)> {
    facts.node_of(machine)?;
    if may_force(facts, machine, actor, now) {
        return None;
    }
    // A pod bound a moment ago may have come after the drain, to a Node that somebody has uncordoned.
    let is_old = |since: Timestamp| now.duration_since(since) > PROPAGATION;
    let name = &machine.name;
    let mut pods = facts.workload.pods_of(&machine.node).filter(|(_, pod)| is_old(pod.bound_since));
    if let Some((pod, _)) = pods.next() {
        return Some((
            Rule::Drained,
            format!("{actor} deletes the VM of Machine {name} with pod {pod} on its Node"),
        ));
    }
    let mut attached = facts.workload.attachments_of(&machine.node);
    let left = attached.find(|(_, one)| {
        let left_at = facts.workload.left_at(&machine.node, &claim_of(&one.volume));
        let waited = left_at.map(|at| now.duration_since(at) + facts.skew());
        one.is_attached && is_old(one.made) && waited.is_some_and(|waited| waited < DETACH)
    });
    left.map(|(attachment, _)| {
        let detail =
            format!("{actor} deletes the VM of Machine {name} while {attachment} has just begun to leave it");
        (Rule::Volumes, detail)
    })
}

/// A host releases a Node: a detach was requested for each volume that was attached when the deletion of its VM was
/// requested. A host that deletes by force and cannot reach the cluster asks without success, and Kubernetes detaches
/// the rest once the Node is gone.
pub(super) fn of_node(facts: &Facts, change: &Change<'_>) -> Option<String> {
    let node = text(change.old.filter(|_| change.new.is_none()), "/metadata/name");
    let uid = facts.by_node.get(node)?;
    let ordered_away = *facts.ordered_away.get(uid).filter(|_| !facts.ordered_blindly.contains(uid))?;
    let is_left = |made: Timestamp| ordered_away.duration_since(made) > PROPAGATION;
    let mut attachments = facts.workload.attachments_of(node);
    let (left, _) = attachments.find(|(_, one)| !one.is_deleting && !one.is_tried && is_left(one.made))?;
    Some(format!("{} removes Node {node} and leaves {left}, which nobody has asked to go", change.actor))
}
