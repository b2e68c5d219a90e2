//! The objects that a MachinistMachine depends on, from the caches, and the Secrets that have to be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::core::ObjectMeta;
use machinist_api::infrastructure::cluster_api::{OwnerCluster, OwnerMachine};
use machinist_api::infrastructure::names::{annotations, finalizers, labels};
use machinist_api::infrastructure::{self, IdentityReference, MachinistCluster, MachinistMachine};
use machinist_api::{MachineClass, names};
use machinist_core::infra_machine::PauseCause;
use machinist_core::value::id::{ObjectKey, ProviderName};

use super::identity::{self, NamedIdentity};
use crate::cache::fields::secret_keys;
use crate::controllers::objects::metadata::{annotation, label};
use crate::controllers::state::TenantState;
use crate::driver_calls::call_slots::CloudAccount;
use crate::driver_calls::driver_choice::DriverChoice;

/// A MachinistMachine, and the objects that it depends on.
pub(crate) struct RelatedObjects {
    pub(crate) key: ObjectKey,
    pub(crate) machine: Arc<MachinistMachine>,
    pub(crate) owner: Option<Arc<OwnerMachine>>,
    /// The name of its Cluster, from its Machine or from its own label.
    pub(crate) cluster_name: Option<String>,
    pub(crate) cluster: Option<Arc<OwnerCluster>>,
    pub(crate) infra_cluster: Option<Arc<MachinistCluster>>,
    pub(crate) class: Option<Arc<MachineClass>>,
    pub(crate) choice: DriverChoice,
}

/// The Secrets that a reconcile reads.
pub(crate) struct NeededSecrets {
    /// The bootstrap data of its Machine.
    pub(crate) bootstrap: Option<ObjectKey>,
    /// True if the credentials of the cloud may be needed.
    pub(crate) credentials: bool,
}

impl RelatedObjects {
    /// `None` when the MachinistMachine is not there any more.
    pub(crate) fn of(tenant: &TenantState, key: &ObjectKey) -> Option<Self> {
        let infra = &tenant.infra;
        let machine = infra.machines.get(key)?;
        let namespace = key.namespace.as_str();
        let owner = infra.owner_of(&machine.metadata);
        let of_owner = owner.as_ref().and_then(|owner| owner.cluster().map(str::to_owned));
        let cluster_name = of_owner
            .or_else(|| label(&machine.metadata, labels::CLUSTER_NAME).map(str::to_owned))
            .filter(|name| !name.is_empty());
        let cluster =
            cluster_name.as_ref().and_then(|name| infra.owner_clusters.get(&ObjectKey::new(namespace, name)));
        let infra_cluster = cluster.as_ref().and_then(|cluster| {
            let name = cluster.spec.infrastructure_ref.named(infrastructure::GROUP, "MachinistCluster")?;
            infra.clusters.get(&ObjectKey::new(namespace, name))
        });
        let class_name = machine.spec.class_ref.as_ref().map(|class| class.name.as_str());
        let class = class_name.and_then(|name| tenant.classes.get(&ObjectKey::new(namespace, name)));
        let choice = match (&machine.spec.class_ref, &machine.spec.provider) {
            (None, Some(provider)) => DriverChoice::of_provider(provider),
            _ => DriverChoice::of(class.as_deref()),
        };
        let key = key.clone();
        Some(Self { key, machine, owner, cluster_name, cluster, infra_cluster, class, choice })
    }

    /// Returns why nothing may be done to it, if so.
    pub(crate) fn pause(&self) -> Option<PauseCause> {
        pause(&self.machine.metadata, self.cluster.as_deref())
    }

    /// The mark of its VM: as stored with its key, else as its cluster has it. It is equal after a move.
    pub(crate) fn cluster_mark(&self) -> String {
        if let Some(mark) = annotation(&self.machine.metadata, names::annotations::CLUSTER_MARK) {
            return mark.to_owned();
        }
        let given = self.infra_cluster.as_ref().and_then(|cluster| cluster.spec.cluster_id.clone());
        given.filter(|mark| !mark.is_empty()).unwrap_or_else(|| {
            format!("{}/{}", self.key.namespace, self.cluster_name.as_deref().unwrap_or_default())
        })
    }

    /// The failure domain that its VM has to be in: as noted with its key, else as its Machine asks for it.
    pub(crate) fn failure_domain(&self) -> Option<&str> {
        let meta = &self.machine.metadata;
        let wanted = if annotation(meta, annotations::MACHINE_KEY).is_some() {
            annotation(meta, annotations::FAILURE_DOMAIN)
        } else {
            self.owner.as_ref().map(|owner| owner.spec.failure_domain.as_str())
        };
        wanted.filter(|domain| !domain.is_empty())
    }

    /// The reference to the credentials: its own, else the one that was noted with its key, else that of its cluster.
    pub(crate) fn identity_reference(&self) -> Option<IdentityReference> {
        self.machine.identity(self.infra_cluster.as_deref())
    }

    /// The credentials that it names; else those of its class.
    pub(crate) fn identity(&self, tenant: &TenantState, labels: &BTreeMap<String, String>) -> NamedIdentity {
        let find = |name: &str| tenant.infra.identities.get(&ObjectKey::new("", name));
        let namespace = self.key.namespace.as_str();
        match self.identity_reference() {
            Some(reference) => identity::named(&reference, namespace, labels, &find),
            None => identity::of_class(self.class.as_deref().map(secret_keys).unwrap_or_default(), namespace),
        }
    }

    /// Returns whether the labels of its namespace decide about its credentials.
    pub(crate) fn needs_namespace_labels(&self, tenant: &TenantState) -> bool {
        let find = |name: &str| tenant.infra.identities.get(&ObjectKey::new("", name));
        self.identity_reference().is_some_and(|reference| identity::needs_labels(&reference, &find))
    }

    /// Returns the Secrets that a reconcile reads: none before it may call a driver.
    pub(crate) fn needed_secrets(&self) -> NeededSecrets {
        let (meta, none) = (&self.machine.metadata, NeededSecrets { bootstrap: None, credentials: false });
        if self.pause().is_some() {
            return none;
        }
        let is_held = meta.finalizers.iter().flatten().any(|name| name == finalizers::MACHINE);
        if meta.deletion_timestamp.is_some() {
            return NeededSecrets { credentials: is_held, ..none };
        }
        if self.machine.provider_id().is_some() {
            return NeededSecrets { credentials: true, ..none };
        }
        let Some(owner) = &self.owner else { return none };
        if !self.cluster.as_ref().is_some_and(|cluster| cluster.has_infrastructure()) {
            return none;
        }
        let name = Some(owner.spec.bootstrap.data_secret_name.as_str()).filter(|name| !name.is_empty());
        let bootstrap = name.map(|name| ObjectKey::new(self.key.namespace.as_str(), name));
        NeededSecrets { bootstrap, credentials: true }
    }

    /// The account at the cloud: the driver, and the Secrets that its credentials come from.
    pub(crate) fn account(&self, tenant: &TenantState) -> CloudAccount {
        let secrets = match self.identity(tenant, &BTreeMap::new()) {
            NamedIdentity::Secrets(secrets) => secrets,
            NamedIdentity::Nothing | NamedIdentity::Unusable(_) => Vec::new(),
        };
        CloudAccount::new(ProviderName::folded(self.choice.provider.as_str()), secrets)
    }
}

/// Returns why nothing may be done to an object of this Cluster, if so.
pub(crate) fn pause(meta: &ObjectMeta, cluster: Option<&OwnerCluster>) -> Option<PauseCause> {
    if annotation(meta, annotations::DELETE_FOR_MOVE).is_some() {
        return Some(PauseCause::Moved);
    }
    if annotation(meta, annotations::PAUSED).is_some() {
        return Some(PauseCause::Annotation(annotations::PAUSED));
    }
    let cluster = cluster.filter(|cluster| cluster.is_paused())?;
    Some(PauseCause::Cluster(cluster.metadata.name.clone().unwrap_or_default()))
}
