//! The rules that always hold: plain functions of the known state and of the events.

use jiff::{SignedDuration, Timestamp};
use machinist_api::names;
use memory_api::Change;
use memory_api::wire::Call;

use super::facts::{Facts, text};
use super::machine::MachineFact;
use super::{doubt, drained, gate, hooks, meltdown, owners, preservation, taken, verdicts};
use crate::cloud::SimCloud;
use crate::names::{HOST, UID_TAG, is_of_cluster_api, provider_id};
use crate::rule::Rule;

/// From a change until whatever a host writes is in its knowledge. A watch that breaks comes back within half a minute,
/// with jitter within a whole one. The pass that looked just before may ask the cloud, which takes up to a minute, half
/// a minute less after which a request is given up.
pub(super) const PROPAGATION: SignedDuration = SignedDuration::from_mins(2);

/// From the beginning of a drain until it may use force: the default.
const FORCE_AFTER: SignedDuration = SignedDuration::from_hours(2);

/// Pods of a Node that has not been ready for so long cannot end.
const AILS_FOR: SignedDuration = SignedDuration::from_mins(5);

/// Times in objects are whole seconds.
const GRAIN: SignedDuration = SignedDuration::from_secs(2);

/// A VM without a Machine is left alone for so long: the default.
const ORPHAN_AGE: SignedDuration = SignedDuration::from_mins(20);

/// So many listings must have shown it: the default.
const ORPHAN_SIGHTINGS: usize = 3;

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
    let breaks = |rule: Rule, detail: Option<String>| detail.map(|detail| (rule, detail));
    match change.plural {
        "pods" => [
            breaks(Rule::Budget, budget(facts, change, now)),
            breaks(Rule::PreDrain, pre_drain(facts, change, now)),
        ]
        .into_iter()
        .flatten()
        .collect(),
        "nodes" => [
            breaks(Rule::OthersNodes, taken::of_node(facts, change)),
            breaks(Rule::InPlace, preservation::of_node(facts, change, now)),
            breaks(Rule::Volumes, drained::of_node(facts, change)),
            breaks(Rule::Availability, owners::of_node(facts, change, now)),
        ]
        .into_iter()
        .flatten()
        .collect(),
        "machines" => [
            breaks(Rule::FinalizerLast, finalizer_last(facts, cloud, change)),
            breaks(Rule::NamesTaken, taken::of_machine(facts, change, now)),
            breaks(Rule::HealthyStays, healthy_stays(facts, change, now)),
            breaks(Rule::Gate, gate::of_machine(facts, change, now)),
            breaks(Rule::Meltdown, meltdown::of_change(facts, cloud, change, now)),
            breaks(Rule::Verdicts, verdicts::of_change(facts, change, now)),
            breaks(Rule::Doubt, doubt::of_machine(&facts.creates, change)),
            breaks(Rule::HandedDown, owners::handed_down(change)),
            preservation::of_machine(facts, change, now),
        ]
        .into_iter()
        .flatten()
        .chain(owners::of_machine(facts, change, now))
        .collect(),
        "machinesets" => owners::of_set(facts, change, now)
            .into_iter()
            .chain(breaks(Rule::HandedDown, owners::handed_down_to_set(change)))
            .collect(),
        "machinedeployments" => owners::of_deployment(facts, change).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The pod that somebody has just begun to take away.
fn taken_away<'a>(change: &Change<'a>) -> Option<&'a serde_json::Value> {
    let pod = change.old?;
    let is_going = |pod: &serde_json::Value| pod["metadata"]["deletionTimestamp"].is_string();
    let is_taken_away = !is_going(pod) && change.new.is_none_or(is_going);
    let has_ended = matches!(text(Some(pod), "/status/phase"), "Succeeded" | "Failed");
    (is_taken_away && !has_ended).then_some(pod)
}

fn pre_drain(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    let node = text(Some(taken_away(change)?), "/spec/nodeName");
    let machine = facts.machines.get(facts.by_node.get(node)?)?;
    hooks::of_pod(facts, machine, change.actor, now)
}

/// Whether a drain of this Machine's Node need not ask any more, as far as anybody could have thought so.
pub(super) fn may_force(facts: &Facts, machine: &MachineFact, actor: &str, now: Timestamp) -> bool {
    let has_lasted = |since: Option<Timestamp>, limit: SignedDuration, error: SignedDuration| {
        since.is_some_and(|since| now.duration_since(since) + error + GRAIN > limit)
    };
    let Some(node) = facts.node_objects.get(&machine.node) else { return true };
    let updated_since = node.update_since.filter(|_| node.update == "SelectedForUpdate");
    let kept_since = machine.phase_since.filter(|_| machine.phase == "Failed");
    let ahead = facts.ahead(actor);
    machine.is_forced
        || has_lasted(machine.deleting_since, FORCE_AFTER, ahead)
        || has_lasted(updated_since, FORCE_AFTER, facts.skew())
        || has_lasted(kept_since, FORCE_AFTER, facts.skew())
        || has_lasted(node.not_ready_since, AILS_FOR, ahead)
        // It was so a moment ago.
        || (node.not_ready_since.is_none() && !has_lasted(node.looks_since, PROPAGATION, SignedDuration::ZERO))
}

fn finalizer_last(facts: &Facts, cloud: &SimCloud, change: &Change<'_>) -> Option<String> {
    let old = change.old?;
    let is_held = |object: &serde_json::Value| {
        let finalizers = object["metadata"]["finalizers"].as_array();
        finalizers.is_some_and(|all| all.iter().any(|name| name == names::finalizers::MACHINE))
    };
    if !is_held(old) || change.new.is_some_and(is_held) {
        return None;
    }
    let uid = text(Some(old), "/metadata/uid");
    let ordered_away = facts.ordered_away.get(uid);
    // A second one that somebody makes at the last moment is not seen by the order.
    let is_late = |vm: &String| {
        let view = cloud.find(vm).filter(|_| cloud.is_second(vm));
        view.is_some_and(|view| {
            ordered_away.is_none_or(|order| view.created + cloud.window() + GRAIN > *order)
        })
    };
    let vms: Vec<String> = cloud.existing(uid).into_iter().filter(|vm| !is_late(vm)).collect();
    let name = text(Some(old), "/metadata/name");
    (!vms.is_empty())
        .then(|| format!("{} released Machine {name} whose VM {} is there", change.actor, vms.join(", ")))
}

/// A pod that nobody asked to go yet is deleted without asking its budget only once the drain may use force.
fn budget(facts: &Facts, change: &Change<'_>, now: Timestamp) -> Option<String> {
    let pod = taken_away(change).filter(|_| !change.is_eviction)?;
    let budget = facts.budgets.values().find(|budget| memory_api::covers(budget, pod))?;
    let node = text(Some(pod), "/spec/nodeName");
    let machine = facts.by_node.get(node).and_then(|uid| facts.machines.get(uid));
    let may_force = machine.is_some_and(|machine| may_force(facts, machine, change.actor, now));
    (!may_force).then(|| {
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
    // A failed update in place that nobody repeats: a Node that is well all the same does not make up for it.
    if phase(change.old) == "InPlaceUpdateFailed" {
        return None;
    }
    let machine = facts.machines.get(text(change.new, "/metadata/uid")).filter(|_| !facts.has_judges)?;
    let node = facts.nodes.get(&machine.node)?;
    let since = node.fit_since.filter(|_| node.provider_id == machine.provider_id)?;
    let was_fit_for = now.duration_since(since);
    (was_fit_for > PROPAGATION).then(|| {
        format!(
            "{} failed Machine {} whose Node has been well for {was_fit_for:#}",
            change.actor, machine.name
        )
    })
}

/// A host that does not lead writes nothing but Leases, and sends no calls.
pub(super) fn of_call(facts: &Facts, call: &Call, now: Timestamp) -> Option<String> {
    let is_effect =
        matches!(call.verb, "POST" | "PUT" | "PATCH" | "DELETE" | "CALL") && call.what != "leases";
    let is_broken = is_effect && call.actor.starts_with(HOST) && !facts.leads(&call.actor, now);
    is_broken
        .then(|| format!("{} sent {} {} {} without leading", call.actor, call.verb, call.what, call.name))
}

/// A VM goes when its Machine does; one without a Machine after several listings have shown it, and not before it is
/// old.
pub(super) fn of_delete(
    facts: &mut Facts,
    cloud: &SimCloud,
    vm: &str,
    actor: &str,
    now: Timestamp,
) -> Option<(Rule, String)> {
    // Of a MachinistMachine: the call says for which.
    let view =
        cloud.find(vm).filter(|vm| !vm.tags.get("cluster").is_some_and(|mark| is_of_cluster_api(mark)))?;
    let (uid, created) = (view.tags.get(UID_TAG).cloned().unwrap_or_default(), view.created);
    if let Some(machine) = facts.machines.get(&uid) {
        if machine.deleting_since.is_none() {
            let detail =
                format!("{actor} deletes VM {vm} of Machine {}, which nobody asked to go", machine.name);
            return Some((Rule::NoUnaskedDelete, detail));
        }
        let is_first = !facts.ordered_away.contains_key(&uid);
        let broken = hooks::of_delete(facts, machine, actor, now).map(|detail| (Rule::PreTerminate, detail));
        let broken =
            broken.or_else(|| is_first.then(|| drained::of_delete(facts, machine, actor, now)).flatten());
        if facts.is_blind(actor, now) {
            facts.ordered_blindly.insert(uid.clone());
        }
        facts.ordered_away.entry(uid).or_insert(now);
        return broken;
    }
    of_collection(facts, &format!("deletes VM {vm} of no Machine"), created, actor, now)
}

/// A VM goes that nobody has asked to go: it is old, and was listed often enough.
fn of_collection(
    facts: &Facts,
    action: &str,
    created: Timestamp,
    actor: &str,
    now: Timestamp,
) -> Option<(Rule, String)> {
    let age = now.duration_since(created) + facts.ahead(actor);
    // In order of time, and many in a week.
    let listings = facts.listings.len() - facts.listings.partition_point(|at| *at < created);
    let broken = (age < ORPHAN_AGE || listings < ORPHAN_SIGHTINGS)
        .then(|| (Rule::NoUnaskedDelete, format!("{actor} {action} after {age:#} and {listings} listings")));
    broken.or_else(|| gate::of_action(facts, actor, action, now).map(|detail| (Rule::Gate, detail)))
}

/// One VM of two goes by its id: not the one that its Machine has, and as late as one without a Machine.
pub(super) fn of_delete_by_id(
    facts: &Facts,
    cloud: &SimCloud,
    vm: &str,
    actor: &str,
    now: Timestamp,
) -> Option<(Rule, String)> {
    let view = cloud.find(vm)?;
    let id = provider_id(&view.zone, &view.id);
    if let Some(machine) = facts.machines.values().find(|machine| machine.provider_id == id) {
        let name = &machine.name;
        let detail = format!("{actor} deletes by its id VM {vm}, which Machine {name} has stored");
        return Some((Rule::SecondVms, detail));
    }
    of_collection(facts, &format!("deletes second VM {vm} by its id"), view.created, actor, now)
}
