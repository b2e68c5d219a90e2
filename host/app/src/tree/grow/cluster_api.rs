//! The kinds of Cluster API, and MachinistMachines. Pure.

use std::collections::{BTreeMap, BTreeSet};

use machinist_api::infrastructure::core_kinds::{
    CoreCluster, CoreDeployment, CoreMachine, CoreSet, annotations as core_annotations,
};
use machinist_api::infrastructure::names::annotations;
use machinist_api::infrastructure::{self, MachinistMachine, cluster_api};
use machinist_core::machine_deployment::parse_revision;

use super::owners::{Owners, controller, created, deletion_asked, is_among, lost_owner, uids};
use super::rollout::RolloutFacts;
use crate::owner_tree::core_notes::{
    of_cluster, of_core_deployment, of_core_machine, of_core_set, of_machinist_machine,
};
use crate::owner_tree::{annotation, controller_uid, count, name, vm_state};
use crate::tree::model::{
    ClusterApiForest, ClusterNode, ClusterState, DeploymentNode, Infrastructure, MachineNode, OwnerNode,
    Role, SetNode, VmNode,
};
use crate::tree::objects::ClusterApiObjects;

pub(super) fn grow(objects: &ClusterApiObjects) -> ClusterApiForest {
    let grown = Grown::of(objects);
    let there = objects.clusters.iter().map(|cluster| (name(&cluster.metadata), Some(cluster)));
    let deployments = objects.deployments.iter().map(|object| object.spec.cluster_name.as_str());
    let sets = objects.sets.iter().map(|object| object.spec.cluster_name.as_str());
    let machines = objects.machines.iter().map(|object| object.spec.cluster_name.as_str());
    let named = deployments.chain(sets).chain(machines).map(|cluster| (cluster, None));
    // Clusters that are there win.
    let clusters: BTreeMap<&str, Option<&CoreCluster>> = named.chain(there).collect();
    let used: BTreeSet<&str> = objects.machines.iter().filter_map(vm_name).collect();
    let mut strays: Vec<&MachinistMachine> =
        objects.machinist_machines.iter().filter(|vm| !used.contains(name(&vm.metadata))).collect();
    strays.sort_by_key(|vm| name(&vm.metadata));
    ClusterApiForest {
        clusters: clusters.into_iter().map(|(name, cluster)| grown.cluster(name, cluster)).collect(),
        machinist_machines: strays.into_iter().map(stray).collect(),
    }
}

/// The name of a Machine's MachinistMachine.
fn vm_name(machine: &CoreMachine) -> Option<&str> {
    machine.spec.infrastructure_ref.named(infrastructure::GROUP, "MachinistMachine")
}

/// The objects with their relations.
struct Grown<'a> {
    objects: &'a ClusterApiObjects,
    sets_by_owner: Owners<'a, CoreSet>,
    machines_by_owner: Owners<'a, CoreMachine>,
    deployments: BTreeSet<String>,
    sets: BTreeSet<String>,
    vms: BTreeMap<&'a str, &'a MachinistMachine>,
}

impl<'a> Grown<'a> {
    fn of(objects: &'a ClusterApiObjects) -> Self {
        Self {
            objects,
            sets_by_owner: Owners::of(&objects.sets),
            machines_by_owner: Owners::of(&objects.machines),
            deployments: uids(&objects.deployments),
            sets: uids(&objects.sets),
            vms: objects.machinist_machines.iter().map(|vm| (name(&vm.metadata), vm)).collect(),
        }
    }

    fn cluster(&self, cluster_name: &str, cluster: Option<&CoreCluster>) -> ClusterNode {
        let state = cluster.map_or(ClusterState::Missing, state);
        let mut deployments: Vec<&CoreDeployment> =
            self.objects.deployments.iter().filter(|it| it.spec.cluster_name == cluster_name).collect();
        deployments.sort_by_key(|deployment| name(&deployment.metadata));
        let mut sets: Vec<&CoreSet> = self.objects.sets.iter().collect();
        sets.retain(|set| {
            set.spec.cluster_name == cluster_name && !is_among(&self.deployments, &set.metadata)
        });
        sets.sort_by_key(|set| name(&set.metadata));
        let role = |set: &CoreSet| lost_owner(&set.metadata).map_or(Role::Free, Role::Orphan);
        let (owners, machines) = self.other_machines(cluster_name);
        ClusterNode {
            name: cluster_name.to_owned(),
            state,
            deletion_asked: cluster.and_then(|cluster| deletion_asked(&cluster.metadata)),
            notes: cluster.map(of_cluster).unwrap_or_default(),
            deployments: deployments
                .into_iter()
                .map(|deployment| self.deployment(deployment, state == ClusterState::Paused))
                .collect(),
            sets: sets.into_iter().map(|set| self.set(set, role(set))).collect(),
            owners,
            machines,
        }
    }

    /// Returns the Machines of a Cluster that are in no set: those of control planes, and those without an owner.
    fn other_machines(&self, cluster: &str) -> (Vec<OwnerNode>, Vec<MachineNode>) {
        let mut by_owner: BTreeMap<(&str, &str), Vec<&CoreMachine>> = BTreeMap::new();
        let mut free = Vec::new();
        let of_cluster = self.objects.machines.iter().filter(|machine| machine.spec.cluster_name == cluster);
        for machine in of_cluster.filter(|machine| !is_among(&self.sets, &machine.metadata)) {
            match controller(&machine.metadata) {
                Some((kind, name)) if kind != "MachineSet" => {
                    by_owner.entry((kind, name)).or_default().push(machine);
                }
                Some(_) | None => free.push(machine),
            }
        }
        let owners = by_owner.into_iter().map(|((kind, name), machines)| OwnerNode {
            kind: kind.to_owned(),
            name: name.to_owned(),
            machines: self.machines(machines),
        });
        (owners.collect(), self.machines(free))
    }

    fn deployment(&self, deployment: &CoreDeployment, is_cluster_paused: bool) -> DeploymentNode {
        let meta = &deployment.metadata;
        let mut sets: Vec<&CoreSet> = self.sets_by_owner.owned_by(meta).collect();
        sets.sort_by_key(|set| (std::cmp::Reverse(revision(set)), name(&set.metadata)));
        let number = parse_revision(annotation(meta, core_annotations::REVISION));
        let current = current(&sets, number);
        let role = |set: &CoreSet| if current == Some(name(&set.metadata)) { Role::New } else { Role::Old };
        let nodes: Vec<SetNode> = sets.iter().map(|set| self.set(set, role(set))).collect();
        let observed = deployment.status.observed_generation;
        let facts = RolloutFacts {
            wanted: count(deployment.spec.replicas),
            is_observed: observed.is_some() && observed >= meta.generation,
            is_being_deleted: meta.deletion_timestamp.is_some(),
            is_paused: is_cluster_paused
                || deployment.spec.paused == Some(true)
                || annotation(meta, annotations::PAUSED).is_some(),
            is_late: false,
        };
        DeploymentNode {
            name: name(meta).to_owned(),
            rollout: facts.rollout(&nodes),
            revision: Some(number).filter(|number| *number > 0),
            strategy: deployment.spec.rollout.strategy.kind.clone(),
            rollback_to: None,
            notes: of_core_deployment(deployment),
            sets: nodes,
        }
    }

    fn set(&self, set: &CoreSet, role: Role) -> SetNode {
        let machines = self.machines(self.machines_by_owner.owned_by(&set.metadata));
        let available =
            machines.iter().filter(|machine| machine.is_available && machine.deletion_asked.is_none());
        let template = &set.spec.template.spec.infrastructure_ref.name;
        SetNode {
            name: name(&set.metadata).to_owned(),
            role,
            revision: Some(revision(set)).filter(|revision| *revision > 0),
            class: String::new(),
            template: Some(template.clone()).filter(|template| !template.is_empty()),
            wanted: count(set.spec.replicas),
            available: u32::try_from(available.count()).unwrap_or(u32::MAX),
            deletion_asked: deletion_asked(&set.metadata),
            notes: of_core_set(set),
            machines,
        }
    }

    /// In the order of their creation.
    fn machines(&self, machines: impl IntoIterator<Item = &'a CoreMachine>) -> Vec<MachineNode> {
        let mut machines: Vec<&CoreMachine> = machines.into_iter().collect();
        machines.sort_by_key(|machine| (created(&machine.metadata), name(&machine.metadata)));
        machines.into_iter().map(|machine| self.machine(machine)).collect()
    }

    fn machine(&self, machine: &CoreMachine) -> MachineNode {
        let (meta, status) = (&machine.metadata, &machine.status);
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let infrastructure = self.infrastructure(machine);
        let has_vm = matches!(infrastructure, Some(Infrastructure::MachinistMachine(_)));
        let is_lost = controller(meta).is_some_and(|(kind, _)| kind == "MachineSet");
        let is_lost = is_lost && controller_uid(meta).is_some_and(|uid| !self.sets.contains(uid));
        MachineNode {
            name: name(meta).to_owned(),
            state: if status.phase.is_empty() { "Pending".to_owned() } else { status.phase.clone() },
            since: status.last_updated.as_ref().map(|time| time.0).or_else(|| created(meta)),
            is_available: status.phase == "Running",
            deletion_asked: deletion_asked(meta),
            preserved_until: None,
            is_marked: annotation(meta, core_annotations::DELETE_MACHINE).is_some(),
            node: text(&status.node_ref.name),
            provider_id: text(&machine.spec.provider_id),
            orphan_of: if is_lost { lost_owner(meta) } else { None },
            infrastructure,
            notes: of_core_machine(machine, has_vm),
        }
    }

    fn infrastructure(&self, machine: &CoreMachine) -> Option<Infrastructure> {
        let reference = &machine.spec.infrastructure_ref;
        match vm_name(machine) {
            Some(name) => Some(match self.vms.get(name) {
                Some(vm) => Infrastructure::MachinistMachine(Box::new(vm_node(vm))),
                None => Infrastructure::Missing(name.to_owned()),
            }),
            None if reference.name.is_empty() => None,
            None => Some(Infrastructure::Foreign(format!("{} {}", reference.kind, reference.name))),
        }
    }
}

fn state(cluster: &CoreCluster) -> ClusterState {
    if cluster.spec.paused == Some(true) {
        ClusterState::Paused
    } else if cluster.status.contract.initialization.infrastructure_provisioned == Some(true) {
        ClusterState::Provisioned
    } else {
        ClusterState::Unprovisioned
    }
}

/// The number of a set's template; 0 where it has none.
fn revision(set: &CoreSet) -> i64 {
    parse_revision(annotation(&set.metadata, core_annotations::REVISION))
}

/// Returns the name of the set with the deployment's template: core gives both the same number. Before the deployment
/// has one, the highest counts. `sets`: the highest number first.
fn current<'a>(sets: &[&'a CoreSet], number: i64) -> Option<&'a str> {
    let mut staying = sets.iter().filter(|set| set.metadata.deletion_timestamp.is_none());
    staying.find(|set| number == 0 || revision(set) == number).map(|set| name(&set.metadata))
}

fn vm_node(machine: &MachinistMachine) -> VmNode {
    let (state, since) = vm_state(machine);
    VmNode {
        name: name(&machine.metadata).to_owned(),
        state,
        since,
        deletion_asked: deletion_asked(&machine.metadata),
        provider_id: machine.provider_id().map(str::to_owned),
        orphan_of: None,
        notes: of_machinist_machine(machine),
    }
}

/// One that no Machine names.
fn stray(machine: &MachinistMachine) -> VmNode {
    let owner = cluster_api::owner(&machine.metadata, "Machine");
    VmNode { orphan_of: owner.map(|(name, _)| format!("Machine {name}")), ..vm_node(machine) }
}
