//! What a writer of ConfigMaps sends.

pub(crate) mod bundle;
pub(crate) mod component;
pub(crate) mod configmap;
pub(crate) mod grants;
pub(crate) mod packed;
pub(crate) mod parts;
pub(crate) mod policy;
pub(crate) mod terms;
