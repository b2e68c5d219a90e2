//! Events.

pub(crate) mod telling;
