//! IO for Kubernetes: caches, the event loop, effects, status, Events, leases, metrics.
//!
//! Facts come from caches, decisions from `machinist-core`; this crate carries the decisions out. It knows neither
//! WebAssembly nor a cloud: `ports` declares its needs, and the app provides them.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`tenant`] | one control cluster with its target cluster, wired together; settings, election, clock |
//! | `cache` | copies of the API servers' objects |
//! | `event_loop` | queue, barrier, retries, and the indexes from a change to the keys that it wakes |
//! | `machine`, `machine_set`, `machine_deployment` | reconciles of the three kinds: facts, effects, status |
//! | `drain` | pods, volumes and budgets for drains |
//! | [`driver_calls`] | calls of drivers: history, limits, capacity, leadership |
//! | `plugins` | ConfigMaps of plugins, and the questions to health policies |
//! | `safety` | loops beside the reconciles: freeze, orphans, unmanaged Nodes, classes |
//! | `objects` | writes to API objects: metadata, finalizers, conditions, status |
//! | `events` | Kubernetes Events |
//! | [`client`] | clients of the API servers, their limits and errors |
//! | [`metrics`] | metrics |
//! | [`ports`] | the traits that the app implements: drivers, policies, plugins |

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod cache;
pub mod client;
pub mod context;
mod controllers;
mod drain;
mod driver_calls;
mod event_loop;
mod events;
pub mod machine_query;
mod message;
pub mod metrics;
mod plugins;
pub mod ports;
mod safety;
pub mod tenant;

pub use controllers::machine_deployment::template_fact;
