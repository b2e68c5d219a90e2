//! IO for Kubernetes: caches, the loop, effects, Events, leases, metrics.
//!
//! Facts come from caches, decisions from `machinist-core`, and what was decided is done here. The runtime knows neither
//! WebAssembly nor a cloud: `ports` says what it needs, and the app provides it.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod cache;
mod call_rooms;
pub mod calls;
mod capacity;
mod class_secrets;
pub mod clock;
mod cloud_account;
pub mod clusters;
mod conditions;
mod context;
mod counting;
mod creates;
mod departed;
mod drain;
mod engine;
mod events;
mod handed_down;
mod hold;
pub mod insight;
mod kube_error;
pub mod lease;
mod led;
mod machine;
mod machine_deployment;
mod machine_set;
mod merge;
mod metadata;
pub mod metrics;
pub mod names;
mod newborns;
mod node_index;
mod orders;
mod own_status;
mod pacing;
mod places;
mod plugins;
mod policies;
pub mod ports;
mod recorded;
mod safety;
mod selection;
mod server_clock;
pub mod settings;
mod status_write;
mod strategy;
pub mod tenant;
mod world;

pub use machine_deployment::template_fact;
