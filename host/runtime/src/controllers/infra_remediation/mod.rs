//! MachinistRemediations: the driver reboots the VM of an unhealthy machine, before its owner replaces it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |
//! | `owner_request` | the condition of a Machine that asks its owner to replace it |

mod owner_request;
mod reconcile;

pub(crate) use reconcile::run;
