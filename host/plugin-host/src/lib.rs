//! The sandbox for drivers and health policies: engine, registry, limits, egress.
//!
//! A driver is a WebAssembly component, usually in a ConfigMap. [`PluginHost`] loads it, swaps it while calls are
//! running, and makes each call in an instance of its own.
//!
//! # Layers
//!
//! The rooms, top to bottom. A room knows only rooms below it.
//!
//! | room | what it holds |
//! | --- | --- |
//! | `host` | [`PluginHost`], which wires all of it together: calls by version, shadows, the directory, the settings |
//! | `registry` | which version serves which provider: the catalog, quarantine, canaries, status |
//! | `loading` | from bytes to code: limits on the component, the compiler, the code cache |
//! | `sources` | where plugins come from and what they declare: ConfigMaps, parts, registries, signatures, [`status`] |
//! | `health_policy` | components that judge the health of Machines |
//! | `calls` | one call in an instance of its own: exports, limits, logs, replay |
//! | `recording` | what a call sees and does, noted and played again |
//! | `egress` | the only way out: requests, credentials, connections, pace |
//! | `vault` | the secrets of a call, and the search for them in all that comes back |
//! | `grants` | what an operator allows a plugin |
//! | `auth` | the schemes by which the host authenticates requests |
//! | `target` | hosts, paths and addresses of requests, and patterns for them |
//! | `resources` | what all plugins share: places, threads, processor time, memory |
//! | `output_limits` | limits on texts of components |
//! | `metrics` | a row for each metric |
//!
//! [`PluginKeys`] has the labels, annotations and keys of a plugin's ConfigMap, [`parts`] a component in parts, and
//! [`component`] the check of a component's imports and exports.

mod auth;
mod calls;
mod egress;
mod grants;
mod health_policy;
mod host;
mod loading;
mod metrics;
mod output_limits;
mod recording;
mod registry;
mod resources;
mod sources;
mod target;
mod vault;

/// The imports and exports of a component.
pub mod component {
    pub use crate::loading::verify::{inspect, outside};
    pub use crate::sources::Contract;
}

/// A component in parts, each in a ConfigMap of its own.
pub mod parts {
    pub use crate::sources::parts::{Assembly, FoundPart, Index, Part, split};
}

/// The annotation of the host on a plugin's ConfigMap.
pub mod status {
    pub use crate::sources::status::{
        BundleStatus, CallCounts, DifferenceExample, HeldStatus, ON_TRIAL, PROMOTED, PluginStatus,
        RolloutStatus, ShadowStatus, WITHDRAWN, cut,
    };
}

pub use calls::convert::About;
pub use calls::engine::CodeTier;
pub use calls::limits::Limits;
pub use calls::log_ring::{KeptLine, KeptLines};
pub use calls::replay::{ReplayError, Replayed};
pub use egress::{DeniedNetworks, RefusalNotice, Resolve};
pub use grants::{EgressRule, GrantedPlace, Grants, RequestPlace, SecretGrant};
pub use health_policy::{PolicyAbout, PolicyLimits, PolicyTerms};
#[doc(hidden)]
pub use host::testing;
pub use host::{DirectoryReport, HostSettings, PluginHost};
pub use loading::code_cache::key::CacheKey;
pub use loading::compiler_process::child::compile_main;
pub use loading::inspect::Inspected;
pub use machinist_artifacts::ContentDigest as Digest;
pub use output_limits::{shown, shown_json};
pub use recording::folder::read_all as read_recordings;
pub use recording::{Difference, RecordSettings, Recording};
pub use registry::canary::decided::Decision;
pub use registry::canary::shadow::ShadowReport;
pub use registry::report::PluginState;
pub use registry::report::{PluginReport, ReadyReport, ReleaseReport};
pub use sources::configmap::RawConfigMap;
pub use sources::fetch::PullSecrets;
pub use sources::keys::PluginKeys;
pub use sources::release::Release;
pub use sources::remote::LoopbackRegistries;
pub use sources::signatures::ceiling::GrantsCeiling;
pub use sources::signatures::counters::CounterStore;
pub use sources::signatures::{Required, Trust};
pub use sources::{Content, Declared, Encoding, Packed, SourceId, is_name};
pub use target::{AddressClass, Host, HostPattern, PathPattern, REGION, is_region_name, regions_of};
