//! All that the runtime knows of one tenant without asking anyone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinist_api::infrastructure::cluster_api::{self, OwnerCluster, OwnerMachine};
use machinist_api::infrastructure::{
    MachinistCluster, MachinistIdentity, MachinistMachine, MachinistMachineTemplate, MachinistRemediation,
};
use machinist_api::{Machine, MachineClass, MachineDeployment, MachineSet};
use machinist_core::safety::meltdown::Meltdown;
use machinist_core::value::id::{ObjectKey, Uid};

use crate::cache::StoreReader;
use crate::cache::deleted::DeletedObjects;
use crate::cache::node_index::NodeIndex;
use crate::client::secret_reads::SecretReads;
use crate::context::clock::ServerClock;
use crate::context::key::Key;
use crate::context::settings::Settings;
use crate::drain::DrainCaches;
use crate::driver_calls::capacity::Capacity;
use crate::driver_calls::class_checks::ClassChecks;
use crate::driver_calls::unstarted::UnstartedMachines;
use crate::driver_calls::vm_calls::VmMemory;
use crate::plugins::policies::Policies;
use crate::ports::Drivers;

/// Caches and memories for the kinds for Cluster API.
#[derive(Clone)]
pub(crate) struct InfraState {
    pub machines: StoreReader<MachinistMachine>,
    pub clusters: StoreReader<MachinistCluster>,
    pub templates: StoreReader<MachinistMachineTemplate>,
    pub remediations: StoreReader<MachinistRemediation>,
    pub identities: StoreReader<MachinistIdentity>,
    /// Machines of Cluster API.
    pub owners: StoreReader<OwnerMachine>,
    /// Clusters of Cluster API.
    pub owner_clusters: StoreReader<OwnerCluster>,
    /// The memory of this process about calls for their VMs.
    pub vms: Arc<VmMemory>,
    /// Secrets that are read by name.
    pub secrets: Arc<SecretReads>,
}

/// Caches, drivers, policies and memories of one tenant.
#[derive(Clone)]
pub(crate) struct TenantState {
    /// Machines of the control namespace.
    pub machines: StoreReader<Machine>,
    /// Classes of the control namespace.
    pub classes: StoreReader<MachineClass>,
    /// Secrets of the control namespace.
    pub secrets: StoreReader<Secret>,
    /// Sets of the control namespace.
    pub sets: StoreReader<MachineSet>,
    /// Deployments of the control namespace.
    pub deployments: StoreReader<MachineDeployment>,
    /// Machines that this process created and has not requested a VM for.
    pub unstarted: Arc<UnstartedMachines>,
    /// Machines and sets that are gone and that the caches still show.
    pub deleted: Arc<DeletedObjects>,
    /// The memory of this process about calls for VMs of Machines.
    pub vms: Arc<VmMemory>,
    /// For which classes clouds have no capacity.
    pub capacity: Capacity,
    /// Nodes of the target cluster; `None` without one.
    pub nodes: Option<StoreReader<Node>>,
    /// Those Nodes by VM and by Machine.
    pub node_index: Arc<NodeIndex>,
    /// Caches of all drains; `None` without a target cluster.
    pub drains: Option<Arc<DrainCaches>>,
    /// The health of Machines by deployment and zone. Never locked across an await.
    pub meltdown: Arc<Mutex<Meltdown>>,
    pub drivers: Arc<dyn Drivers>,
    /// The health policies, and their answers.
    pub policies: Policies,
    /// Caches and memories for Cluster API; empty where its kinds are not served.
    pub infra: InfraState,
    /// The results of the last checks of classes.
    pub class_checks: Arc<ClassChecks>,
    /// The clock that the times of objects are of.
    pub server_clock: ServerClock,
    /// Settings of this tenant.
    pub settings: Arc<Settings>,
}

impl InfraState {
    /// Returns the Machine of Cluster API that owns an object.
    pub(crate) fn owner_of(&self, meta: &ObjectMeta) -> Option<Arc<OwnerMachine>> {
        let (name, uid) = cluster_api::owner(meta, "Machine")?;
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let owner = self.owners.get(&ObjectKey::new(namespace, name))?;
        (owner.metadata.uid.as_deref() == Some(uid)).then_some(owner)
    }

    fn is_synced(&self) -> bool {
        self.machines.is_synced()
            && self.clusters.is_synced()
            && self.templates.is_synced()
            && self.remediations.is_synced()
            && self.identities.is_synced()
            && self.owners.is_synced()
            && self.owner_clusters.is_synced()
    }
}

impl TenantState {
    /// Returns true once every watched cache has a complete listing.
    pub(crate) fn is_synced(&self) -> bool {
        let controllers = self.settings.controllers;
        self.machines.is_synced()
            && self.classes.is_synced()
            && (!controllers.machines || self.secrets.is_synced())
            && (!controllers.know_owners() || (self.sets.is_synced() && self.deployments.is_synced()))
            && self.nodes.as_ref().is_none_or(StoreReader::is_synced)
            && (!self.settings.cluster_api.is_served() || self.infra.is_synced())
    }

    /// Locks the health of Machines. A panic of another holder leaves a wrong count, and later changes correct it.
    pub(crate) fn meltdown(&self) -> MutexGuard<'_, Meltdown> {
        self.meltdown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True while the object is there.
    pub(crate) fn has(&self, key: &Key) -> bool {
        match key {
            Key::Machine(key) => self.machines.get(key).is_some(),
            Key::Class(key) => self.classes.get(key).is_some(),
            Key::Secret(key) => self.secrets.get(key).is_some(),
            Key::Set(key) => self.sets.get(key).is_some(),
            Key::Deployment(key) => self.deployments.get(key).is_some(),
            Key::InfraMachine(key) => self.infra.machines.get(key).is_some(),
            Key::InfraCluster(key) => self.infra.clusters.get(key).is_some(),
            Key::InfraIdentity(key) => self.infra.identities.get(key).is_some(),
            // It is read when it is reconciled.
            Key::InfraSecret(_) => true,
            Key::InfraTemplate(key) => self.infra.templates.get(key).is_some(),
            Key::InfraRemediation(key) => self.infra.remediations.get(key).is_some(),
        }
    }

    /// True while the object is there and cannot be decoded.
    pub(crate) fn is_unreadable(&self, key: &Key) -> bool {
        match key {
            Key::Machine(key) => self.machines.is_unreadable(key),
            Key::Class(key) => self.classes.is_unreadable(key),
            Key::Secret(key) => self.secrets.is_unreadable(key),
            Key::Set(key) => self.sets.is_unreadable(key),
            Key::Deployment(key) => self.deployments.is_unreadable(key),
            Key::InfraMachine(key) => self.infra.machines.is_unreadable(key),
            Key::InfraCluster(key) => self.infra.clusters.is_unreadable(key),
            Key::InfraIdentity(key) => self.infra.identities.is_unreadable(key),
            Key::InfraSecret(_) => false,
            Key::InfraTemplate(key) => self.infra.templates.is_unreadable(key),
            Key::InfraRemediation(key) => self.infra.remediations.is_unreadable(key),
        }
    }

    /// The uid of the object that is there.
    pub(crate) fn uid(&self, key: &Key) -> Option<String> {
        match key {
            Key::Machine(key) => self.machines.get(key)?.metadata.uid.clone(),
            Key::Class(key) => self.classes.get(key)?.metadata.uid.clone(),
            Key::Secret(key) => self.secrets.get(key)?.metadata.uid.clone(),
            Key::Set(key) => self.sets.get(key)?.metadata.uid.clone(),
            Key::Deployment(key) => self.deployments.get(key)?.metadata.uid.clone(),
            Key::InfraMachine(key) => self.infra.machines.get(key)?.metadata.uid.clone(),
            Key::InfraCluster(key) => self.infra.clusters.get(key)?.metadata.uid.clone(),
            Key::InfraIdentity(key) => self.infra.identities.get(key)?.metadata.uid.clone(),
            Key::InfraSecret(_) => None,
            Key::InfraTemplate(key) => self.infra.templates.get(key)?.metadata.uid.clone(),
            Key::InfraRemediation(key) => self.infra.remediations.get(key)?.metadata.uid.clone(),
        }
    }

    /// Notes that an API server has an object no more, for as long as the cache shows it.
    pub(crate) fn note_deleted(&self, key: &Key, uid: &Uid) {
        self.deleted.add(uid, || self.uid(key).as_deref() == Some(uid.as_str()));
    }

    /// The class that a Machine names, by name in the Machine's namespace.
    pub(crate) fn class_of(&self, machine: &Machine) -> Option<Arc<MachineClass>> {
        let name = machine.spec.class.name.as_deref()?;
        self.classes.get(&ObjectKey::new(machine.metadata.namespace.as_deref().unwrap_or_default(), name))
    }
}
