//! Decisions of Machinist: facts in, effects out.
//!
//! This crate has no clock, no randomness, no IO and no async: all of these are arguments. It knows nothing of
//! Kubernetes' client, of WebAssembly or of a cloud. Whatever is decided here can be replayed by calling it again.

pub mod act_error;
pub mod addresses;
pub mod barrier;
pub mod bootstrap_token;
pub mod call_room;
pub mod clock_skew;
pub mod disruption;
pub mod disruption_budget;
pub mod drain;
pub mod driver;
pub mod driver_digest;
pub mod driver_error;
pub mod duration;
pub mod error_chain;
pub mod events;
pub mod gate;
pub mod handed_down;
pub mod health;
pub mod hold;
pub mod id;
pub mod int_or_percent;
pub mod intervals;
pub mod lease;
pub mod looks;
pub mod machine;
pub mod machine_deployment;
pub mod machine_set;
pub mod machine_template;
pub mod maintenance;
pub mod node_age;
pub mod node_sync;
pub mod phase;
pub mod policy;
pub mod pools;
pub mod preservation;
pub mod queue;
pub mod removal_order;
pub mod request_rate;
pub mod retry;
pub mod safety;
pub mod same_vm;
pub mod secret_rule;
pub mod selector;
pub mod user_data;
pub mod virtual_capacity;
