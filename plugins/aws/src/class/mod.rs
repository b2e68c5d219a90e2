//! The operator's input: `providerSpec` of a class, placement, zones, volumes; and the resources of its Nodes.

pub(crate) mod lenient;
pub(crate) mod placement;
pub(crate) mod resources;
pub(crate) mod spec;
pub(crate) mod volume;
pub(crate) mod zone;
