//! Checks of the crates: their edges, manifests and licences, and the purity of the core.

pub mod edges;
pub mod licence;
pub mod manifests;
pub mod purity;
