//! Input of a writer of ConfigMaps.

pub(super) mod bundle;
pub(super) mod component;
pub(super) mod configmap;
pub(super) mod grants;
pub(super) mod packed;
pub(super) mod parts;
pub(super) mod policy;
pub(super) mod terms;
