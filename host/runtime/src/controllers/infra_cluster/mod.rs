//! MachinistClusters: what the machines of a cluster of Cluster API share.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reconcile` | facts, effects and status of one reconcile, in the frame of all kinds |

mod reconcile;

pub(crate) use reconcile::run;
