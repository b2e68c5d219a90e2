//! Machines and their Nodes.

pub(crate) mod conflicts;
pub(crate) mod forms;
pub(crate) mod joining;
pub(crate) mod names_and_tokens;
pub(crate) mod preserving;
pub(crate) mod replacing;
pub(crate) mod unmanaged;
