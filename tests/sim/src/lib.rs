//! The deterministic simulator: the real runtime and core on one thread with paused time. API server, cloud, kubelets,
//! pods and everyone else are in memory, and everything that chance decides comes from one seed.
//!
//! | question | module |
//! | --- | --- |
//! | what is a run made of | `plan`, drawn from the seed |
//! | what happens when | `run`: chaos, calm, silence |
//! | who disturbs | `actors` (users, operators, weather, Cluster API), `faults` (the result of each call) |
//! | what is around the hosts | `cloud`, `cluster` (processes, kubelets, pods, volumes, budgets, policies, owners) |
//! | what must always hold | `rule`, by name; `check`: over the world as it is |
//! | do the rules bite | `planted`: bugs at the ports, listed in `plan` |
//! | how far is it | `progress`; the command itself is in the binary |
//! | where does chance come from | `rng`: the seed alone |
//! | how do the parts know one another | `names` |
//! | which events were the last | `story`, for the reader of a failure |

mod actors;
mod check;
mod cloud;
mod cluster;
mod faults;
mod names;
mod plan;
mod planted;
mod progress;
mod rng;
mod rule;
mod run;
mod story;

pub use plan::{Plan, Planted};
pub use progress::Progress;
pub use rule::{Rule, Violation};
pub use run::{Report, run, run_watched};
