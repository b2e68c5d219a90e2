//! From a file to a cluster or a registry.

pub(crate) mod bundle;
pub(crate) mod ownership;
pub(crate) mod plan;
pub(crate) mod push;
pub(crate) mod regions;
pub(crate) mod registry;
pub(crate) mod resolve;
pub(crate) mod sign;
pub(crate) mod signature;
