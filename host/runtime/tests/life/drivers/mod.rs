//! Plugins, their versions, and what they say of classes.

pub(crate) mod class_check;
pub(crate) mod pins;
pub(crate) mod plugins;
