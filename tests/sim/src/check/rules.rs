//! What must always hold. Plain functions of what is known of the world and of what happens.

use jiff::{SignedDuration, Timestamp};
use machinist_api::names;
use memory_api::Change;
use memory_api::wire::Call;

use super::Rule;
use super::facts::{Facts, text};
use crate::cloud::{SimCloud, UID_TAG};
use crate::hosts::to_target;

/// Caches lag, watches come back after up to half a minute: a host may fail a machine that has been well for less.
const NEWS_TAKE: SignedDuration = SignedDuration::from_mins(2);

/// From the moment when an API server is away until the gate must be closed: the period of the check, its time-out, and one
/// more round because calls in flight may take so long.
const GATE_CLOSES_AFTER: SignedDuration = SignedDuration::from_mins(4);

/// From the request for a deletion until its drain may use force: two hours, less what clocks of hosts are set forth.
const FORCE_AFTER: SignedDuration = SignedDuration::from_mins(110);

/// A VM without a Machine is left alone for so long: the default.
const ORPHAN_AGE: SignedDuration = SignedDuration::from_mins(20);

/// So many listings must have shown it: the default.
const ORPHAN_SIGHTINGS: usize = 3;

/// All actors with this prefix are hosts.
pub(crate) const HOST: &str = "host-";

/// Rules that a change of an object breaks.
pub(super) fn of_change(
    facts: &Facts,
    cloud: &SimCloud,
    change: &Change<'_>,
    now: Timestamp,
) -> Vec<(Rule, String)> {
    if !change.actor.starts_with(HOST) {
        return Vec::new();
    }
    if change.plural == "pods" {
        return budget(facts, change, now).map(|detail| (Rule::Budget, detail)).into_iter().collect();
    }
    if change.plural != "machines" {
        return Vec::new();
    }
    let finalizer = finalizer_last(cloud, change).map(|detail| (Rule::FinalizerLast, detail));
    let health = healthy_stays(facts, change, now).map(|detail| (Rule::HealthyStays, detail));
    finalizer.into_iter().chain(health).collect()
}

fn finalizer_last(cloud: &SimCloud, change: &Change<'_>) -> Option<String> {
    let old = change.old?;
    let is_held = |object: &serde_json::Value| {
        let finalizers = object["metadata"]["finalizers"].as_array();
        finalizers.is_some_and(|all| all.iter().any(|name| name == names::finalizers::MACHINE))
    };
    if !is_held(old) || change.new.is_some_and(is_held) {
        return None;
    }
    let vms = cloud.existing(text(Some(old), "/metadata/uid"));
    let name = text(Some(old), "/metadata/name");
    (!vms.is_empty())
        .then(|| format!("{} released Machine {name} whose VM {} is there", change.actor, vms.join(", ")))
}

/// A pod that nobody asked to go yet is deleted without asking its budget only once the drain may use force.
fn budget(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    let pod = change.old?;
    let is_going = |pod: &serde_json::Value| pod["metadata"]["deletionTimestamp"].is_string();
    let is_taken_away = !is_going(pod) && change.new.is_none_or(is_going);
    if change.is_eviction
        || !is_taken_away
        || matches!(text(Some(pod), "/status/phase"), "Succeeded" | "Failed")
    {
        return None;
    }
    let budget = facts.budgets.values().find(|budget| memory_api::covers(budget, pod))?;
    let node = text(Some(pod), "/spec/nodeName");
    let machine = facts.by_node.get(node).and_then(|uid| facts.machines.get(uid));
    let is_over = |machine: &super::facts::MachineFact| {
        let since = machine.deleting_since;
        machine.is_forced || since.is_some_and(|since| now.duration_since(since) > FORCE_AFTER)
    };
    let is_lost = facts.nodes.get(node).is_none_or(|node| node.fit_since.is_none());
    (!machine.is_some_and(is_over) && !is_lost).then(|| {
        let text = |object, pointer| text(Some(object), pointer).to_owned();
        format!(
            "{} deletes pod {} of Node {node} against its budget {}",
            change.actor,
            text(pod, "/metadata/name"),
            text(budget, "/metadata/name"),
        )
    })
}

fn healthy_stays(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    let phase = |object| text(object, "/status/currentStatus/phase");
    if phase(change.new) != "Failed" || phase(change.old) == "Failed" {
        return None;
    }
    let machine = facts.machines.get(text(change.new, "/metadata/uid"))?;
    let node = facts.nodes.get(&machine.node)?;
    let since = node.fit_since.filter(|_| node.provider_id == machine.provider_id)?;
    let was_fit_for = now.duration_since(since);
    (was_fit_for > NEWS_TAKE).then(|| {
        format!(
            "{} failed Machine {} whose Node has been well for {was_fit_for:#}",
            change.actor, machine.name
        )
    })
}

/// Who does not lead writes nothing but Leases, and calls nobody.
pub(super) fn of_call(facts: &Facts, call: &Call, now: Timestamp) -> Option<String> {
    let is_effect =
        matches!(call.verb, "POST" | "PUT" | "PATCH" | "DELETE" | "CALL") && call.what != "leases";
    let is_broken = is_effect && call.actor.starts_with(HOST) && !facts.leads(&call.actor, now);
    is_broken
        .then(|| format!("{} sent {} {} {} without leading", call.actor, call.verb, call.what, call.name))
}

/// Nothing is made while the API server is away.
pub(super) fn of_create(facts: &Facts, uid: &str, actor: &str, now: Timestamp) -> Option<String> {
    let since = facts.cut_off.get(actor).or_else(|| facts.cut_off.get(&to_target(actor)))?;
    let away_for = now.duration_since(*since);
    (away_for > GATE_CLOSES_AFTER).then(|| {
        format!("{actor} makes a VM for {uid} although the API server has been away for {away_for:#}")
    })
}

/// A VM goes when its Machine does; one without a Machine after several listings have shown it, and not before it is old.
pub(super) fn of_delete(
    facts: &Facts,
    cloud: &SimCloud,
    vm: &str,
    actor: &str,
    now: Timestamp,
) -> Option<String> {
    let view = cloud.find(vm)?;
    let (uid, created) = (view.tags.get(UID_TAG).cloned().unwrap_or_default(), view.created);
    if let Some(machine) = facts.machines.get(&uid) {
        let is_unasked = machine.deleting_since.is_none();
        let name = &machine.name;
        return is_unasked
            .then(|| format!("{actor} deletes VM {vm} of Machine {name}, which nobody asked to go"));
    }
    let ahead = facts.ahead.get(actor).copied().unwrap_or_default();
    let age = now.duration_since(created) + ahead;
    // In order of time, and many in a week.
    let listings = facts.listings.len() - facts.listings.partition_point(|at| *at < created);
    (age < ORPHAN_AGE || listings < ORPHAN_SIGHTINGS)
        .then(|| format!("{actor} deletes VM {vm} of no Machine after {age:#} and {listings} listings"))
}
