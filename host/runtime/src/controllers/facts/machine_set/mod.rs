//! Facts of a set's reconcile.
//!
//! | module | what it does |
//! | --- | --- |
//! | `observe` | all facts of a reconcile, from the caches |
//! | `child` | a Machine as its set sees it |

pub(crate) mod child;
pub(crate) mod observe;
