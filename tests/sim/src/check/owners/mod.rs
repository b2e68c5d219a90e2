//! MachineSets and MachineDeployments, and what must hold between them and their Machines.
//!
//! | module | what it does |
//! | --- | --- |
//! | `facts` | sets and deployments as the API server has them |
//! | `machines` | the actions of hosts on Machines that have an owner |
//! | `sets` | the actions of hosts on sets and deployments |
//! | `handed` | texts that hosts write into the specs of Machines and the templates of sets |
//! | `past` | the past values of something, with their times |

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
