//! Facts of a set's reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `observe` | all facts of a reconcile, from the caches |
//! | `child` | a Machine as its set sees it |

pub(crate) mod child;
pub(crate) mod observe;

use machinist_core::value::id::ObjectKey;

use super::SharedNodes;

/// Machines that concern a set, as the indexes know them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// Machines that it controls, and those that nobody does.
    pub machines: Vec<ObjectKey>,
    /// Nodes that several Machines name.
    pub shared_nodes: SharedNodes,
}
