//! Machines that are preserved, and Nodes that are updated in place.

use jiff::{SignedDuration, Timestamp};
use memory_api::Change;

use super::facts::{Facts, text};
use super::node::NodeFact;
use super::owners;
use super::rules::PROPAGATION;
use crate::rule::Rule;

/// From the moment when a pass looks at its clock until its write arrives.
const RECONCILE_TAKES: SignedDuration = PROPAGATION;

/// A host changes a Machine.
pub(super) fn of_machine(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<(Rule, String)> {
    let uid = text(change.new.or(change.old), "/metadata/uid");
    let machine = facts.machines.get(uid)?;
    let (actor, name) = (change.actor, &machine.name);
    let is_going = |object| !text(object, "/metadata/deletionTimestamp").is_empty();
    if is_going(change.new) && !is_going(change.old) {
        // The deletion of a Node means its Machine.
        let has_joined = machine.set.is_empty() || matches!(machine.phase.as_str(), "Running" | "Unknown");
        let node = facts.node_objects.get(&machine.node);
        let is_asked =
            node.map_or(has_joined, |node| node.is_deleting) || owners::is_asked(facts, uid, machine, now);
        let rule = if machine.kept_until.is_some() { Rule::Preserved } else { Rule::NoUnaskedDelete };
        return (!is_asked)
            .then(|| (rule, format!("{actor} deletes Machine {name}, which nobody asked to go")));
    }
    let until: Option<Timestamp> = text(change.new, "/status/currentStatus/preserveExpiryTime").parse().ok();
    match (machine.kept_until, until) {
        (None, Some(until)) => {
            let (earliest, latest) =
                (now - RECONCILE_TAKES - facts.behind, now + RECONCILE_TAKES + facts.ahead(actor));
            let begun = until - machine.kept_for;
            let is_wrong = begun < earliest || begun > latest;
            is_wrong.then(|| {
                (
                    Rule::Preserved,
                    format!(
                        "{actor} keeps Machine {name} until {until}, and is to for {:#}",
                        machine.kept_for
                    ),
                )
            })
        }
        (Some(before), None) => {
            let (wish, since) = &machine.wish;
            let is_old = since.is_some_and(|since| now.duration_since(since) > PROPAGATION);
            let is_wished = wish == "now"
                && is_old
                && facts.node_objects.get(&machine.node).is_none_or(|node| !node.has_had_wish);
            let is_early = now + facts.ahead(actor) + SignedDuration::from_secs(2) < before;
            (change.new.is_some() && is_wished && is_early && machine.deleting_since.is_none()).then(|| {
                (Rule::Preserved, format!("{actor} ends the preservation of Machine {name} before {before}"))
            })
        }
        (None, None) | (Some(_), Some(_)) => None,
    }
}

/// A host says on a Node how far its update in place is.
pub(super) fn of_node(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    let name = text(change.new, "/metadata/name");
    let before = facts.node_objects.get(name)?;
    let after = NodeFact::learn(change.new?, Some(before), now);
    if after.update == before.update {
        return None;
    }
    let is_old =
        |since: Option<Timestamp>| since.is_some_and(|since| now.duration_since(since) > PROPAGATION);
    let says = |why: String| Some(format!("{} says {} of Node {name}: {why}", change.actor, after.update));
    match after.update.as_str() {
        "SelectedForUpdate" | "DrainSuccessful" if !before.is_selected && is_old(before.selected_since) => {
            says("it is not selected".to_owned())
        }
        "DrainSuccessful" => {
            let mut pods = facts.workload.pods_of(name);
            let (pod, _) = pods.find(|(_, pod)| is_old(Some(pod.bound_since)))?;
            says(format!("pod {pod} is on it"))
        }
        "ReadyForUpdate" => {
            let machine = facts.machines.get(facts.by_node.get(name)?)?;
            let is_handed_over = machine.phase == "InPlaceUpdating";
            if is_handed_over && before.update == "DrainSuccessful" {
                return None;
            }
            says(format!("it was {:?}, and its Machine is {}", before.update, machine.phase))
        }
        _ => None,
    }
}
