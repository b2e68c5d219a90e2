//! From a Machine to its VM: prerequisites, the create, doubt, failures.

pub(crate) mod create;
pub(crate) mod doubt;
pub(crate) mod failed;
pub(crate) mod prerequisites;
