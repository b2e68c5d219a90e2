//! Output for operators, and its limits.

pub(crate) mod debug_access;
pub(crate) mod explain;
