//! Plugins, their versions, and their checks of classes.

pub(crate) mod class_check;
pub(crate) mod pins;
pub(crate) mod plugins;
