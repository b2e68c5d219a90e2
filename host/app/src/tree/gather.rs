//! Reads a namespace.

use std::fmt::Debug;

use anyhow::Result;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::grow::Objects;
use crate::cluster::{Cluster, explained};

/// What whoever looks needs.
pub(super) const RIGHTS: &str =
    "list (and for --watch watch) on machinedeployments, machinesets and machines";

/// All objects of the three kinds.
pub(super) async fn gather(cluster: &Cluster) -> Result<Objects> {
    let (deployments, sets, machines) = tokio::try_join!(list(cluster), list(cluster), list(cluster))?;
    Ok(Objects { deployments, sets, machines })
}

async fn list<K>(cluster: &Cluster) -> Result<Vec<K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let task = || format!("list {}s of namespace {}", K::kind(&()), cluster.namespace);
    let listed = api.list(&ListParams::default()).await;
    listed.map(|list| list.items).map_err(|error| explained(error, &task(), RIGHTS))
}
