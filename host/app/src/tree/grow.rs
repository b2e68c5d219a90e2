//! From the objects of a namespace to what is shown of them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::core::ObjectMeta;
use machinist_api::names::{annotations, conditions, labels};
use machinist_api::{Machine, MachineDeployment, MachineSet};
use machinist_core::machine_deployment::{Counts, Stage, words};
use machinist_core::value::phase::Phase;

use super::model::{DeploymentNode, Forest, MachineNode, Role, Rollout, RolloutState, SetNode};
use crate::owner_tree::{
    Sets, annotation, controller_uid, count, name, of_deployment, of_machine, of_set, revision,
};

/// All objects of a namespace.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) deployments: Vec<MachineDeployment>,
    pub(super) sets: Vec<MachineSet>,
    pub(super) machines: Vec<Machine>,
}

pub(super) fn grow(objects: &Objects, namespace: &str) -> Forest {
    let mut by_set: BTreeMap<&str, Vec<&Machine>> = BTreeMap::new();
    for machine in &objects.machines {
        if let Some(uid) = controller_uid(&machine.metadata) {
            by_set.entry(uid).or_default().push(machine);
        }
    }
    let mut deployments: Vec<&MachineDeployment> = objects.deployments.iter().collect();
    deployments.sort_by_key(|deployment| name(&deployment.metadata));
    let uids = |metas: Vec<&ObjectMeta>| -> BTreeSet<String> {
        metas.iter().filter_map(|meta| meta.uid.clone()).collect()
    };
    let owners = uids(deployments.iter().map(|deployment| &deployment.metadata).collect());
    let sets = uids(objects.sets.iter().map(|set| &set.metadata).collect());
    let machines_of = |set: &MachineSet| -> Vec<MachineNode> {
        let uid = set.metadata.uid.as_deref().unwrap_or_default();
        machines(by_set.get(uid).into_iter().flatten().copied(), &sets)
    };
    let free = objects.sets.iter().filter(|set| !is_among(&owners, &set.metadata));
    let mut free: Vec<SetNode> =
        free.map(|set| set_node(set, stray(&set.metadata), machines_of(set))).collect();
    free.sort_by(|one, other| one.name.cmp(&other.name));
    let strays = objects.machines.iter().filter(|machine| !is_among(&sets, &machine.metadata));
    Forest {
        namespace: namespace.to_owned(),
        deployments: deployments
            .into_iter()
            .map(|deployment| deployment_node(deployment, &Sets::of(deployment, &objects.sets), &machines_of))
            .collect(),
        sets: free,
        machines: machines(strays, &sets),
    }
}

fn is_among(uids: &BTreeSet<String>, meta: &ObjectMeta) -> bool {
    controller_uid(meta).is_some_and(|uid| uids.contains(uid))
}

/// The role of a set without a deployment.
fn stray(meta: &ObjectMeta) -> Role {
    gone_owner(meta).map_or(Role::Free, Role::Orphan)
}

/// Its controller, by kind and name.
fn gone_owner(meta: &ObjectMeta) -> Option<String> {
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some(format!("{} {}", owner.kind, owner.name))
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
    let number = |numbers: &dyn Fn(&SetNode) -> usize| {
        u32::try_from(sets.iter().map(numbers).sum::<usize>()).unwrap_or(u32::MAX)
    };
    let staying =
        |set: &SetNode| set.machines.iter().filter(|machine| machine.deletion_asked.is_none()).count();
    let wanted = count(deployment.spec.replicas);
    let updated = number(&|set| if set.role == Role::New { staying(set) } else { 0 });
    let machines = number(&|set| set.machines.len());
    let available = number(&|set| usize::try_from(set.available).unwrap_or_default());
    let status = deployment.status.clone().unwrap_or_default();
    let is_observed =
        status.observed_generation >= deployment.metadata.generation && deployment.status.is_some();
    let counts = Counts { wanted, updated, replicas: machines, available };
    let has_old = sets.iter().any(|set| set.role != Role::New && !set.is_only_kept());
    let is_late = status.conditions.iter().any(|condition| {
        condition.type_ == conditions::PROGRESSING && condition.reason.as_deref() == Some(words::LATE)
    });
    let is_rolling = has_old || !sets.iter().any(|set| set.role == Role::New);
    let stage = Stage::of(counts, is_observed);
    let state = if deployment.metadata.deletion_timestamp.is_some() {
        RolloutState::Deleting
    } else if stage == Stage::Unobserved {
        RolloutState::Unobserved
    } else if deployment.spec.paused == Some(true) {
        RolloutState::Paused
    } else if stage == Stage::Complete && !is_rolling {
        RolloutState::Complete
    } else if is_late {
        RolloutState::Stuck
    } else if is_rolling {
        RolloutState::Rolling
    } else {
        RolloutState::Scaling
    };
    Rollout { state, wanted, updated, available, machines }
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
    machines.sort_by_key(|machine| {
        let created = machine.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, name(&machine.metadata))
    });
    machines.into_iter().map(|machine| machine_node(machine, sets)).collect()
}

fn machine_node(machine: &Machine, sets: &BTreeSet<String>) -> MachineNode {
    let meta = &machine.metadata;
    let status = machine.status.clone().unwrap_or_default();
    let created = meta.creation_timestamp.as_ref().map(|time| time.0);
    let word = machine.phase();
    let time = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| -> Option<Timestamp> {
        time.as_ref().map(|time| time.0)
    };
    let first = annotations::FIRST_PRIORITY;
    MachineNode {
        name: name(meta).to_owned(),
        state: if word == Phase::New { "Creating".to_owned() } else { word.as_str().to_owned() },
        since: time(&status.current_status.last_update_time).or(created),
        is_available: word == Phase::Running || word == Phase::Available,
        deletion_asked: time(&meta.deletion_timestamp),
        preserved_until: time(&status.current_status.preserve_expiry_time),
        is_marked: annotation(meta, annotations::MARKED_FOR_DELETION_TIME).is_some()
            || annotation(meta, annotations::PRIORITY) == Some(first),
        node: meta.labels.as_ref().and_then(|all| all.get(labels::NODE)).cloned(),
        provider_id: machine.provider_id().map(str::to_owned),
        orphan_of: if is_among(sets, meta) { None } else { gone_owner(meta) },
        notes: of_machine(machine),
    }
}
