//! `machinist plugin`: ships plugins, shows them, and tries new versions.

pub(crate) mod cluster;
pub(crate) mod file;
pub(crate) mod look;
pub(crate) mod ship;
pub(crate) mod try_out;
