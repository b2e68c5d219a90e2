//! Facts of a deployment's reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `observe` | all facts of a reconcile, from the caches |
//! | `members` | Machines and their Nodes as the deployment sees them |
//! | `selector`, `template` | fields of the spec |
//! | `status` | the status |

pub(crate) mod members;
pub(crate) mod observe;
pub(crate) mod selector;
pub(crate) mod status;
pub(crate) mod template;

use std::collections::BTreeMap;

use machinist_core::value::id::{ObjectKey, Uid};

use super::SharedNodes;

/// Objects that concern a deployment, by the indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerTree {
    /// Sets that it controls, and those without a controller that its selector selects.
    pub sets: Vec<ObjectKey>,
    /// Machines of these sets, by the uid of the set.
    pub machines: BTreeMap<Uid, Vec<ObjectKey>>,
    /// Other deployments of the namespace.
    pub other_deployments: Vec<ObjectKey>,
    /// Nodes that several Machines name.
    pub shared_nodes: SharedNodes,
}
