//! MachineDeployments: facts about sets, Machines and Nodes from caches, writes to them, one status write for each
//! reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |
//! | `observe` | all facts of a reconcile, from the caches, without waiting |
//! | `members` | facts about Machines and their Nodes |
//! | `selector`, `template` | fields of the spec, as the core reads them |
//! | `names` | names of labels and annotations |
//! | `act` | does the effects |
//! | `sets`, `node` | effects on sets and Nodes |
//! | `status_patch` | the status that a conclusion asks for, as a merge patch of the differences |
//! | `status` | the status, as the core reads it |
//! | `events` | which Events a reconcile writes |

mod act;
mod events;
mod members;
mod names;
mod node;
mod observe;
mod reconcile;
mod selector;
mod sets;
mod status;
mod status_patch;
mod template;

use std::collections::BTreeMap;

use machinist_core::value::id::{ObjectKey, Uid};

use crate::controllers::machine::SharedNodes;

pub(crate) use reconcile::run;
pub use template::fact as template_fact;

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
