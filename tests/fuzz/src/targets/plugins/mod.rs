//! Input of a writer of ConfigMaps.
//!
//! | module | input |
//! | --- | --- |
//! | `configmap` | ConfigMaps of plugins, with any content |
//! | `bundle` | bundles, which signatures cover |
//! | `parts` | indices of components in parts, and their assembly |
//! | `packed` | components that are packed with gzip or zstd |
//! | `component` | bytes of components before they are compiled |
//! | `grants` | grants, as operators write them |
//! | `terms` | terms of trials of versions, and operators' terms for policies |
//! | `policy` | answers of health policies |

pub(super) mod bundle;
pub(super) mod component;
pub(super) mod configmap;
pub(super) mod grants;
pub(super) mod packed;
pub(super) mod parts;
pub(super) mod policy;
pub(super) mod terms;
