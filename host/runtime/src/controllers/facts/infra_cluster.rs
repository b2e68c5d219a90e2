//! Facts of a MachinistCluster's reconcile.

use std::sync::Arc;

use machinist_api::infrastructure::MachinistCluster;
use machinist_api::infrastructure::cluster_api::{self, OwnerCluster};
use machinist_api::infrastructure::names::{annotations, finalizers};
use machinist_core::infra_cluster::InfraClusterView;
use machinist_core::value::id::ObjectKey;

use super::infra_machine::related::pause;
use crate::controllers::objects::metadata::annotation;
use crate::controllers::state::TenantState;

/// The facts of a reconcile, and the object that they were taken from.
pub(crate) struct ObservedInfraCluster {
    pub(crate) view: InfraClusterView,
    pub(crate) cluster: Arc<MachinistCluster>,
}

/// `machines`: those that need it. `None` when the object is not there any more.
pub(crate) fn observe(
    tenant: &TenantState,
    key: &ObjectKey,
    machines: &[ObjectKey],
) -> Option<ObservedInfraCluster> {
    let cluster = tenant.infra.clusters.get(key)?;
    let meta = &cluster.metadata;
    let owner = cluster_api::owner(meta, "Cluster");
    let owner: Option<Arc<OwnerCluster>> = owner
        .and_then(|(name, _)| tenant.infra.owner_clusters.get(&ObjectKey::new(key.namespace.as_str(), name)));
    let view = InfraClusterView {
        paused: pause(meta, owner.as_deref()),
        is_managed_elsewhere: annotation(meta, annotations::MANAGED_BY).is_some(),
        has_owner: owner.is_some(),
        has_finalizer: meta.finalizers.iter().flatten().any(|name| name == finalizers::CLUSTER),
        is_deleting: meta.deletion_timestamp.is_some(),
        machines: machines.iter().take(NAMED).map(|machine| machine.name.to_string()).collect(),
    };
    Some(ObservedInfraCluster { view, cluster })
}

/// Machines that a message names.
const NAMED: usize = 3;
