//! The contracts of `wit/` as Rust types.

pub(crate) mod driver;
pub(crate) mod optional;
pub(crate) mod policy;
