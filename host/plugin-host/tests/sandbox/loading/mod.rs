//! From bytes to a plugin that serves.

pub(crate) mod artifacts;
pub(crate) mod cache;
pub(crate) mod directory;
pub(crate) mod parts;
pub(crate) mod rejection;
pub(crate) mod tiers;
