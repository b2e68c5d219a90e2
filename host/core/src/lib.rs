//! Decisions of Machinist: facts in, effects out.
//!
//! This crate has no clock, no randomness, no IO and no async: all of these are arguments. It knows nothing of
//! Kubernetes' client, of WebAssembly or of a cloud. Whatever is decided here can be replayed by calling it again.

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
