//! Events.

pub(crate) mod writing;
