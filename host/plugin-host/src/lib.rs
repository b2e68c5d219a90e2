//! Sandbox for drivers and policies: engine, registry, limits, egress.
//!
//! A driver is a WebAssembly component in a ConfigMap. [`PluginHost`] loads it, swaps it while calls are running, and
//! makes each call in an instance of its own.
//!
//! | question | module |
//! | --- | --- |
//! | what does a ConfigMap declare | [`source::configmap`] |
//! | what do several ConfigMaps make together | [`source::parts`] |
//! | what lies in a directory | `directory` |
//! | where are its bytes | `fetch`, [`source::remote`] |
//! | who has signed a plugin, what of it, and what may its grants say at most | `trust` |
//! | may this component be loaded | [`verify`] |
//! | what is known of a component that nobody loads | `inspect` |
//! | is its code such as compilers make it | `shape` |
//! | who compiles it, how well, in which order, and is compiled code still ours | `workshop`, `tier`, `turns`, `compile`, `code_cache` |
//! | which version serves which provider | `registry`, `routes` |
//! | when is a plugin left alone | [`state`] |
//! | how does a new version come to serve | [`rollout`] |
//! | how does a call get its turn | `dispatch` |
//! | what happens in a call, and why did it end | `call`, `guest`, `breakage` |
//! | how much memory may all of them hold | `budget`, `limits` |
//! | what has a plugin logged | `logbook` |
//! | what may leave the sandbox | [`grants`], [`vault`], [`egress`] |
//! | how is a policy asked | `policy` |
//! | how are calls recorded and replayed | [`tape`] |
//! | what is in an instance's memory when its call is over | `witness` |

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
pub use calls::memory_inspector::{MemoryWitness, WitnessedCall};
pub use calls::output_limits::{shown, shown_json};
pub use calls::scheduling::low_priority::stand_back;
pub use health_policy::{PolicyAbout, PolicyLimits, Terms, TermsError};
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
pub use registry::report::{BundleReport, HeldReport, PluginReport, RolloutReport};
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
