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

mod ask;
mod bindings;
mod bounds;
mod breakage;
mod budget;
mod call;
mod code_cache;
mod company;
mod compile;
mod convert;
mod digest;
mod directory;
mod dispatch;
mod effort;
pub mod egress;
mod engine;
mod fetch;
mod frequency;
#[doc(hidden)]
pub mod fuzz;
mod generation;
pub mod grants;
mod guest;
mod health;
mod host;
mod inspect;
pub mod limits;
mod load;
mod logbook;
mod manners;
mod metrics;
mod optional_bindings;
mod patience;
mod policy;
mod policy_bindings;
mod registry;
mod report;
pub mod rollout;
mod routes;
mod seat;
mod settings;
mod shadow;
mod shape;
mod shelf;
pub mod source;
pub mod state;
pub mod tape;
mod threads;
mod ticker;
mod tier;
mod trust;
mod turns;
mod turnstile;
mod urgency;
pub mod vault;
pub mod verify;
mod witness;
mod workshop;

pub use bounds::{shown, shown_json};
pub use code_cache::key::CacheKey;
pub use compile::child::compile_main;
pub use convert::About;
pub use digest::{Digest, NotADigest};
pub use directory::DirectoryReport;
pub use fetch::PullSecrets;
pub use guest::log::{LogLine, LogListener};
pub use host::{PluginHost, StartError};
pub use inspect::Inspected;
pub use logbook::{KeptLine, KeptLines};
pub use patience::stand_back;
pub use policy::{PolicyAbout, PolicyLimits, Terms, TermsError};
pub use report::{BundleReport, HeldReport, PluginReport, RolloutReport};
pub use settings::HostSettings;
pub use source::registries::LoopbackRegistries;
pub use source::{SignedBundle, SourceId, is_name};
pub use state::PluginState;
pub use tier::CodeTier;
pub use trust::ceiling::{CeilingError, GrantsCeiling};
pub use trust::counters::CounterStore;
pub use trust::{Required, Trust};
pub use witness::{MemoryWitness, WitnessedCall};

/// All metrics of this crate with one series of each, which shows its labels: for the reference of metrics.
pub fn register_example_metrics(registry: &mut prometheus_client::registry::Registry) {
    metrics::Metrics::with_examples().register(registry);
    egress::register_example_metrics(registry);
}
