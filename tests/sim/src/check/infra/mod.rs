//! MachinistMachines, and what must hold for them in both management clusters.

mod facts;
mod rules;

pub(crate) use facts::InfraFacts;
pub(super) use rules::{of_call, of_change, of_created};
