//! From the objects of a namespace to what is shown of them. Pure.
//!
//! | module | what it does |
//! | --- | --- |
//! | `mcm` | the kinds of machine-controller-manager |
//! | `cluster_api` | the kinds of Cluster API, and MachinistMachines |
//! | `rollout` | how far a rollout is |
//! | `owners` | which objects belong to which |

mod cluster_api;
mod mcm;
mod owners;
mod rollout;

use super::model::Forest;
use super::objects::Objects;

pub(super) fn grow(objects: &Objects, namespace: &str) -> Forest {
    Forest {
        namespace: namespace.to_owned(),
        cluster_api: objects.cluster_api.as_ref().map(cluster_api::grow),
        left_out: objects.left_out.clone(),
        ..objects.mcm.as_ref().map(mcm::grow).unwrap_or_default()
    }
}
