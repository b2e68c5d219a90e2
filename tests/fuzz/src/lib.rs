//! Inputs that strangers could send, for everything that parses them.
//!
//! A target is a function of bytes: it reads them as the host or a driver does, and says whether its promises held.
//! Inputs are good samples from files of this repository with a few changes. An input that is taken in a new way joins
//! the samples of the run. `cargo xtask fuzz` runs them; `tests/targets.rs` runs each with some thousand inputs.
//!
//! | question | module |
//! | --- | --- |
//! | what is tried, and what must hold | `targets`, one file each |
//! | what is a target, and how did one take its input | `target` |
//! | how are inputs made | `mutate`, from the choices of `rng` |
//! | how are many of them tried | `run`, and for panics `caught` |
//! | what is left of an input that breaks a promise | `shrink` |
//! | where do samples come from | `samples` |

mod caught;
pub mod mutate;
pub mod rng;
mod run;
mod samples;
mod shrink;
mod target;
pub mod targets;

pub use run::{Finding, Plan, Summary, once, run};
pub use target::{Shape, Target, Verdict};
