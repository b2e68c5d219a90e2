//! The groups of a scope, their Machines, and the group of a Node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use kube::Resource;
use kube::core::ObjectMeta;
use machinist_api::infrastructure::MachinistMachineTemplate;
use machinist_api::infrastructure::autoscaler::annotations;
use machinist_api::infrastructure::cluster_api::OwnerMachine;
use machinist_api::{Machine, MachineClass};
use machinist_core::autoscaler::group::{Api, GroupId, Limits, LimitsError};
use machinist_core::autoscaler::member::{GroupMember, NamedNode, RequestedId};
use machinist_core::autoscaler::refusal::CallRefusal;
use machinist_core::autoscaler::resize::{GroupFact, parse_chosen};
use machinist_core::value::id::ObjectKey;
use tracing::warn;

use crate::cache::StoreReader;
use crate::context::Context;
use crate::controllers::objects::metadata::controller;
use crate::controllers::state::TenantState;

use super::cluster_api::ClusterApiCaches;
use super::deployments::{GroupDeployment, LatestAnswers};
use super::{CallError, GroupSummary, NodeQuery, Scope, members};

/// The caches, and what this process has written.
pub(super) struct Sources {
    pub(super) tenant: TenantState,
    pub(super) context: Arc<Context>,
    cluster_api: Option<ClusterApiCaches>,
    pub(super) answers: LatestAnswers,
    /// The invalid limits that the log has.
    reported: Mutex<BTreeMap<GroupId, LimitsError>>,
}

impl Sources {
    pub(super) fn new(
        tenant: TenantState,
        context: Arc<Context>,
        cluster_api: Option<ClusterApiCaches>,
    ) -> Self {
        Self { tenant, context, cluster_api, answers: LatestAnswers::default(), reported: Mutex::default() }
    }

    /// Checks that this process leads and its caches are complete.
    pub(super) fn check(&self) -> Result<(), CallError> {
        if !*self.context.leads.borrow() {
            return Err(CallError::NotLeading);
        }
        let is_synced =
            self.tenant.is_synced() && self.cluster_api.as_ref().is_none_or(ClusterApiCaches::is_synced);
        if is_synced { Ok(()) } else { Err(CallError::NotReady) }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.context.clock.now()
    }

    pub(super) fn classes(&self) -> &StoreReader<MachineClass> {
        &self.tenant.classes
    }

    pub(super) fn machine_templates(&self) -> &StoreReader<MachinistMachineTemplate> {
        &self.tenant.infra.templates
    }

    pub(super) fn groups(&self, scope: &Scope) -> Vec<GroupSummary> {
        let mcm = if scope.mcm { self.tenant.deployments.all() } else { Vec::new() };
        let mcm = mcm.iter().map(|(_, object)| GroupDeployment::from(&**object));
        let capi = match &self.cluster_api {
            Some(caches) if !scope.clusters.is_empty() => caches.deployments.all(),
            Some(_) | None => Vec::new(),
        };
        let capi = capi.iter().map(|(_, object)| GroupDeployment::from(&**object));
        let all = mcm.chain(capi).filter_map(|deployment| {
            let (deployment, limits) = self.as_group(scope, deployment)?;
            Some(summary(&deployment, limits))
        });
        all.collect()
    }

    /// Returns the MachineDeployment of a group.
    pub(super) fn deployment(
        &self,
        scope: &Scope,
        id: &GroupId,
    ) -> Result<(GroupDeployment, Limits), CallError> {
        let cached = match id.api {
            Api::Mcm => {
                self.tenant.deployments.get(&id.deployment).map(|object| GroupDeployment::from(&*object))
            }
            Api::Capi => self
                .cluster_api
                .as_ref()
                .and_then(|caches| Some(GroupDeployment::from(&*caches.deployments.get(&id.deployment)?))),
        };
        let group = cached.and_then(|cached| self.as_group(scope, cached));
        group.ok_or_else(|| CallRefusal::UnknownGroup { id: id.clone() }.into())
    }

    /// The latest state of a MachineDeployment, if it is a group of this scope.
    fn as_group(&self, scope: &Scope, cached: GroupDeployment) -> Option<(GroupDeployment, Limits)> {
        let is_served = match cached.id.api {
            Api::Mcm => scope.mcm,
            Api::Capi => cached.cluster.as_ref().is_some_and(|cluster| scope.clusters.contains(cluster)),
        };
        if !is_served || cached.is_terminating {
            return None;
        }
        let deployment = self.answers.later(cached);
        let limits = Limits::parse(
            deployment.annotation(annotations::MIN_SIZE),
            deployment.annotation(annotations::MAX_SIZE),
        );
        self.report(&deployment.id, limits.as_ref().err());
        Some((deployment, limits.ok()??))
    }

    /// Logs each invalid limit once.
    fn report(&self, id: &GroupId, problem: Option<&LimitsError>) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.get(id) == problem {
            return;
        }
        match problem {
            Some(problem) => {
                warn!(%id, %problem, "annotations of a MachineDeployment are invalid: it is no node group");
                reported.insert(id.clone(), problem.clone());
            }
            None => drop(reported.remove(id)),
        }
    }

    /// Returns a group with its Machines.
    pub(super) fn group(
        &self,
        scope: &Scope,
        id: &GroupId,
    ) -> Result<(GroupDeployment, GroupFact), CallError> {
        let (deployment, limits) = self.deployment(scope, id)?;
        let (members, is_rolling) = self.members(&deployment);
        let chosen =
            deployment.annotation(annotations::CHOSEN_MACHINES).map(parse_chosen).unwrap_or_default();
        let replicas = deployment.replicas;
        let group = GroupFact { id: id.clone(), limits, replicas, chosen, members, is_rolling };
        Ok((deployment, group))
    }

    /// Returns the Machines of a deployment, and whether they are of several sets.
    fn members(&self, deployment: &GroupDeployment) -> (Vec<GroupMember>, bool) {
        let owner = BTreeSet::from([deployment.uid.clone()]);
        let uid = |meta: &ObjectMeta| meta.uid.clone().unwrap_or_default();
        match deployment.id.api {
            Api::Mcm => {
                let sets = children(&self.tenant.sets, &owner);
                let sets = sets.iter().map(|set| (uid(&set.metadata), set.spec.replicas)).collect();
                let machines = children(&self.tenant.machines, &uids(&sets));
                let is_rolling = is_rolling(&sets, machines.iter().map(|machine| &machine.metadata));
                (machines.iter().map(|machine| self.mcm_member(machine)).collect(), is_rolling)
            }
            Api::Capi => {
                let sets = self.cluster_api.as_ref().map(|caches| children(&caches.sets, &owner));
                let sets = sets.iter().flatten().map(|set| (uid(&set.metadata), set.spec.replicas)).collect();
                let machines = children(&self.tenant.infra.owners, &uids(&sets));
                let is_rolling = is_rolling(&sets, machines.iter().map(|machine| &machine.metadata));
                (machines.iter().map(|machine| self.capi_member(machine)).collect(), is_rolling)
            }
        }
    }

    fn mcm_member(&self, machine: &Machine) -> GroupMember {
        members::mcm(machine, self.tenant.nodes.as_ref())
    }

    fn capi_member(&self, machine: &OwnerMachine) -> GroupMember {
        members::capi(machine, &self.tenant.infra.machines)
    }

    /// Returns the group of a Node, or of a placeholder.
    pub(super) fn group_of_node(&self, scope: &Scope, query: &NodeQuery<'_>) -> Option<GroupSummary> {
        let of_mcm = || self.mcm_machine(query).and_then(|machine| self.mcm_owner(&machine));
        let of_capi = || self.capi_machine(query).and_then(|machine| self.capi_owner(&machine));
        let apis: [(bool, &dyn Fn() -> Option<GroupId>); 2] =
            [(scope.mcm, &of_mcm), (!scope.clusters.is_empty(), &of_capi)];
        let owners = apis.into_iter().filter(|(is_served, _)| *is_served).filter_map(|(_, owner)| owner());
        let mut groups = owners.filter_map(|id| {
            let (deployment, limits) = self.deployment(scope, &id).ok()?;
            Some(summary(&deployment, limits))
        });
        groups.next()
    }

    fn mcm_machine(&self, query: &NodeQuery<'_>) -> Option<Arc<Machine>> {
        let machines = &self.tenant.machines;
        let is_meant = |key: &ObjectKey, machine: &Machine| {
            self.mcm_member(machine).is_named(Api::Mcm, key.namespace.as_str(), &query.node)
        };
        let node =
            self.tenant.nodes.as_ref().and_then(|nodes| nodes.get(&ObjectKey::new("", query.node.name)));
        let mark = node.as_deref().and_then(crate::cache::node_index::mark_of);
        let marked = mark.and_then(|name| machines.select(|key, _| key.name.as_str() == name).pop());
        let hinted = hint(query, Api::Mcm).and_then(|key| Some((key.clone(), machines.get(&key)?)));
        let known = hinted.or(marked).filter(|(key, machine)| is_meant(key, machine));
        let found = known.or_else(|| {
            let may_be = |machine: &Machine| {
                let node = machine.metadata.labels.as_ref().and_then(|all| all.get(NODE_LABEL));
                may_be(query, machine.provider_id(), node.map(String::as_str))
            };
            machines.select(|key, machine| may_be(machine) && is_meant(key, machine)).pop()
        });
        found.map(|(_, machine)| machine)
    }

    fn capi_machine(&self, query: &NodeQuery<'_>) -> Option<Arc<OwnerMachine>> {
        let machines = &self.tenant.infra.owners;
        let is_meant = |key: &ObjectKey, machine: &OwnerMachine| {
            self.capi_member(machine).is_named(Api::Capi, key.namespace.as_str(), &query.node)
        };
        let hinted = hint(query, Api::Capi).and_then(|key| Some((key.clone(), machines.get(&key)?)));
        let found = hinted.filter(|(key, machine)| is_meant(key, machine)).or_else(|| {
            let may_be = |machine: &OwnerMachine| {
                may_be(query, Some(&machine.spec.provider_id), Some(&machine.status.node_ref.name))
            };
            machines.select(|key, machine| may_be(machine) && is_meant(key, machine)).pop()
        });
        found.map(|(_, machine)| machine)
    }

    fn mcm_owner(&self, machine: &Machine) -> Option<GroupId> {
        let set = parent(&self.tenant.sets, &machine.metadata)?;
        let deployment = parent(&self.tenant.deployments, &set.metadata)?;
        Some(GroupDeployment::from(&*deployment).id)
    }

    fn capi_owner(&self, machine: &OwnerMachine) -> Option<GroupId> {
        let caches = self.cluster_api.as_ref()?;
        let set = parent(&caches.sets, &machine.metadata)?;
        let deployment = parent(&caches.deployments, &set.metadata)?;
        Some(GroupDeployment::from(&*deployment).id)
    }
}

const NODE_LABEL: &str = machinist_api::names::labels::NODE;

fn summary(deployment: &GroupDeployment, limits: Limits) -> GroupSummary {
    GroupSummary { id: deployment.id.clone(), limits, replicas: deployment.replicas }
}

/// Objects that one of these uids controls.
fn children<T: Resource<DynamicType = ()>>(store: &StoreReader<T>, owners: &BTreeSet<String>) -> Vec<Arc<T>> {
    let is_child = |_: &ObjectKey, object: &T| {
        controller(object.meta()).is_some_and(|controller| owners.contains(&controller.uid))
    };
    store.select(is_child).into_iter().map(|(_, object)| object).collect()
}

/// The object that controls another one.
fn parent<T: Resource<DynamicType = ()>>(store: &StoreReader<T>, child: &ObjectMeta) -> Option<Arc<T>> {
    let owner = controller(child)?;
    let parent = store.get(&ObjectKey::new(child.namespace.as_deref()?, &owner.name))?;
    (parent.meta().uid.as_deref() == Some(owner.uid.as_str())).then_some(parent)
}

fn uids(sets: &BTreeMap<String, Option<i32>>) -> BTreeSet<String> {
    sets.keys().cloned().collect()
}

/// Returns whether more than one of these sets has Machines or wants some.
fn is_rolling<'a>(
    sets: &BTreeMap<String, Option<i32>>,
    machines: impl Iterator<Item = &'a ObjectMeta>,
) -> bool {
    let wanting = sets.iter().filter(|(_, replicas)| replicas.is_some_and(|replicas| replicas > 0));
    let mut active: BTreeSet<&str> = wanting.map(|(uid, _)| uid.as_str()).collect();
    active.extend(machines.filter_map(controller).map(|owner| owner.uid.as_str()));
    active.len() > 1
}

/// The Machine that a placeholder or the Node's own metadata name. Whether it is the Node's is looked at afterwards.
fn hint(query: &NodeQuery<'_>, api: Api) -> Option<ObjectKey> {
    match RequestedId::parse(&query.node) {
        Some(placeholder) => (placeholder.api == api).then_some(placeholder.machine),
        None => match api {
            Api::Mcm => None,
            Api::Capi => query.machine.clone(),
        },
    }
}

/// Leaves out most Machines that are not of this Node, without a copy of anything.
fn may_be(query: &NodeQuery<'_>, provider_id: Option<&str>, node: Option<&str>) -> bool {
    let NamedNode { provider_id: id, name } = query.node;
    let ends = |own: &str, last: &str| {
        let start = own.len().checked_sub(last.len());
        start.and_then(|start| own.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(last))
    };
    let last = id.rsplit('/').find(|part| !part.is_empty());
    let has_id =
        last.is_some_and(|last| provider_id.is_some_and(|own| ends(own.trim_end_matches('/'), last)));
    has_id || (!name.is_empty() && node == Some(name))
}
