//! Not too many Machines are given up at a time, nor those of a zone that is only out of reach.

use jiff::Timestamp;
use memory_api::Change;
use simcloud::VmState;

use super::facts::{Facts, text};
use super::machine::MachineFact;
use super::node::Looks;
use super::rules::PROPAGATION;
use crate::cloud::SimCloud;
use crate::names::{UID_TAG, provider_id};

/// As many of a group may be away: the default.
const LIMIT: usize = 1;

/// So many silent Nodes of a zone, and this share of those in service, make a silent zone: the default.
const SILENT: usize = 2;
const SILENT_PERCENT: usize = 50;

/// A host gives up a Machine that was in service because of its health.
pub(super) fn of_change(
    facts: &Facts,
    cloud: &SimCloud,
    change: &Change<'_>,
    now: Timestamp,
) -> Option<String> {
    let phase = |object| text(object, "/status/currentStatus/phase");
    let is_given_up = phase(change.new) == "Failed"
        && matches!(phase(change.old), "Running" | "Unknown" | "InPlaceUpdateFailed");
    if !is_given_up {
        return None;
    }
    let uid = text(change.new, "/metadata/uid");
    let machine = facts.machines.get(uid)?;
    group(facts, uid, machine, change.actor, now)
        .or_else(|| zone(facts, cloud, uid, machine, change.actor, now))
}

/// A host knows at once which Machines it has failed itself; of everything else it learns later.
fn group(facts: &Facts, uid: &str, machine: &MachineFact, actor: &str, now: Timestamp) -> Option<String> {
    let is_known = |other: &MachineFact| {
        let is_old_news = other.away_since.is_some_and(|since| now.duration_since(since) > PROPAGATION);
        let is_own = other.away_since.is_some() && other.phase == "Failed" && other.failed_by == actor;
        is_old_news || is_own
    };
    let others = facts.machines.iter().filter(|(other, _)| *other != uid);
    let away: Vec<&str> = others
        .filter(|(_, other)| other.group == machine.group && is_known(other))
        .map(|(_, other)| other.name.as_str())
        .collect();
    (away.len() >= LIMIT)
        .then(|| format!("{actor} gives up Machine {} while {} are away", machine.name, away.join(", ")))
}

fn zone(
    facts: &Facts,
    cloud: &SimCloud,
    uid: &str,
    machine: &MachineFact,
    actor: &str,
    now: Timestamp,
) -> Option<String> {
    let others: Vec<&MachineFact> =
        facts.machines.values().filter(|other| other.zone == machine.zone && other.serves()).collect();
    let is_silent = |other: &&MachineFact| {
        let node = facts.node_of(other);
        node.is_some_and(|node| {
            let since = node.looks_since.max(other.phase_since.filter(|_| other.phase == "Running"));
            node.looks == Looks::Silent && since.is_some_and(|since| now.duration_since(since) > PROPAGATION)
        })
    };
    let silent = others.iter().copied().filter(is_silent).count();
    if silent < SILENT || silent * 100 < others.len() * SILENT_PERCENT {
        return None;
    }
    let alive = cloud.look(|vm| {
        let is_its = vm.tags.get(UID_TAG).is_some_and(|tag| tag == uid);
        let is_its = is_its && provider_id(&vm.zone, &vm.id) == machine.provider_id;
        (is_its && matches!(vm.state, VmState::Pending | VmState::Running)).then(|| vm.id.clone())
    });
    (!alive.is_empty()).then(|| {
        format!(
            "{actor} gives up Machine {} although its VM {} is alive and {silent} Nodes of zone {} are silent",
            machine.name,
            alive.join(", "),
            machine.zone
        )
    })
}
