//! MachineSets and MachineDeployments, and what must hold between them and their Machines.

mod facts;
mod handed;
mod machines;
mod past;
mod sets;

pub(crate) use facts::OwnerFacts;
pub(super) use facts::controller;
pub(super) use handed::{of_machine as handed_down, of_set as handed_down_to_set};
pub(super) use machines::{is_asked, of_machine, of_node};
pub(super) use sets::{of_deployment, of_set};
