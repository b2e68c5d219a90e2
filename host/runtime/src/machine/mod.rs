//! Machines: facts from caches, effects on clusters and clouds, one status write a pass.

mod act;
mod choice;
mod claims;
mod drain_status;
mod going;
mod keeping;
mod milestones;
mod news;
mod node;
mod observe;
mod pass;
mod publish;
mod request;
mod sentence;
mod slips;
mod standing;
mod template;
mod token;
mod vm_status;

pub(crate) use choice::Choice;
pub(crate) use claims::{SharedNodes, own_node};
pub(crate) use observe::{class_fact, node_matters, node_name_of, operation_of, phase_of, timeouts};
pub(crate) use pass::{Past, run};
pub(crate) use request::class_spec;
pub(crate) use standing::member;
