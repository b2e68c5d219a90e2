//! Machines that a set deletes, in the order of `MachineSummary::deletion_rank`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `choose` | which Machines are deleted in this reconcile: surplus, failed, or chosen by the autoscaler |
//! | `keep` | keeps failed Machines, as many as the set says |

pub(crate) mod choose;
pub(crate) mod keep;
