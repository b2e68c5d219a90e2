//! MachineDeployments: facts about sets, Machines and Nodes from caches, writes to them, one status write for each
//! reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile: observes once, then asks the core and acts until the core concludes |
//! | `observe` | all facts of a reconcile, from the caches, without waiting |
//! | `members` | facts about Machines and their Nodes |
//! | `selector`, `template` | fields of the spec, as the core reads them |
//! | `names` | names of labels and annotations |
//! | `act` | does the effects, after it has checked leadership and gate |
//! | `sets`, `node` | effects on sets and Nodes |
//! | `publish` | writes the status if it differs |
//! | `status` | the status, as the core reads it |
//! | `events` | which Events a reconcile writes |

mod act;
mod events;
mod members;
mod names;
mod node;
mod observe;
mod publish;
mod reconcile;
mod selector;
mod sets;
mod status;
mod template;

use std::collections::BTreeMap;

use machinist_core::value::id::{ObjectKey, Uid};

use crate::controllers::machine::SharedNodes;

pub(crate) use reconcile::run;
pub use template::fact as template_fact;

/// Who concerns a deployment, as the indexes know it.
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
