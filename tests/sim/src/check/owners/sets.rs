//! The actions of hosts on sets and deployments.

use jiff::{SignedDuration, Timestamp};
use memory_api::Change;
use serde_json::Value;

use super::super::facts::{Facts, text};
use super::super::machine::MachineFact;
use super::super::rules::PROPAGATION;
use super::facts::{DeploymentFact, SetFact, controller, is_held};
use super::machines::{of_deployment as machines_of, sets_of};
use crate::rule::Rule;

/// From a write of one controller of a host until another one of the same host sees it, where no watch breaks.
const OWN_PROPAGATION: SignedDuration = SignedDuration::from_secs(2);

/// A host changes a deployment.
pub(in crate::check) fn of_deployment(facts: &Facts, change: &Change<'_>) -> Option<(Rule, String)> {
    let uid = text(change.old, "/metadata/uid");
    let is_let_go = change.old.is_some_and(is_held) && !change.new.is_some_and(is_held);
    let sets = &facts.owners.sets;
    let left = sets.values().find(|set| is_let_go && set.deployment == uid)?;
    let name = text(change.old, "/metadata/name");
    Some((
        Rule::Orphans,
        format!("{} releases deployment {name} whose set {} is there", change.actor, left.name),
    ))
}

/// A host makes, changes or deletes a set.
pub(in crate::check) fn of_set(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<(Rule, String)> {
    let object = change.new.or(change.old)?;
    let uid = text(Some(object), "/metadata/uid");
    let name = text(Some(object), "/metadata/name");
    let says = |rule: Rule, what: &str| Some((rule, format!("{} {what}", change.actor)));
    let is_let_go = change.old.is_some_and(is_held) && !change.new.is_some_and(is_held);
    let mut machines = facts.machines.values().filter(|machine| machine.set == uid);
    if is_let_go && let Some(left) = machines.next() {
        return says(Rule::Orphans, &format!("releases set {name} whose Machine {} is there", left.name));
    }
    let deployment_uid = controller(object);
    let deployment = facts.owners.deployments.get(&deployment_uid);
    let is_news = |since: Timestamp| now.duration_since(since) <= PROPAGATION;
    if change.old.is_none() {
        let is_gone = deployment.is_none()
            && !facts.owners.gone.get(&deployment_uid).is_some_and(|gone| is_news(*gone));
        let is_going = deployment.is_some_and(|one| one.deleting_since.is_some_and(|since| !is_news(since)));
        if is_gone || is_going {
            return says(Rule::Orphans, &format!("makes set {name} for a deployment that is gone or going"));
        }
    }
    let deployment = deployment?;
    let is_going = |object: Option<&Value>| !text(object, "/metadata/deletionTimestamp").is_empty();
    if change.old.is_some_and(|old| !is_going(Some(old))) && (change.new.is_none() || is_going(change.new)) {
        return deleted(facts, uid, name, deployment, now).and_then(|(rule, why)| says(rule, &why));
    }
    let wanted =
        |object: Option<&Value>| object.map_or(0, |object| object["spec"]["replicas"].as_u64().unwrap_or(0));
    let (before, after) = (wanted(change.old), wanted(change.new));
    if after <= before {
        return None;
    }
    let after = usize::try_from(after).unwrap_or(usize::MAX);
    let why = raised(facts, (uid, after), (&deployment_uid, deployment), now)?;
    says(Rule::Surge, &format!("lets set {name} want {after} rather than {before}: {why}"))
}

fn deleted(
    facts: &Facts,
    uid: &str,
    name: &str,
    deployment: &DeploymentFact,
    now: Timestamp,
) -> Option<(Rule, String)> {
    if deployment.deleting_since.is_some() {
        let leaves = deployment.leaves_since.is_some_and(|since| now.duration_since(since) > PROPAGATION);
        return leaves
            .then(|| (Rule::Orphans, format!("deletes set {name} although its deployment leaves it")));
    }
    let wanted = facts.owners.sets.get(uid).map_or(0, |set| set.wanted.last());
    let machines = facts.machines.values().filter(|machine| machine.set == uid).count();
    (wanted + machines > 0).then(|| {
        (
            Rule::NoUnaskedDelete,
            format!("deletes set {name}, which wants {wanted} and has {machines} Machines"),
        )
    })
}

/// There could be too many in the course of a rollout. Outside of one the number is followed at once: Machines that are
/// going then do not count.
fn raised(
    facts: &Facts,
    (uid, wanted): (&str, usize),
    (deployment_uid, deployment): (&str, &DeploymentFact),
    now: Timestamp,
) -> Option<String> {
    if deployment.is_meddled(now) || deployment.deleting_since.is_some() {
        return None;
    }
    // A deletion is known after a while, and sooner where a host has requested it: first by its set, and a moment later
    // by the deployment. A Machine whose Node somebody deletes is deleted without such a request.
    let is_known = |machine: &MachineFact| {
        let has_lost_node = facts.node_objects.get(&machine.node).is_none_or(|node| node.is_deleting);
        let takes = if machine.is_taken && !has_lost_node { OWN_PROPAGATION } else { PROPAGATION };
        machine.deleting_since.is_some_and(|since| now.duration_since(since) > takes)
    };
    let of = |set: &str| -> (usize, usize) {
        // One that another set has taken back a moment ago is known to the deployment later.
        let is_seen = |machine: &&MachineFact| {
            set == uid || machine.came_at.is_none_or(|since| now.duration_since(since) > PROPAGATION)
        };
        let its = facts.machines.values().filter(|machine| machine.set == set).filter(is_seen);
        let (live, going): (Vec<_>, Vec<_>) = its.partition(|machine| machine.is_living());
        (live.len(), going.into_iter().filter(|machine| is_known(machine)).count())
    };
    let others: Vec<(&String, &SetFact)> =
        sets_of(facts, deployment_uid).filter(|(other, _)| *other != uid).collect();
    let places = |other: &str, set: &SetFact| {
        let (live, going) = of(other);
        let wanted = if set.disabled_since.is_some() { live } else { set.wanted.last() };
        wanted.max(live) + going
    };
    let old: usize = others.iter().map(|(other, set)| places(other, set)).sum();
    if old == 0 {
        return None;
    }
    if deployment.recreates.since(now - PROPAGATION).all(|recreates| recreates) {
        return Some(format!("{old} of another template are there or going, and Recreate waits for them"));
    }
    let (live, going) = of(uid);
    // It takes note of Machines that it has come to by an update in place: nobody is made for that.
    if wanted <= live {
        return None;
    }
    let all = old + wanted.max(live) + going;
    let most = deployment.most.since(now - PROPAGATION).max().unwrap_or_default();
    let there = machines_of(facts, deployment_uid).count();
    let described = |(other, set): &(&String, &SetFact)| {
        let (live, going) = of(other);
        format!("{} wants {}, has {live} and {going} that go", set.name, set.wanted.last())
    };
    (all > most).then(|| {
        format!(
            "that may make {all} of deployment {}, and there may be {most}; {there} are there: {live} and {going} that go of its \
             own, and {}",
            deployment.name,
            others.iter().map(described).collect::<Vec<_>>().join(", ")
        )
    })
}
