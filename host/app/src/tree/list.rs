//! Lists the objects of a namespace.

use std::fmt::Debug;

use anyhow::Result;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use machinist_api::infrastructure::{self, MachinistMachine};
use serde::de::DeserializeOwned;

use super::objects::{ClusterApiObjects, McmObjects, Objects};
use crate::cluster::{Cluster, explained, is_unknown_kind};

/// The rights that the command needs for machine-controller-manager's kinds.
pub(super) const RIGHTS: &str =
    "list (and for --watch watch) on machinedeployments, machinesets and machines";

/// The rights that the command needs for Cluster API's kinds.
pub(super) const CLUSTER_API_RIGHTS: &str = "list (and for --watch watch) on clusters, machinedeployments, machinesets and \
                                             machines of cluster.x-k8s.io and machinistmachines of \
                                             infrastructure.machinist.dev";

/// Why the kinds of one API are not there.
#[derive(Debug)]
enum Unlisted {
    /// The server does not know the kinds.
    NotInstalled(anyhow::Error),
    Refused(anyhow::Error),
}

type Listed<T> = std::result::Result<T, Unlisted>;

/// Lists the objects of both APIs.
///
/// # Errors
/// When neither API's kinds can be listed.
pub(super) async fn list(cluster: &Cluster) -> Result<Objects> {
    let (mcm, cluster_api) = tokio::join!(mcm(cluster), cluster_api(cluster));
    objects(mcm, cluster_api)
}

async fn mcm(cluster: &Cluster) -> Listed<McmObjects> {
    let (deployments, sets, machines) =
        tokio::try_join!(of(cluster, RIGHTS), of(cluster, RIGHTS), of(cluster, RIGHTS))?;
    Ok(McmObjects { deployments, sets, machines })
}

async fn of<K>(cluster: &Cluster, rights: &str) -> Listed<Vec<K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    cluster.try_list().await.map_err(|error| {
        let is_unknown = is_unknown_kind(&error);
        let error = explained(error, &cluster.list_task::<K>(), rights);
        if is_unknown { Unlisted::NotInstalled(error) } else { Unlisted::Refused(error) }
    })
}

async fn cluster_api(cluster: &Cluster) -> Listed<ClusterApiObjects> {
    match known_to_cluster_api(cluster).await {
        // A server refuses also kinds that it does not know.
        Err(Unlisted::Refused(why)) if !is_served(cluster).await => Err(Unlisted::NotInstalled(why)),
        listed => listed,
    }
}

/// MachinistMachines can be shown without the kinds of Cluster API's core.
async fn known_to_cluster_api(cluster: &Cluster) -> Listed<ClusterApiObjects> {
    let machinist_machines: Vec<MachinistMachine> = of(cluster, CLUSTER_API_RIGHTS).await?;
    let (clusters, deployments, sets, machines) =
        tokio::try_join!(if_known(cluster), if_known(cluster), if_known(cluster), if_known(cluster))?;
    Ok(ClusterApiObjects { clusters, deployments, sets, machines, machinist_machines })
}

/// One kind, which is empty where the server does not know it.
async fn if_known<K>(cluster: &Cluster) -> Listed<Vec<K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    match of(cluster, CLUSTER_API_RIGHTS).await {
        Err(Unlisted::NotInstalled(_)) => Ok(Vec::new()),
        other => other,
    }
}

/// Returns whether the server has MachinistMachines, which every account may ask. In doubt it has them.
async fn is_served(cluster: &Cluster) -> bool {
    match cluster.client.list_api_group_resources(infrastructure::API_VERSION).await {
        Ok(_) => true,
        Err(kube::Error::Api(status)) => status.code != 404,
        Err(_) => true,
    }
}

/// One API is enough. Kinds that are not installed are not missed.
fn objects(mcm: Listed<McmObjects>, cluster_api: Listed<ClusterApiObjects>) -> Result<Objects> {
    let (mcm, cluster_api, left_out) = match (mcm, cluster_api) {
        (Ok(mcm), Ok(cluster_api)) => (Some(mcm), Some(cluster_api), None),
        (Ok(mcm), Err(Unlisted::NotInstalled(_))) => (Some(mcm), None, None),
        (Ok(mcm), Err(Unlisted::Refused(why))) => (Some(mcm), None, Some(without_cluster_api(&why))),
        (Err(Unlisted::NotInstalled(_)), Ok(cluster_api)) => (None, Some(cluster_api), None),
        (Err(Unlisted::Refused(why)), Ok(cluster_api)) => {
            let line = format!("The objects of machine-controller-manager's kinds are left out: {why:#}");
            (None, Some(cluster_api), Some(line))
        }
        (Err(Unlisted::NotInstalled(why) | Unlisted::Refused(why)), Err(_)) => return Err(why),
    };
    Ok(Objects { mcm, cluster_api, left_out })
}

/// The line that says that the objects of Cluster API's kinds are not shown.
pub(super) fn without_cluster_api(why: &anyhow::Error) -> String {
    format!("The objects of Cluster API's kinds are left out: {why:#}")
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn there<T: Default>() -> Listed<T> {
        Ok(T::default())
    }

    fn missing<T>() -> Listed<T> {
        Err(Unlisted::NotInstalled(anyhow!("not installed")))
    }

    fn refused<T>() -> Listed<T> {
        Err(Unlisted::Refused(anyhow!("ask an administrator")))
    }

    /// Which of the two are shown, and what is said of the others.
    fn check(mcm: Listed<McmObjects>, cluster_api: Listed<ClusterApiObjects>, expected: (bool, bool, &str)) {
        let objects = objects(mcm, cluster_api).unwrap();
        let said = objects.left_out.as_deref().unwrap_or_default();
        assert_eq!((objects.mcm.is_some(), objects.cluster_api.is_some(), said), expected);
    }

    #[test]
    fn one_api_is_enough_and_a_missing_right_is_one_line() {
        check(there(), there(), (true, true, ""));
        check(there(), missing(), (true, false, ""));
        let line = "The objects of Cluster API's kinds are left out: ask an administrator";
        check(there(), refused(), (true, false, line));
        check(missing(), there(), (false, true, ""));
        let line = "The objects of machine-controller-manager's kinds are left out: ask an administrator";
        check(refused(), there(), (false, true, line));
    }

    #[test]
    fn without_either_the_first_problem_is_the_error() {
        for (mcm, cluster_api, part) in [
            (missing(), missing(), "not installed"),
            (missing(), refused(), "not installed"),
            (refused(), missing(), "ask an administrator"),
            (refused(), refused(), "ask an administrator"),
        ] {
            assert_eq!(objects(mcm, cluster_api).unwrap_err().to_string(), part);
        }
    }
}
