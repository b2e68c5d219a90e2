//! The rules about MachinistMachines: plain functions of the known state and of the events.

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::MachineIdentity;
use memory_api::Change;
use serde_json::Value;
use simcloud::{EventVm, VmState};

use super::super::facts::{Facts, text};
use super::super::rules::PROPAGATION;
use super::facts::{Place, is_held, is_provisioned};
use crate::cloud::SimCloud;
use crate::names::{HOST, NAMESPACE, Site, UID_TAG, id_of, is_of_cluster_api};
use crate::rule::Rule;

/// From a pause until a host knows of it, when nothing is late and nothing breaks: the reconcile that runs may send one
/// more call.
const KNOWS_WITHIN: SignedDuration = SignedDuration::from_secs(5);

/// Rules that a change of a MachinistMachine breaks.
pub(crate) fn of_change(
    facts: &Facts,
    cloud: &SimCloud,
    change: &Change<'_>,
    now: Timestamp,
) -> Vec<(Rule, String)> {
    let (Some(old), true) = (change.old, change.actor.starts_with(HOST)) else { return Vec::new() };
    if change.plural != "machinistmachines" {
        return Vec::new();
    }
    let name = text(change.old, "/metadata/name");
    let breaks = |rule: Rule, detail: Option<String>| {
        detail.map(|detail| (rule, format!("{} {detail} of MachinistMachine {name}", change.actor)))
    };
    [
        breaks(Rule::InfraFinalizerLast, finalizer_last(cloud, old, change.new)),
        breaks(Rule::ProviderIdStays, change.new.and_then(|new| provider_id_stays(old, new))),
        breaks(Rule::ProvisionedStays, change.new.and_then(|new| provisioned_stays(old, new))),
        breaks(
            Rule::RunningStaysReady,
            change.new.and_then(|new| running_stays_ready(facts, cloud, (old, new), now)),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn finalizer_last(cloud: &SimCloud, old: &Value, new: Option<&Value>) -> Option<String> {
    if !is_held(old) || new.is_some_and(is_held) {
        return None;
    }
    let stored = old["metadata"]["annotations"]
        [machinist_api::infrastructure::names::annotations::MACHINE_KEY]
        .as_str();
    let vms = cloud.existing(stored.unwrap_or(text(Some(old), "/metadata/uid")));
    (!vms.is_empty()).then(|| format!("takes off the finalizer while VM {} is there", vms.join(", ")))
}

fn provider_id_stays(old: &Value, new: &Value) -> Option<String> {
    let id = |machine| text(Some(machine), "/spec/providerID").to_owned();
    let (before, after) = (id(old), id(new));
    (!before.is_empty() && before != after)
        .then(|| format!("replaces provider id {before} by {after:?}, the id"))
}

fn provisioned_stays(old: &Value, new: &Value) -> Option<String> {
    (is_provisioned(old) && !is_provisioned(new)).then(|| "takes back the provision".to_owned())
}

/// A VM that has died a moment ago, or that reads do not show yet, is not meant.
fn running_stays_ready(
    facts: &Facts,
    cloud: &SimCloud,
    (old, new): (&Value, &Value),
    now: Timestamp,
) -> Option<String> {
    let is_false = |machine: &Value| ready(machine).is_some_and(|ready| ready["status"] == "False");
    let is_going = new["metadata"]["deletionTimestamp"].is_string();
    if !is_false(new) || is_false(old) || is_going || !is_provisioned(old) {
        return None;
    }
    let vm = cloud.find(id_of(text(Some(new), "/spec/providerID")))?;
    let is_shown = now.duration_since(vm.created) > cloud.window() + PROPAGATION + facts.skew();
    let reason = ready(new).map(|ready| text(Some(ready), "/reason")).unwrap_or_default();
    (vm.state == VmState::Running && is_shown)
        .then(|| format!("sets Ready False ({reason}) although VM {} runs, that", vm.id))
}

fn ready(machine: &Value) -> Option<&Value> {
    let conditions = machine["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == "Ready")
}

/// A host sends a create or a delete. From then on it is in flight, and may reach the cloud.
pub(crate) fn of_call(
    facts: &Facts,
    function: &str,
    machine: &MachineIdentity,
    actor: &str,
    now: Timestamp,
) -> Option<(Rule, String)> {
    let (namespace, name) = (machine.namespace.as_str(), machine.name.as_str());
    if namespace == NAMESPACE {
        return None;
    }
    let place = Place::new(Site::of(actor), namespace, name);
    let says = |rule: Rule, why: String| {
        Some((rule, format!("{actor} sends {function} for MachinistMachine {namespace}/{name}, which {why}")))
    };
    if let Some((since, why)) = facts.infra.untouchable(&place, machine.uid.as_str())
        && !facts.is_blind(actor, now)
        && now.duration_since(since) > knows_within(facts, now)
    {
        return says(Rule::Paused, format!("{why} since {:#}", now.duration_since(since)));
    }
    let fact = facts.infra.machines.get(&place)?;
    if function == "delete" && !fact.is_deleting {
        return says(Rule::NoUnaskedDelete, "nobody asked to go".to_owned());
    }
    None
}

fn knows_within(facts: &Facts, now: Timestamp) -> SignedDuration {
    let is_undisturbed = facts.calm_since.is_some_and(|calm| now.duration_since(calm) > PROPAGATION);
    if is_undisturbed { KNOWS_WITHIN } else { PROPAGATION }
}

/// A VM was made, by whomever.
pub(crate) fn of_created(facts: &Facts, cloud: &SimCloud, vm: &EventVm) -> Option<(Rule, String)> {
    if !vm.tags.get("cluster").is_some_and(|mark| is_of_cluster_api(mark)) {
        return None;
    }
    let key = vm.tags.get(UID_TAG)?;
    let others: Vec<String> = cloud.existing(key).into_iter().filter(|other| *other != vm.id).collect();
    if !others.is_empty() {
        let detail = format!("VM {} is made for key {key}, which has VM {}", vm.id, others.join(", "));
        return Some((Rule::OneVmForKey, detail));
    }
    let stored = facts.infra.of_key(key).find(|machine| {
        let id = id_of(&machine.provider_id);
        !id.is_empty() && id != vm.id
    })?;
    let detail = format!(
        "VM {} is made for MachinistMachine {}, which has {} stored",
        vm.id, stored.name, stored.provider_id
    );
    Some((Rule::OneVmForKey, detail))
}
