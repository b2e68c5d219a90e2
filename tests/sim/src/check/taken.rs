//! Names of Nodes that are taken by others.

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::annotations;
use memory_api::Change;
use serde_json::{Map, Value};

use super::facts::{Facts, text};

/// The pauses between two of a group are a minute, then two, then four: there are never more within this time.
const MOST: usize = 3;
const WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// A Machine that was failed for the name of its Node.
#[derive(Debug)]
struct Given {
    family: String,
    uid: String,
    actor: String,
    at: Timestamp,
}

#[derive(Debug, Default)]
pub(crate) struct NamesTaken(Vec<Given>);

impl NamesTaken {
    pub(super) fn learn(&mut self, family: &str, uid: &str, actor: &str, at: Timestamp) {
        let (family, uid, actor) = (family.to_owned(), uid.to_owned(), actor.to_owned());
        self.0.push(Given { family, uid, actor, at });
    }
}

/// A change fails a Machine for the name of its Node.
pub(super) fn is_given_up(change: &Change<'_>) -> bool {
    let has_failed = |object: Option<&Value>| text(object, "/status/currentStatus/phase") == "Failed";
    let reason = text(change.new, "/status/lastOperation/description");
    has_failed(change.new) && !has_failed(change.old) && reason.contains("VM using old node obj")
}

/// A host fails another Machine of a group. A process that comes later knows of none before.
pub(super) fn of_machine(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    if !is_given_up(change) {
        return None;
    }
    let uid = text(change.new, "/metadata/uid");
    let machine = facts.machines.get(uid)?;
    let family = facts.owners.family(&machine.set);
    let is_its = |given: &&Given| {
        !family.is_empty() && given.family == family && given.actor == change.actor && given.uid != uid
    };
    let earlier: Vec<&Given> = facts.names_taken.0.iter().filter(is_its).collect();
    let says = |why: String| {
        Some(format!("{} fails Machine {} for the name of its Node {why}", change.actor, machine.name))
    };
    let is_there = |given: &&&Given| {
        let other = facts.machines.get(&given.uid);
        other.is_some_and(|other| other.phase == "Failed" && other.kept_until.is_none())
    };
    if let Some(other) = earlier.iter().find(is_there).and_then(|given| facts.machines.get(&given.uid)) {
        return says(format!("while {} is there, which it failed for the same", other.name));
    }
    let begin = now - WITHIN + facts.ahead(change.actor);
    let count = 1 + earlier.iter().filter(|given| given.at > begin).count();
    if count > MOST { says(format!("as the {count}th of its group within {WITHIN:#}")) } else { None }
}

/// A host writes or removes a Node that is another's. It may note that nobody manages it.
pub(super) fn of_node(facts: &Facts, change: &Change<'_>) -> Option<String> {
    let name = text(change.new.or(change.old), "/metadata/name");
    if !facts.left_nodes.contains(name) {
        return None;
    }
    let is_same = change.new.is_some_and(|new| change.old.is_some_and(|old| own(new) == own(old)));
    (!is_same).then(|| format!("{} writes or removes Node {name}, which is that of another VM", change.actor))
}

/// A Node without the note, and without anything that each write changes.
fn own(node: &Value) -> Value {
    let mut node = node.clone();
    if let Some(meta) = node["metadata"].as_object_mut() {
        for field in ["resourceVersion", "managedFields", "generation"] {
            meta.remove(field);
        }
        let notes = meta.get_mut("annotations").and_then(Value::as_object_mut);
        if let Some(notes) = notes {
            notes.remove(annotations::NOT_MANAGED);
        }
        let has_notes =
            meta.get("annotations").and_then(Value::as_object).is_some_and(|all| !Map::is_empty(all));
        if !has_notes {
            meta.remove("annotations");
        }
    }
    node
}
