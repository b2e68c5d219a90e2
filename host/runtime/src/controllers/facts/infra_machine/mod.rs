//! Facts of a MachinistMachine's reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `related` | the objects that it depends on, from the caches, and the Secrets that have to be read |
//! | `identity` | which Secret has the credentials of the cloud |
//! | `observe` | all facts of a reconcile, once the Secrets are read |

pub(crate) mod identity;
pub(crate) mod observe;
pub(crate) mod related;
