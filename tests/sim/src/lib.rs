//! The deterministic simulator: the real runtime and core on one thread with paused time. API server, cloud, kubelets,
//! pods and everyone else are in memory, and everything that chance decides comes from one seed.
//!
//! | question | module |
//! | --- | --- |
//! | what is a run made of | `plan`, drawn from the seed |
//! | what happens when | `run`: chaos, calm, silence |
//! | who disturbs | `actors` (users, operators, weather), `faults` (the result of each call) |
//! | what is around the hosts | `cloud`, `cluster` (processes, kubelets, pods, volumes, budgets, policies, owners) |
//! | what must always hold | `check`: rules over the world as it is |
//! | do the rules bite | `planted`: bugs at the ports |
//! | how far is it | `progress`; the command itself is in `cli` |

mod actors;
mod check;
mod cloud;
mod cluster;
mod faults;
mod plan;
mod planted;
mod progress;
mod rng;
mod run;
mod story;

pub use check::{Rule, Violation};
pub use plan::Plan;
pub use planted::Planted;
pub use progress::Progress;
pub use run::{Report, run, run_watched};
