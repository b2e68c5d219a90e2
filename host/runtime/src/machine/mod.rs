//! Machines: facts from caches, effects on clusters and clouds, one status write a pass.

mod act;
mod drain_status;
mod events;
pub(crate) mod facts;
mod milestones;
mod node;
mod pass;
mod publish;
mod request;
mod status_message;
mod template;
mod token;
mod vm_status;

pub(crate) use facts::claims::{SharedNodes, own_node};
pub(crate) use facts::driver_choice::Choice;
pub(crate) use facts::observe::{class_fact, node_matters, node_name_of, operation_of, phase_of, timeouts};
pub(crate) use facts::summary::member;
pub(crate) use pass::{Past, run};
pub(crate) use request::class_spec;
