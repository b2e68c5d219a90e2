//! Checks of the crates: their edges, manifests and licences, and the purity of the core.
//!
//! | module | what it checks |
//! | --- | --- |
//! | `edges` | which crate may depend on which |
//! | `manifests` | one version table, the same lints everywhere |
//! | `licence` | the licence of the tree, and of each crate |
//! | `purity` | nothing in the core reads a clock, files or the network |

pub mod edges;
pub mod licence;
pub mod manifests;
pub mod purity;
