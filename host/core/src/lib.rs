//! Decisions of Machinist: facts in, effects out.
//!
//! This crate has no clock, no randomness, no IO and no async: all of these are arguments. It knows nothing of
//! Kubernetes' client, of WebAssembly or of a cloud. Whatever is decided here can be replayed by calling it again.
//!
//! | room | what it decides |
//! | --- | --- |
//! | [`machine`] | one Machine: creation, its life with a Node, deletion, ownership |
//! | [`machine_set`] | how many Machines, which are created and which deleted |
//! | [`machine_deployment`] | rollouts, their sets and their status |
//! | [`drain`] | which pods are evicted next |
//! | [`safety`] | when the gate shuts, orphans, silent zones |
//! | [`health_policy`] | which opinion of a policy counts |
//! | [`disruption`] | when Machines may be taken away: requests, budgets, windows, ages |
//! | [`scheduling`] | queue, retry table, barrier, gate, leases |
//! | [`driver`] | what is asked of drivers and what they answer |
//! | [`events`] | which text is the same Event, and in which order Events are written |
//! | [`value`] | names, durations, addresses, digests |

pub mod disruption;
pub mod drain;
pub mod driver;
pub mod events;
pub mod health_policy;
pub mod machine;
pub mod machine_deployment;
pub mod machine_set;
pub mod safety;
pub mod scheduling;
pub mod value;
