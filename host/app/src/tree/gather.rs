//! Reads the objects of a namespace.

use std::fmt::Debug;

use anyhow::Result;
use kube::api::ListParams;
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::grow::Objects;
use crate::cluster::{Cluster, explained};

/// The rights that the command needs.
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
    let api: Api<DeserializeGuard<K>> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let task = || format!("list {}s of namespace {}", K::kind(&()), cluster.namespace);
    let listed = api.list(&ListParams::default()).await;
    listed.map(|list| readable(list.items)).map_err(|error| explained(error, &task(), RIGHTS))
}

/// The objects that can be decoded. The others are named on stderr: none of them hides the rest.
pub(crate) fn readable<K: Resource<DynamicType = ()>>(items: Vec<DeserializeGuard<K>>) -> Vec<K> {
    let objects = items.into_iter().filter_map(|item| match item.0 {
        Ok(object) => Some(object),
        Err(invalid) => {
            let name = invalid.metadata.name.unwrap_or_default();
            eprintln!("{} {name} is left out, since it cannot be decoded: {}", K::kind(&()), invalid.error);
            None
        }
    });
    objects.collect()
}
