//! MachinistMachines, and what must hold for them in both management clusters.
//!
//! | module | what it does |
//! | --- | --- |
//! | `facts` | MachinistMachines and their Clusters as the API servers have them |
//! | `rules` | the rules: plain functions of the known state and of the events |

mod facts;
mod rules;

pub(crate) use facts::InfraFacts;
pub(super) use rules::{of_call, of_change, of_created};
