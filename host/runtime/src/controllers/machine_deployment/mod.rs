//! MachineDeployments: writes to sets, Machines and Nodes, one status write for each reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |
//! | `names` | names of labels and annotations |
//! | `act` | does the effects |
//! | `sets`, `node` | effects on sets and Nodes |
//! | `status_patch` | the status that a conclusion asks for, as a merge patch of the differences |
//! | `events` | which Events a reconcile writes |

mod act;
mod events;
pub(crate) mod names;
mod node;
mod reconcile;
mod sets;
mod status_patch;

use std::collections::BTreeMap;

use machinist_core::value::id::{ObjectKey, Uid};

use crate::controllers::facts::SharedNodes;

pub(crate) use reconcile::run;

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
