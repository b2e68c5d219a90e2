//! MachineSets: facts from caches, effects on Machines and the set, one status write a pass.

mod act;
mod body;
mod events;
mod listing;
mod machine_fact;
mod observe;
mod pass;
mod publish;

use machinist_core::value::id::ObjectKey;

use crate::machine::SharedNodes;

pub(crate) use machine_fact::unreadable;
pub(crate) use pass::run;

/// Machines that concern a set, as the indexes know them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// Machines that it controls, and those that nobody does.
    pub machines: Vec<ObjectKey>,
    /// Nodes that several Machines name.
    pub shared_nodes: SharedNodes,
}
