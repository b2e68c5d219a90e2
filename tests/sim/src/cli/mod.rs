//! The command: what it is asked for, what it says on the way and at the end.
//!
//! | module | what it does |
//! | --- | --- |
//! | `options` | the options, and the command that repeats one run |
//! | `way` | runs all seeds, and prints the progress from time to time |
//! | `cost` | the time and memory of a run |
//! | `summary` | the last lines of the output |

mod cost;
mod options;
mod summary;
mod way;

pub(crate) use cost::Cost;
pub(crate) use options::Options;
pub(crate) use summary::{Summary, failure_text, violation};
pub(crate) use way::run_all;
