//! Machines: facts from caches, effects on clusters and clouds, one status write a pass.

mod act;
mod choice;
mod drain_status;
mod going;
mod milestones;
mod news;
mod node;
mod observe;
mod pass;
mod patch;
mod publish;
mod request;
mod sentence;
mod template;
mod token;

pub(crate) use observe::{node_matters, node_name_of, phase_of, timeouts};
pub(crate) use pass::run;
