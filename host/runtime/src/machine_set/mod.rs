//! MachineSets: facts from caches, effects on Machines and the set, one status write a pass.

mod act;
mod body;
mod child;
mod listing;
mod news;
mod observe;
mod pass;
mod publish;

use machinist_core::id::ObjectKey;

use crate::machine::SharedNodes;

pub(crate) use child::unreadable;
pub(crate) use pass::run;

/// Machines that concern a set, as the indexes know them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// Machines that it controls, and those that nobody does.
    pub machines: Vec<ObjectKey>,
    /// Nodes that several Machines name.
    pub shared_nodes: SharedNodes,
}
