//! Machines and their Nodes.

pub(crate) mod claims;
pub(crate) mod forms;
pub(crate) mod joining;
pub(crate) mod lookout;
pub(crate) mod preserving;
pub(crate) mod replacing;
pub(crate) mod unmanaged;
