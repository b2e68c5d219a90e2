//! The settings of the host.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::calls::engine::{CodeKind, PoolSizes};
use crate::calls::guest::log::LogListener;
use crate::calls::limits::Limits;
use crate::calls::memory_inspector::MemoryInspector;
use crate::egress::EgressSettings;
use crate::loading::code_cache::key::CacheKey;
use crate::recording::RecordSettings;
use crate::registry::report::QuarantineRule;
use crate::resources::seat::MOST_PARKED;
use crate::sources::fetch::PullSecrets;
use crate::sources::remote::LoopbackRegistries;
use crate::sources::signatures::Trust;
use crate::sources::signatures::ceiling::GrantsCeiling;
use crate::sources::signatures::counters::CounterStore;

/// Settings of the plugin host. `new` fills in what is the same nearly everywhere.
#[derive(Clone)]
pub struct HostSettings {
    /// Compiled code. Made when it is absent; belongs to this host alone.
    pub cache_dir: PathBuf,
    /// The key that authenticates compiled code.
    pub cache_key: CacheKey,
    /// The executable that compiles: it calls [`crate::compile_main`] when started with `compiler_args`.
    pub compiler: PathBuf,
    /// Its arguments, such as the hidden subcommand's name.
    pub compiler_args: Vec<OsString>,
    /// Whether the baseline compiler, where there is one, makes the first code of large components. Without it they
    /// take longer until they serve, and a defect of that compiler has no effect.
    pub baseline_compiler: bool,
    /// The size up to which components are optimised at once. Larger ones begin with code that compiles fast, which
    /// optimised code replaces.
    pub optimised_at_once_bytes: usize,
    /// Calls at the same time, over all plugins. More wait for their turn until their deadline.
    pub max_calls_in_flight: usize,
    /// Calls that may wait. More are refused at once.
    pub max_calls_waiting: usize,
    /// The largest linear memory that grants may allow.
    pub max_memory_bytes: u64,
    /// The largest table that grants may allow.
    pub max_table_elements: u64,
    /// Memory that all plugins and the compiler share; by default the process's own without the controllers' part.
    pub memory_budget_bytes: Option<u64>,
    /// Threads that run components.
    pub threads: usize,
    pub default_limits: Limits,
    /// When a plugin that breaks is left alone.
    pub quarantine: QuarantineRule,
    /// How long a call waits for a plugin that is being loaded, when nothing serves its provider.
    pub load_timeout: Duration,
    /// How long `shutdown` waits for calls.
    pub shutdown_deadline: Duration,
    /// The keys of trusted signers, and the namespaces that require signatures.
    pub trust: Trust,
    /// Upper bound for the grants of drivers.
    pub grants_ceiling: Option<Arc<GrantsCeiling>>,
    /// Keeps the highest counters of signed plugins; without it they are kept in memory.
    pub counters: Option<Arc<dyn CounterStore>>,
    /// How long a registry may take, and how much it may send.
    pub registry: machinist_artifacts::Limits,
    /// Whether registries on this machine are asked.
    pub loopback_registries: LoopbackRegistries,
    /// Reads the Secrets with logins for registries; without it only registries that ask for none are read.
    pub pull_secrets: Option<Arc<dyn PullSecrets>>,
    /// How the host speaks to clouds.
    pub egress: EgressSettings,
    /// Whether calls are recorded, and where to.
    pub record: Option<RecordSettings>,
    /// Receives the memory of each instance at the end of its call. For tests: instances then come without a pool,
    /// which makes calls slower, and the inspector sees secrets of users.
    pub memory_inspector: Option<Arc<dyn MemoryInspector>>,
    /// Receives each line that a driver logs, of all levels. For tests and the conformance kit.
    pub log_listener: Option<LogListener>,
}

impl HostSettings {
    /// The usual settings around these four.
    pub fn new(
        cache_dir: impl Into<PathBuf>,
        cache_key: CacheKey,
        compiler: impl Into<PathBuf>,
        compiler_args: impl IntoIterator<Item = OsString>,
    ) -> Self {
        let pool = PoolSizes::default();
        Self {
            cache_dir: cache_dir.into(),
            cache_key,
            compiler: compiler.into(),
            compiler_args: compiler_args.into_iter().collect(),
            baseline_compiler: true,
            // Takes the compiler less than a second.
            optimised_at_once_bytes: 400 << 10,
            max_calls_in_flight: usize::try_from(pool.calls).unwrap_or(usize::MAX),
            max_calls_waiting: 10_000,
            max_memory_bytes: pool.memory_bytes,
            max_table_elements: pool.table_elements,
            memory_budget_bytes: None,
            threads: 2,
            default_limits: Limits::default(),
            quarantine: QuarantineRule::default(),
            load_timeout: Duration::from_secs(30),
            shutdown_deadline: Duration::from_secs(25),
            trust: Trust::default(),
            grants_ceiling: None,
            counters: None,
            registry: machinist_artifacts::Limits::default(),
            loopback_registries: LoopbackRegistries::default(),
            pull_secrets: None,
            egress: EgressSettings::default(),
            record: None,
            memory_inspector: None,
            log_listener: None,
        }
    }

    pub(crate) fn code_kind(&self) -> CodeKind {
        if self.memory_inspector.is_some() { CodeKind::Inspected } else { CodeKind::Standard }
    }

    pub(crate) fn pool(&self) -> PoolSizes {
        PoolSizes {
            // Those that wait for their account beside those in flight.
            calls: u32::try_from(self.max_calls_in_flight.saturating_add(MOST_PARKED)).unwrap_or(u32::MAX),
            memory_bytes: self.max_memory_bytes,
            table_elements: self.max_table_elements,
            is_witnessed: self.memory_inspector.is_some(),
        }
    }
}

/// Why the host did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("failed to set up the engine: {detail}")]
    Engine {
        /// The words of the engine.
        detail: String,
    },
    #[error("failed to start threads")]
    Threads(#[source] std::io::Error),
    #[error("failed to open the key of the code cache")]
    Key(#[source] std::io::Error),
    #[error("failed to open the folder of the recordings {}", folder.display())]
    Recordings {
        folder: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("failed to open the code cache {}", folder.display())]
    Cache {
        folder: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
}
