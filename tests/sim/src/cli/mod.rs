//! The command: what it is asked for, what it says on the way and at the end.

mod cost;
mod options;
mod summary;
mod way;

pub(crate) use cost::Cost;
pub(crate) use options::Options;
pub(crate) use summary::{Summary, failure_text, violation};
pub(crate) use way::run_all;
