//! From a deletion timestamp to nothing left.

pub(crate) mod delete;
pub(crate) mod gone;
pub(crate) mod removal;
pub(crate) mod stages;
