//! MachinistMachineTemplates: the resources of a Node, which cluster-autoscaler reads to scale up from zero.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | one reconcile, in the frame of all kinds |

mod reconcile;

pub(crate) use reconcile::run;
