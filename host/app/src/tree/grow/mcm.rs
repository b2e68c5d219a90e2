//! The kinds of machine-controller-manager. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;
use machinist_api::names::{annotations, conditions, labels};
use machinist_api::{Machine, MachineDeployment, MachineSet};
use machinist_core::machine_deployment::words;
use machinist_core::value::phase::Phase;

use super::owners::{Owners, created, is_among, lost_owner, uids};
use super::rollout::RolloutFacts;
use crate::owner_tree::{Sets, annotation, count, name, of_deployment, of_machine, of_set, revision};
use crate::tree::model::{DeploymentNode, Forest, MachineNode, Role, Rollout, SetNode};
use crate::tree::objects::McmObjects;

pub(super) fn grow(objects: &McmObjects) -> Forest {
    let by_set = Owners::of(&objects.machines);
    let mut deployments: Vec<&MachineDeployment> = objects.deployments.iter().collect();
    deployments.sort_by_key(|deployment| name(&deployment.metadata));
    let owners = uids(&objects.deployments);
    let sets = uids(&objects.sets);
    let machines_of =
        |set: &MachineSet| -> Vec<MachineNode> { machines(by_set.owned_by(&set.metadata), &sets) };
    let free = objects.sets.iter().filter(|set| !is_among(&owners, &set.metadata));
    let role = |set: &MachineSet| lost_owner(&set.metadata).map_or(Role::Free, Role::Orphan);
    let mut free: Vec<SetNode> = free.map(|set| set_node(set, role(set), machines_of(set))).collect();
    free.sort_by(|one, other| one.name.cmp(&other.name));
    let strays = objects.machines.iter().filter(|machine| !is_among(&sets, &machine.metadata));
    Forest {
        deployments: deployments
            .into_iter()
            .map(|deployment| deployment_node(deployment, &Sets::of(deployment, &objects.sets), &machines_of))
            .collect(),
        sets: free,
        machines: machines(strays, &sets),
        ..Forest::default()
    }
}

fn deployment_node(
    deployment: &MachineDeployment,
    sets: &Sets<'_>,
    machines_of: &impl Fn(&MachineSet) -> Vec<MachineNode>,
) -> DeploymentNode {
    let role = |set: &MachineSet| {
        let is_new = sets.new.is_some_and(|new| new.metadata.uid == set.metadata.uid);
        if is_new { Role::New } else { Role::Old }
    };
    let mut old: Vec<&MachineSet> = sets.old.iter().chain(&sets.leaving).copied().collect();
    old.sort_by_key(|set| (std::cmp::Reverse(revision(&set.metadata)), name(&set.metadata)));
    let all = sets.new.into_iter().chain(old);
    let nodes: Vec<SetNode> = all.map(|set| set_node(set, role(set), machines_of(set))).collect();
    let strategy = deployment.spec.strategy.type_.as_ref().map(|word| word.as_str().to_owned());
    let number = revision(&deployment.metadata);
    DeploymentNode {
        name: name(&deployment.metadata).to_owned(),
        rollout: rollout(deployment, &nodes),
        revision: sets.current_revision().or(Some(number)).filter(|revision| *revision > 0),
        strategy: strategy.unwrap_or_default(),
        rollback_to: deployment.spec.rollback_to.as_ref().map(|wish| wish.revision.unwrap_or_default()),
        notes: of_deployment(deployment),
        sets: nodes,
    }
}

fn rollout(deployment: &MachineDeployment, sets: &[SetNode]) -> Rollout {
    let status = deployment.status.clone().unwrap_or_default();
    let meta = &deployment.metadata;
    let is_late = status.conditions.iter().any(|condition| {
        condition.type_ == conditions::PROGRESSING && condition.reason.as_deref() == Some(words::LATE)
    });
    let facts = RolloutFacts {
        wanted: count(deployment.spec.replicas),
        is_observed: deployment.status.is_some() && status.observed_generation >= meta.generation,
        is_being_deleted: meta.deletion_timestamp.is_some(),
        is_paused: deployment.spec.paused == Some(true),
        is_late,
    };
    facts.rollout(sets)
}

fn set_node(set: &MachineSet, role: Role, machines: Vec<MachineNode>) -> SetNode {
    let available =
        machines.iter().filter(|machine| machine.is_available && machine.deletion_asked.is_none());
    let class = set.spec.template.as_ref().and_then(|template| template.spec.class.name.clone());
    SetNode {
        name: name(&set.metadata).to_owned(),
        role,
        revision: Some(revision(&set.metadata)).filter(|revision| *revision > 0),
        class: class.unwrap_or_default(),
        template: None,
        wanted: count(set.spec.replicas),
        available: u32::try_from(available.count()).unwrap_or(u32::MAX),
        deletion_asked: set.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        notes: of_set(set),
        machines,
    }
}

/// The oldest first. `sets`: the uids of those that are there.
fn machines<'a>(
    machines: impl IntoIterator<Item = &'a Machine>,
    sets: &BTreeSet<String>,
) -> Vec<MachineNode> {
    let mut machines: Vec<&Machine> = machines.into_iter().collect();
    machines.sort_by_key(|machine| (created(&machine.metadata), name(&machine.metadata)));
    machines.into_iter().map(|machine| machine_node(machine, sets)).collect()
}

fn machine_node(machine: &Machine, sets: &BTreeSet<String>) -> MachineNode {
    let meta = &machine.metadata;
    let status = machine.status.clone().unwrap_or_default();
    let word = machine.phase();
    let time = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| -> Option<Timestamp> {
        time.as_ref().map(|time| time.0)
    };
    let first = annotations::FIRST_PRIORITY;
    MachineNode {
        name: name(meta).to_owned(),
        state: if word == Phase::New { "Creating".to_owned() } else { word.as_str().to_owned() },
        since: time(&status.current_status.last_update_time).or_else(|| created(meta)),
        is_available: word == Phase::Running || word == Phase::Available,
        deletion_asked: time(&meta.deletion_timestamp),
        preserved_until: time(&status.current_status.preserve_expiry_time),
        is_marked: annotation(meta, annotations::MARKED_FOR_DELETION_TIME).is_some()
            || annotation(meta, annotations::PRIORITY) == Some(first),
        node: meta.labels.as_ref().and_then(|all| all.get(labels::NODE)).cloned(),
        provider_id: machine.provider_id().map(str::to_owned),
        orphan_of: if is_among(sets, meta) { None } else { lost_owner(meta) },
        infrastructure: None,
        notes: of_machine(machine),
    }
}
