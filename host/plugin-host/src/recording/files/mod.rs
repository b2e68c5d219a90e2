//! Recordings on disk.

pub(crate) mod archive;
pub mod folder;
