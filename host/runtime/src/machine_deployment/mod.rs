//! MachineDeployments: facts about sets, Machines and Nodes from caches, writes to them, one status write a pass.

mod act;
mod events;
mod members;
mod names;
mod node;
mod observe;
mod pass;
mod publish;
mod selector;
mod sets;
mod status;
pub(crate) mod strategy;
mod template;

use std::collections::BTreeMap;

use machinist_core::value::id::{ObjectKey, Uid};

use crate::machine::SharedNodes;

pub(crate) use pass::run;
pub use template::fact as template_fact;

/// Who concerns a deployment, as the indexes know it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    /// Sets that it controls, and those without a controller that its selector selects.
    pub sets: Vec<ObjectKey>,
    /// Machines of these sets, by the uid of the set.
    pub machines: BTreeMap<Uid, Vec<ObjectKey>>,
    /// Other deployments of the namespace.
    pub rivals: Vec<ObjectKey>,
    /// Nodes that several Machines name.
    pub shared_nodes: SharedNodes,
}
