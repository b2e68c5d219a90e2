//! Commands that bring a plugin from a file to a cluster or a registry.
//!
//! | module | what it does |
//! | --- | --- |
//! | `push` | `machinist plugin push` |
//! | `plan` | which ConfigMaps a push writes |
//! | `ownership` | which fields of a ConfigMap belong to the push |
//! | `grants` | finds grants that a driver lacks, and adds them on request |
//! | `regions` | fills in `{region}` in grants |
//! | `registry` | artifacts in registries |
//! | `resolve` | `machinist plugin resolve`: looks a tag up again |
//! | `sign` | `machinist plugin sign` and `keygen` |
//! | `bundle` | bundles: the statements that signatures cover |
//! | `wait` | waits for the host's status of a version |
//! | `signature` | shows the signature of a plugin, and says whether a push may keep it |

pub(crate) mod bundle;
pub(crate) mod grants;
pub(crate) mod ownership;
pub(crate) mod plan;
pub(crate) mod push;
pub(crate) mod regions;
pub(crate) mod registry;
pub(crate) mod resolve;
pub(crate) mod sign;
pub(crate) mod signature;
pub(crate) mod wait;
