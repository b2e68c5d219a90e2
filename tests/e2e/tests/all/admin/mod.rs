//! What operators see and may see.

pub(crate) mod debug_access;
pub(crate) mod explain;
