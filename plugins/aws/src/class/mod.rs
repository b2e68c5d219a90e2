//! The operator's input: `providerSpec` of a class, placement, volumes.

pub(crate) mod lenient;
pub(crate) mod placement;
pub(crate) mod spec;
pub(crate) mod volume;
