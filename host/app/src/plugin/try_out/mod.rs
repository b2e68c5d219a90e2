//! How a new version does, before it serves.

pub(crate) mod grants;
pub(crate) mod shadow;
pub(crate) mod trial;
pub(crate) mod wait;
