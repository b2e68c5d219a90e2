//! IO for Kubernetes: caches, the loop, effects, Events, leases, metrics.
//!
//! Facts come from caches, decisions from `machinist-core`, and what was decided is done here. The runtime knows neither
//! WebAssembly nor a cloud: `ports` says what it needs, and the app provides it.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod cache;
pub mod client;
mod drain;
pub mod driver_calls;
mod event_loop;
mod events;
mod machine;
mod machine_deployment;
mod machine_set;
pub mod metrics;
mod objects;
mod plugins;
pub mod ports;
mod safety;
pub mod tenant;

pub use machine_deployment::template_fact;
