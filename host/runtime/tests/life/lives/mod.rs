//! One Machine, from its creation to its end.

pub(crate) mod capacity;
pub(crate) mod cloud_calls;
pub(crate) mod cluster_marks;
pub(crate) mod failed_creates;
pub(crate) mod fixed_prerequisites;
pub(crate) mod lifecycle;
pub(crate) mod node_writes;
pub(crate) mod prerequisites;
pub(crate) mod retries;
