//! IO for Kubernetes: caches, the event loop, effects, status, Events, leases, metrics.
//!
//! Facts come from caches, decisions from `machinist-core`; this crate carries the decisions out. It knows neither
//! WebAssembly nor a cloud: `ports` declares its needs, and the app provides them. Each module uses only modules below
//! it in this table.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`tenant`] | one control cluster with its target cluster, wired together; leader election |
//! | `safety` | loops beside the reconciles: freeze, orphans, unmanaged Nodes |
//! | `event_loop` | queue, barrier, retries, and the indexes from a change to the keys to requeue |
//! | `controllers` | reconciles of Machines, sets, deployments and classes: facts, effects, status |
//! | `plugins` | ConfigMaps of plugins, and the questions to health policies |
//! | `drain` | pods, volumes and budgets for drains |
//! | `driver_calls` | calls of drivers: limits, capacity, leadership |
//! | `message` | messages to the event loop, and the report of a reconcile |
//! | `events` | Kubernetes Events |
//! | [`ports`] | the traits that the app implements: drivers, policies, plugins |
//! | [`client`] | clients of the API servers, their limits and errors |
//! | [`metrics`] | metrics |
//! | [`machine_query`] | answers to operators who ask about one Machine; the last driver calls of each |
//! | `cache` | copies of the API servers' objects |
//! | [`context`] | clients, clock, settings, gate and keys, for all reconciles |

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

pub use controllers::facts::machine_deployment::template::fact as template_fact;
pub use tenant::autoscaler;
