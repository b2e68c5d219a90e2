//! Machines that a set deletes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `choose` | which Machines are deleted in this pass |
//! | `deletion_choice` | decides about a Machine that failed, or that the autoscaler chose |
//! | `keep` | keeps failed Machines, as many as the set says |

pub(crate) mod choose;
pub(crate) mod deletion_choice;
pub(crate) mod keep;
