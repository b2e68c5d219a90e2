//! The actions of hosts on Machines that have an owner.

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::labels;
use memory_api::Change;
use serde_json::Value;

use super::super::facts::{Facts, text};
use super::super::machine::MachineFact;
use super::super::rules::PROPAGATION;
use super::facts::{DeploymentFact, SetFact, controller};
use crate::rule::Rule;

/// Whether somebody wants this Machine to go that a host is about to delete: its set does not want it, or is going
/// itself; it has failed; or the autoscaler has chosen it.
pub(in crate::check) fn is_asked(facts: &Facts, uid: &str, machine: &MachineFact, now: Timestamp) -> bool {
    let Some(set) = facts.owners.sets.get(&machine.set) else { return false };
    let is_given_up =
        machine.phase == "Failed" && machine.kept_until.is_none_or(|until| until <= now + facts.skew());
    set.deleting_since.is_some()
        || is_given_up
        || is_marked(set, machine)
        || (machine.is_exhausted && may_move(facts, set))
        || is_surplus(facts, uid, machine, set, now)
}

fn is_marked(set: &SetFact, machine: &MachineFact) -> bool {
    machine.marked_at.is_some_and(|marked| set.scaled_down_at.is_some_and(|scaled| marked <= scaled))
}

/// A Machine that the cloud has no capacity for makes way for one of another class.
fn may_move(facts: &Facts, set: &SetFact) -> bool {
    let deployment = facts.owners.deployments.get(&set.deployment);
    deployment.map_or(set.has_alternatives, |deployment| deployment.has_alternatives)
}

/// As many others as are wanted are there, or were until a moment ago.
fn is_surplus(facts: &Facts, uid: &str, machine: &MachineFact, set: &SetFact, now: Timestamp) -> bool {
    let was_there = |other: &MachineFact| {
        let went = other.deleting_since.filter(|_| !other.is_taken);
        other.is_living() || went.is_some_and(|went| now.duration_since(went) <= PROPAGATION)
    };
    let others = facts.machines.iter().filter(|(other, fact)| {
        *other != uid && fact.set == machine.set && !fact.is_labelled_updated && was_there(fact)
    });
    others.count() >= set.wanted.since(now - PROPAGATION).min().unwrap_or_default()
}

/// A host makes or deletes a Machine that a set controls.
pub(in crate::check) fn of_machine(
    facts: &Facts,
    change: &Change<'_>,
    now: Timestamp,
) -> Vec<(Rule, String)> {
    let is_going = |object| !text(object, "/metadata/deletionTimestamp").is_empty();
    match (change.old, change.new) {
        (None, Some(made)) => {
            let uid = controller(made);
            let name = text(change.new, "/metadata/name");
            if uid.is_empty() { Vec::new() } else { made_for(facts, &uid, name, change.actor, now) }
        }
        (Some(old), new) if !is_going(Some(old)) && (new.is_none() || is_going(new)) => {
            deleted(facts, text(Some(old), "/metadata/uid"), change.actor, now).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn made_for(facts: &Facts, uid: &str, name: &str, actor: &str, now: Timestamp) -> Vec<(Rule, String)> {
    let is_old =
        |since: Option<Timestamp>| since.is_some_and(|since| now.duration_since(since) > PROPAGATION);
    let owners = &facts.owners;
    let Some(set) = owners.sets.get(uid) else {
        let is_news = owners.gone.get(uid).is_some_and(|gone| !is_old(Some(*gone)));
        let broken = (!is_news)
            .then(|| (Rule::Orphans, format!("{actor} makes Machine {name} for a set that is gone")));
        return broken.into_iter().collect();
    };
    let mut broken = Vec::new();
    let mut says = |rule: Rule, why: String| {
        broken.push((rule, format!("{actor} makes Machine {name} for set {}: {why}", set.name)));
    };
    if is_old(set.deleting_since) {
        says(Rule::Orphans, "it is being deleted".to_owned());
    }
    if is_old(set.frozen_since) {
        says(Rule::Frozen, "it is frozen".to_owned());
    }
    if owners.used_names.contains(&(uid.to_owned(), name.to_owned())) {
        says(Rule::Names, "an earlier Machine had this name".to_owned());
    }
    let is_quiet = |meddled: Option<Timestamp>| meddled.is_none() || is_old(meddled);
    // One that has come from another set a moment ago may not be seen by the pass that fills a gap.
    let is_seen = |other: &&MachineFact| other.came_at.is_none() || is_old(other.came_at);
    let own = facts.machines.values().filter(|other| other.set == uid && other.is_living());
    let live = 1 + own.filter(is_seen).count();
    let wanted = set.wanted.since(now - PROPAGATION).max().unwrap_or_default();
    if is_quiet(set.meddled_at) && (live > wanted || is_old(set.disabled_since)) {
        says(Rule::Surplus, format!("that makes {live}, and {wanted} are wanted"));
    }
    // A host after an outage may create Machines that its set is still to have, before the deployment has written a
    // smaller number.
    let deployment = owners.deployments.get(&set.deployment);
    if let Some(deployment) = deployment.filter(|one| !one.is_meddled(now) && !facts.is_blind(actor, now)) {
        let all = 1 + of_deployment(facts, &set.deployment).filter(|(_, other)| other.is_living()).count();
        let most = deployment.most.since(now - PROPAGATION).max().unwrap_or_default();
        let wanted: usize = sets_of(facts, &set.deployment).map(|(_, set)| set.wanted.last()).sum();
        if all > most.max(wanted) {
            says(
                Rule::Surge,
                format!("that makes {all} of deployment {}, and there may be {most}", deployment.name),
            );
        }
    }
    broken
}

/// A Machine that was of use goes, and is not the one that was chosen, or too few are left.
fn deleted(facts: &Facts, uid: &str, actor: &str, now: Timestamp) -> Option<(Rule, String)> {
    let machine = facts.machines.get(uid)?;
    let set = facts.owners.sets.get(&machine.set)?;
    if set.leaves_since.is_some_and(|since| now.duration_since(since) > PROPAGATION) {
        let detail =
            format!("{actor} deletes Machine {} although its set {} leaves it", machine.name, set.name);
        return Some((Rule::Orphans, detail));
    }
    let is_given_up = machine.phase == "Failed"
        || facts.node_objects.get(&machine.node).is_none_or(|node| node.is_deleting);
    if set.deleting_since.is_some() || is_given_up || is_marked(set, machine) {
        return None;
    }
    chosen(facts, uid, (machine, set), actor, now).or_else(|| {
        let deployment = facts.owners.deployments.get(&set.deployment)?;
        if let Some(too_many) = disruptions(machine, deployment, now) {
            return Some((
                Rule::Disruptions,
                format!("{actor} deletes Machine {} of set {}: {too_many}", machine.name, set.name),
            ));
        }
        let too_few = availability(facts, uid, (set, deployment), now).filter(|_| machine.is_available())?;
        Some((
            Rule::Availability,
            format!("{actor} deletes Machine {} of set {}: {too_few}", machine.name, set.name),
        ))
    })
}

/// The autoscaler had chosen another one before the set was to want fewer.
fn chosen(
    facts: &Facts,
    uid: &str,
    (machine, set): (&MachineFact, &SetFact),
    actor: &str,
    now: Timestamp,
) -> Option<(Rule, String)> {
    if machine.marked_since.is_some() || machine.kept_until.is_some() {
        return None;
    }
    let is_chosen = |other: &MachineFact| {
        let was_first =
            other.marked_since.is_some_and(|marked| set.lowered_at.is_some_and(|lowered| marked <= lowered));
        was_first && other.is_living() && other.kept_until.is_none() && !other.is_labelled_updated
    };
    let others = || facts.machines.iter().filter(|(other, fact)| *other != uid && fact.set == machine.set);
    let chosen: Vec<&MachineFact> =
        others().map(|(_, other)| other).filter(|other| is_chosen(other)).collect();
    let other = chosen.first()?;
    // Where all of them are too many, all go at once, and it does not matter whose end comes through first. A set may
    // be doing what was wanted a moment ago, and may not know yet that somebody has deleted one.
    let is_news = |since: Timestamp| now.duration_since(since) <= PROPAGATION;
    let left =
        others().filter(|(_, other)| other.is_living() || other.deleting_since.is_some_and(is_news)).count();
    let wanted = set.wanted.since(now - PROPAGATION).min().unwrap_or_default();
    if left >= wanted + chosen.len() {
        return None;
    }
    let detail = format!("{actor} deletes Machine {}, and the autoscaler chose {}", machine.name, other.name);
    Some((Rule::Chosen, detail))
}

/// From when a Machine is let go until it is deleted, by a host that comes after one that has ended.
const LET_GO_TAKES: SignedDuration = SignedDuration::from_mins(5);

/// More have gone than the budget allows within its time, while neither the budget nor the number was another one, nor
/// how many there may be beyond it.
fn disruptions(machine: &MachineFact, deployment: &DeploymentFact, now: Timestamp) -> Option<String> {
    let (most, minutes) = deployment.budget.last().filter(|_| machine.is_disrupted())?;
    let within = SignedDuration::from_mins(minutes);
    let since = now - within - PROPAGATION;
    let has_one_budget = deployment.budget.since(since).count() == 1
        && deployment.desired.since(since).count() == 1
        && deployment.most.since(since).count() == 1
        && !deployment.recreates.since(since).any(|recreates| recreates)
        && deployment.deleting_since.is_none()
        && deployment.meddled_at.is_none_or(|meddled| meddled < since);
    let begin = now - within + LET_GO_TAKES;
    let gone = 1 + deployment.disrupted.iter().filter(|gone| **gone > begin).count();
    (has_one_budget && gone > most).then(|| format!("it is the {gone}th within {minutes} minutes, of {most}"))
}

/// Too few available Machines would be left without this one. Removals by others since the set was to want fewer are
/// not the host's doing.
fn availability(
    facts: &Facts,
    uid: &str,
    (set, deployment): (&SetFact, &DeploymentFact),
    now: Timestamp,
) -> Option<String> {
    let since = set.lowered_at.unwrap_or(now) - PROPAGATION;
    let is_in_order = deployment.deleting_since.is_none()
        && !deployment.recreates.since(since).any(|recreates| recreates)
        && deployment.meddled_at.is_none_or(|meddled| meddled < since);
    if !is_in_order {
        return None;
    }
    let machines: Vec<_> = of_deployment(facts, &set.deployment).collect();
    let was_available = |other: &MachineFact| {
        let is_out = facts.node_of(other).is_some_and(super::super::node::NodeFact::is_out_of_service);
        let fell = other.fell.filter(|_| !other.is_taken);
        (other.is_available() && !is_out) || fell.is_some_and(|fell| fell > since)
    };
    let others = machines.iter().filter(|(other, fact)| *other != uid && was_available(fact)).count();
    let lost = facts.owners.lost.iter().filter(|(of, fell)| *of == set.deployment && *fell > since).count();
    let kept =
        machines.iter().filter(|(_, other)| other.phase == "Failed" && other.kept_until.is_some()).count();
    let fewest = deployment.fewest.since(since).min().unwrap_or_default().saturating_sub(kept);
    let left = others + lost;
    (left < fewest)
        .then(|| format!("{left} available ones of deployment {} are left of {fewest}", deployment.name))
}

/// A host selects a Node for an update in place.
pub(in crate::check) fn of_node(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    let is_selected = |object: Option<&Value>| {
        object.is_some_and(|node| node["metadata"]["labels"][labels::SELECTED_FOR_UPDATE] == "true")
    };
    if !is_selected(change.new) || is_selected(change.old) {
        return None;
    }
    let node = text(change.new, "/metadata/name");
    let uid = facts.by_node.get(node)?;
    let machine = facts.machines.get(uid).filter(|machine| machine.is_available())?;
    let set = facts.owners.sets.get(&machine.set)?;
    let deployment = facts.owners.deployments.get(&set.deployment)?;
    // It is decided and done in one pass.
    let fresh = SetFact { lowered_at: None, ..set.clone() };
    let too_few = availability(facts, uid, (&fresh, deployment), now)?;
    Some(format!("{} selects Node {node} for an update: {too_few}", change.actor))
}

/// The Machines of a deployment's sets, by uid.
pub(super) fn of_deployment<'a>(
    facts: &'a Facts,
    deployment: &'a str,
) -> impl Iterator<Item = (&'a String, &'a MachineFact)> {
    let is_its =
        move |set: &String| facts.owners.sets.get(set).is_some_and(|set| set.deployment == deployment);
    facts.machines.iter().filter(move |(_, machine)| is_its(&machine.set))
}

pub(super) fn sets_of<'a>(
    facts: &'a Facts,
    deployment: &'a str,
) -> impl Iterator<Item = (&'a String, &'a SetFact)> {
    let is_its = move |set: &SetFact| set.deployment == deployment && set.deleting_since.is_none();
    facts.owners.sets.iter().filter(move |(_, set)| is_its(set))
}
