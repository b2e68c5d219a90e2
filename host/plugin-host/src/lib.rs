//! The sandbox for drivers and health policies: engine, registry, limits, egress.
//!
//! A driver is a WebAssembly component, usually in a ConfigMap. [`PluginHost`] loads it, swaps it while calls are
//! running, and makes each call in an instance of its own.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `host` | [`PluginHost`], which wires all of it together, and its settings |
//! | `sources` | where plugins come from: ConfigMaps, their parts, folders, registries |
//! | `loading` | from bytes to code: signatures, limits on the component, the compiler, the code cache |
//! | `registry` | which version serves which provider: the catalog, quarantine, canaries, shadows, status |
//! | `calls` | one call from its queue to its end: instance, limits, threads, logs |
//! | `grants` | what an operator allows a plugin |
//! | `auth` | the schemes by which the host authenticates requests |
//! | `egress` | the only way out: requests, credentials, connections, pace |
//! | `vault` | the secrets of a call, and the search for them in all that comes back |
//! | `budget` | the memory that all plugins may hold together |
//! | `health_policy` | components that judge the health of Machines |
//! | `recording` | calls recorded and replayed |
//! | `metrics` | metrics of plugins, calls and the compiler |
//!
//! [`keys`] has the labels, annotations and keys of a plugin's ConfigMap, [`parts`] a component in parts, [`status`]
//! the annotation of the host, and [`component`] the check of a component's imports and exports.

mod auth;
mod budget;
mod calls;
mod egress;
mod grants;
mod health_policy;
mod host;
mod loading;
mod metrics;
mod recording;
mod registry;
mod sources;
/// For the tests, benchmarks and fuzz targets of this repository, which look behind the interface. No other program
/// uses it.
#[doc(hidden)]
pub mod testing;
mod vault;

/// The labels, annotations and keys of a plugin's ConfigMap.
pub mod keys {
    pub use crate::registry::canary::decided::ROLLOUT_ANNOTATION;
    pub use crate::registry::status::STATUS_ANNOTATION;
    pub use crate::sources::age::VERSION_ANNOTATION;
    pub use crate::sources::configmap::{
        BUNDLE, BUNDLE_SIGNATURE, DRIVER_KIND, GRANTS_JSON, GRANTS_YAML, KIND_LABEL, NAME_LABEL, POLICY_KIND,
        ROLLOUT_YAML, SETTINGS, SHA256, SIGNATURE, TERMS_JSON, TERMS_YAML,
    };
    pub use crate::sources::parts::{BYTES_KEY, INDEX_KEY, INDEX_LABEL, PART_KIND, PLACE_KEY};
    pub use crate::sources::remote::{OCI_KEY, PULL_SECRET_KEY, RESOLVE_ANNOTATION};
}

/// The imports and exports of a component.
pub mod component {
    pub use crate::loading::verify::{Contract, inspect, outside};
}

/// A component in parts, each in a ConfigMap of its own.
pub mod parts {
    pub use crate::sources::parts::{
        Assembly, FoundPart, Index, MOST_PARTS, Part, PartNumber, assemble, split,
    };
}

pub mod status {
    pub use crate::registry::status::{
        BundleStatus, CallCounts, DifferenceExample, HeldStatus, ON_TRIAL, PROMOTED, PluginStatus,
        PolicyScope, PolicyStatus, ResolvedStatus, RolloutStatus, ShadowStatus, WITHDRAWN, cut,
    };
}

pub use auth::AuthGrant;
pub use calls::convert::About;
pub use calls::limits::Limits;
pub use calls::log_ring::{KeptLine, KeptLines};
pub use calls::output_limits::{shown, shown_json};
pub use egress::{DeniedNetworks, EgressSettings, RefusalNotice, Resolve};
pub use grants::{
    AddressClass, EgressRule, GrantedPlace, Grants, Host, HostPattern, PathPattern, REGION, RequestPlace,
    SecretGrant, is_region_name, regions_of,
};
pub use health_policy::{PolicyAbout, PolicyLimits, PolicyTerms};
pub use host::settings::HostSettings;
pub use host::{PluginHost, StartError};
pub use loading::code_cache::key::CacheKey;
pub use loading::compiler_process::child::compile_main;
pub use loading::digest::Digest;
pub use loading::inspect::Inspected;
pub use loading::signatures::ceiling::GrantsCeiling;
pub use loading::signatures::counters::CounterStore;
pub use loading::signatures::{Required, Trust};
pub use loading::tier::CodeTier;
pub use recording::files::folder::read_all as read_recordings;
pub use recording::{Difference, RecordSettings, Recording, ReplayError, Replayed};
pub use registry::canary::decided::Decision;
pub use registry::canary::shadow::{ShadowCounts, ShadowReport};
pub use registry::canary::terms::Release;
pub use registry::report::{PluginReport, ReadyReport, ReleaseReport};
pub use registry::state::PluginState;
pub use sources::configmap::RawConfigMap;
pub use sources::directory::DirectoryReport;
pub use sources::fetch::PullSecrets;
pub use sources::registries::LoopbackRegistries;
pub use sources::remote::Resolved;
pub use sources::{Content, Declared, Encoding, Packed, SourceId, is_name};

/// Registers all metrics of this crate with one series of each, which shows its labels: for the reference of metrics.
pub fn register_example_metrics(registry: &mut prometheus_client::registry::Registry) {
    metrics::Metrics::with_examples().register(registry);
    egress::register_example_metrics(registry);
}
