//! The sets of a deployment.

pub(crate) mod adoption;
pub(crate) mod current;
pub(crate) mod deletion_order;
pub(crate) mod freeze;
pub(crate) mod group;
pub(crate) mod history;
pub(crate) mod new_set;
pub(crate) mod revision;
