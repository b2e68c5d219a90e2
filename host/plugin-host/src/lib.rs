//! The sandbox for drivers and health policies: engine, registry, limits, egress.
//!
//! A driver is a WebAssembly component, usually in a ConfigMap. [`PluginHost`] loads it, swaps it while calls are
//! running, and makes each call in an instance of its own.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `host` | [`PluginHost`], which wires all of it together, and its settings |
//! | [`sources`] | where plugins come from: ConfigMaps, their parts, folders, registries |
//! | [`loading`] | from bytes to code: signatures, limits on the component, the compiler, the code cache |
//! | [`registry`] | which version serves which provider: the catalog, quarantine, canaries, shadows, status |
//! | [`calls`] | one call from its queue to its end: instance, limits, threads, logs |
//! | [`grants`] | what an operator allows a plugin |
//! | [`egress`] | the only way out: requests, authentication, connections, pace |
//! | [`vault`] | the secrets of a call, and the search for them in all that comes back |
//! | `budget` | the memory that all plugins may hold together |
//! | `health_policy` | components that judge the health of Machines |
//! | [`recording`] | calls recorded and replayed |
//! | `metrics` | metrics of plugins, calls and the compiler |

mod budget;
pub mod calls;
pub mod egress;
#[doc(hidden)]
pub mod fuzz;
pub mod grants;
mod health_policy;
mod host;
pub mod loading;
mod metrics;
pub mod recording;
pub mod registry;
pub mod sources;
pub mod vault;

pub use calls::convert::About;
pub use calls::guest::log::{LogLine, LogListener};
pub use calls::log_ring::{KeptLine, KeptLines};
pub use calls::memory_inspector::{InspectedCall, MemoryInspector};
pub use calls::output_limits::{shown, shown_json};
pub use calls::scheduling::low_priority::lower_own_priority;
pub use health_policy::{PolicyAbout, PolicyLimits, PolicyTerms, PolicyTermsError};
pub use host::settings::HostSettings;
pub use host::{PluginHost, StartError};
pub use loading::code_cache::key::CacheKey;
pub use loading::compiler_process::child::compile_main;
pub use loading::digest::{Digest, NotADigest};
pub use loading::inspect::Inspected;
pub use loading::signatures::ceiling::{CeilingError, GrantsCeiling};
pub use loading::signatures::counters::CounterStore;
pub use loading::signatures::{Required, Trust};
pub use loading::tier::CodeTier;
pub use registry::report::{BundleReport, PluginReport, ReadyReport, ReleaseReport};
pub use registry::state::PluginState;
pub use sources::directory::DirectoryReport;
pub use sources::fetch::PullSecrets;
pub use sources::registries::LoopbackRegistries;
pub use sources::{SignedBundle, SourceId, is_name};

/// All metrics of this crate with one series of each, which shows its labels: for the reference of metrics.
pub fn register_example_metrics(registry: &mut prometheus_client::registry::Registry) {
    metrics::Metrics::with_examples().register(registry);
    egress::register_example_metrics(registry);
}
