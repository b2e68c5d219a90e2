//! The operator's input: `providerSpec` of a class, settings of the plugin, placement.

pub(crate) mod lenient;
pub(crate) mod placement;
pub(crate) mod settings;
pub(crate) mod spec;
pub(crate) mod volume;
