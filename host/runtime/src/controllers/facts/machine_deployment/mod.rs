//! Facts of a deployment's reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `observe` | all facts of a reconcile, from the caches |
//! | `members` | Machines and their Nodes as the deployment sees them |
//! | `selector`, `template` | fields of the spec |
//! | `status` | the status |

pub(crate) mod members;
pub(crate) mod observe;
pub(crate) mod selector;
pub(crate) mod status;
pub(crate) mod template;
