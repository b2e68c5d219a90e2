//! Facts of a Machine's reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `observe` | all facts of a reconcile, from the caches, without waiting |
//! | `node_ownership` | which Node is the Machine's, and which other Machines name it or the VM |
//! | `deletion` | facts of a deletion |
//! | `preservation` | preservation, updates in place, capacity, limits |
//! | `problems` | settings that cannot be parsed |

pub(crate) mod deletion;
pub(crate) mod node_ownership;
pub(crate) mod observe;
pub(crate) mod preservation;
pub(crate) mod problems;
