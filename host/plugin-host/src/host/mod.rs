//! The plugin host: declares, loads, calls and swaps plugins.
//!
//! | module | what it does |
//! | --- | --- |
//! | `settings` | the settings, and why a host does not start |
//! | `pauses` | the pauses between attempts to load |
//! | `driver_calls` | the calls of drivers, as functions of the host |
//! | `dispatch` | a driver call: finds the generation, queues the call, runs it, notes its end |
//! | `policy_dispatch` | the same for a question to a health policy |
//! | `shadow_calls` | calls of a shadow, in the background |
//! | `directory` | plugins in a directory |
//! | `insight` | shows the plugins, reports lack of memory, and isolation that the compiler lacks |
//! | [`testing`] | what tests, benchmarks and fuzz targets of this repository see |

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use machinist_core::driver::DriverFacts;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::health_policy::{PolicyFact, PolicyQuestion, RawAnswer};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{PluginName, ProviderName};
use prometheus_client::registry::Registry;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;
use wasmtime::Engine;

use crate::calls::call::Sandbox;
use crate::calls::engine::{self, CodeKind};
use crate::calls::epoch::Ticker;
use crate::calls::guest::hosted;
use crate::calls::limits::Ceilings;
use crate::calls::log_ring::LogRing;
use crate::calls::replay::{ReplayError, Replayed, replay};
use crate::egress::{Egress, EgressMetrics};
use crate::grants::Grants;
use crate::health_policy::call::PolicySandbox;
use crate::loading::code_cache::CodeCache;
use crate::loading::code_cache::key::MacKey;
use crate::loading::code_cache::notes::Notes;
use crate::loading::compile_queue::CompileQueue;
use crate::loading::compiler::{CompileService, EngineCache};
use crate::loading::compiler_process::Compiler;
use crate::loading::inspect::{Inspected, inspect};
use crate::loading::load::{self, Loaded, Loader, Progress};
use crate::metrics::Metrics;
use crate::output_limits as bounds;
use crate::recording::{Archive, Recording};
use crate::registry::Declaration;
use crate::registry::canary::Trial;
use crate::registry::catalog::{Catalog, LoadAction, LoadActions};
use crate::registry::claims::CLAIM_TIMEOUT;
use crate::registry::generation::{BaselineGeneration, Generation, Served};
use crate::registry::routes::Route;
use crate::resources::budget::Budget;
use crate::resources::cpu_share::CpuShares;
use crate::resources::rate::CallRates;
use crate::resources::threads::{Guests, Threads};
use crate::sources::configmap::RawConfigMap;
use crate::sources::fetch::Fetcher;
use crate::sources::keys::PluginKeys;
use crate::sources::remote::Origin;
use crate::sources::signatures::counters::Counters;
use crate::sources::{self, Declared, SourceId};
use crate::vault::KnownValues;
use directory::DirectoryState;
use dispatch::Queue;
use shadow_calls::Shadows;

use pauses::Pauses;

mod directory;
mod dispatch;
mod driver_calls;
mod insight;
mod pauses;
mod policy_dispatch;
mod settings;
mod shadow_calls;
/// For the tests, benchmarks and fuzz targets of this repository, which look behind the interface. No other program
/// uses it.
#[doc(hidden)]
pub mod testing;

pub use directory::DirectoryReport;
pub use settings::HostSettings;
pub use settings::StartError;

/// Runs drivers. A clone is the same host; it ends with the last of them.
#[derive(Clone)]
pub struct PluginHost(Arc<Owner>);

/// Owns the threads. Tasks on them hold [`HostState`] only, so that the last handle outside ends the host.
struct Owner {
    inner: Arc<HostState>,
    threads: Option<Threads>,
}

pub(crate) struct HostState {
    pub(crate) settings: HostSettings,
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) policies: Arc<PolicySandbox>,
    pub(crate) catalog: Catalog,
    pub(crate) metrics: Metrics,
    pub(crate) queue: Queue,
    pub(crate) call_rates: CallRates,
    pub(crate) shadows: Shadows,
    pub(crate) guests: Guests,
    pub(crate) cpu_shares: CpuShares,
    pub(crate) calls: TaskTracker,
    pub(crate) is_closing: AtomicBool,
    pub(crate) has_closed: CancellationToken,
    pub(crate) directory: DirectoryState,
    /// Everything must be signed, whatever the settings say.
    pub(crate) strict: Arc<AtomicBool>,
    loader: Loader,
    loads: Mutex<BTreeMap<SourceId, AbortHandle>>,
}

impl PluginHost {
    /// Starts the host: its threads, its engine and its code cache. Nothing is loaded.
    pub fn start(settings: HostSettings) -> Result<Self, StartError> {
        let of_engine = |error: wasmtime::Error| StartError::Engine { detail: format!("{error:#}") };
        let engine = engine::engine(&settings.pool()).map_err(of_engine)?;
        let linker = hosted::linker(&engine).map_err(of_engine)?;
        let has_baseline = engine::HAS_BASELINE && settings.baseline_compiler;
        let baseline_engine = (has_baseline && settings.code_kind() == CodeKind::Standard)
            .then(engine::baseline_engine)
            .transpose()
            .map_err(of_engine)?;
        let baseline_linker = baseline_engine.as_ref().map(hosted::linker).transpose().map_err(of_engine)?;
        let ticking = std::iter::once(&engine).chain(&baseline_engine).cloned().collect();
        let ticker = Ticker::start(ticking).map_err(StartError::Threads)?;
        let key = MacKey::open(&settings.cache_key).map_err(StartError::Key)?;
        let engine_cache = |engine: &Engine| {
            let cache = CodeCache::open(&settings.cache_dir, key.clone(), engine::compatibility(engine))
                .map_err(|source| StartError::Cache { folder: settings.cache_dir.clone(), source })?;
            Ok(EngineCache { engine: engine.clone(), cache: Arc::new(cache) })
        };
        let policy_engine = engine::policy_engine().map_err(of_engine)?;
        let (log_ring, strict) = (LogRing::default(), Arc::new(AtomicBool::new(false)));
        let policies = Arc::new(PolicySandbox {
            log_ring: log_ring.clone(),
            linker: crate::health_policy::guest::linker(&policy_engine).map_err(of_engine)?,
            engine: policy_engine,
        });
        let (metrics, compile_queue) = (Metrics::default(), Arc::new(CompileQueue::new()));
        let budget = Budget::new(settings.memory_budget_bytes, &metrics);
        let compiler_memory = budget.of_compiler(metrics.compiler_memory());
        let on_confined = Arc::new(insight::on_confined(&metrics));
        let compile_service = |engine: &Engine, baseline: Option<&Engine>, kind| {
            let (exe, args) = (settings.compiler.clone(), settings.compiler_args.clone());
            Ok(CompileService {
                main: engine_cache(engine)?,
                baseline: baseline.map(&engine_cache).transpose()?,
                compiler: Compiler::new(exe, args, kind, {
                    let on_confined = Arc::clone(&on_confined);
                    move |confinement| on_confined(confinement)
                }),
                memory: compiler_memory.clone(),
                compile_queue: Arc::clone(&compile_queue),
                at_once_bytes: settings.optimised_at_once_bytes,
                metrics: metrics.clone(),
            })
        };
        let of_drivers = compile_service(&engine, baseline_engine.as_ref(), settings.code_kind())?;
        let of_policies = compile_service(&policies.engine, None, CodeKind::Policy)?;
        let archive = match &settings.record {
            Some(record) => Some(
                Archive::open(record, metrics.clone())
                    .map_err(|source| StartError::Recordings { folder: record.folder.clone(), source })?,
            ),
            None => None,
        };
        let threads = Threads::start(settings.threads.max(1)).map_err(StartError::Threads)?;
        let guests = threads.guests();
        let egress = {
            let _entered = guests.normal.enter();
            Egress::new(settings.egress.clone())
        };
        let sandbox = Arc::new(Sandbox {
            linker,
            baseline_linker,
            ticker,
            egress,
            no_grants: Arc::new(Grants::default()),
            inspector: settings.memory_inspector.clone(),
            archive,
            log_listener: settings.log_listener.clone(),
            log_ring,
            metrics: metrics.clone(),
            known: KnownValues::new(Arc::clone(&settings.egress.clock)),
        });
        let counters = Arc::new(Counters::new(settings.counters.clone()));
        let loader = Loader {
            ceiling: settings.grants_ceiling.clone(),
            counters: Arc::clone(&counters),
            fetcher: Fetcher::new(
                settings.cache_dir.join("artifacts"),
                (settings.registry.clone(), settings.loopback_registries),
                settings.pull_secrets.clone(),
                (settings.trust.clone(), settings.grants_ceiling.is_some(), Arc::clone(&strict)),
            ),
            sandbox: Arc::clone(&sandbox),
            policies: Arc::clone(&policies),
            of_drivers,
            of_policies,
            notes: Arc::new(Notes::new(&settings.cache_dir, key.clone())),
            defaults: settings.default_limits.clone(),
            ceilings: Ceilings {
                memory_bytes: settings.max_memory_bytes,
                table_elements: settings.max_table_elements,
                calls_in_flight: settings.max_calls_in_flight,
            },
            budget,
            metrics: metrics.clone(),
        };
        let inner = HostState {
            sandbox,
            policies,
            catalog: Catalog::new(metrics.clone(), Arc::clone(&counters)),
            call_rates: CallRates::default(),
            shadows: Shadows::default(),
            queue: Queue::new(settings.max_calls_in_flight, settings.max_calls_waiting, metrics.clone()),
            metrics,
            guests,
            cpu_shares: CpuShares::default(),
            calls: TaskTracker::new(),
            is_closing: AtomicBool::new(false),
            has_closed: CancellationToken::new(),
            directory: DirectoryState::default(),
            strict,
            loader,
            loads: Mutex::default(),
            settings,
        };
        let closed = inner.has_closed.clone();
        inner.guests.normal.spawn(async move { closed.run_until_cancelled(counters.write()).await });
        Ok(Self(Arc::new(Owner { inner: Arc::new(inner), threads: Some(threads) })))
    }

    /// Declares a ConfigMap and loads its plugin in the background. Known content changes nothing; new content of the
    /// same source replaces a load that is running. A part may complete an index that waits for it. A ConfigMap without
    /// the label is withdrawn.
    pub async fn declare(&self, raw: RawConfigMap) {
        let id = raw.source();
        if !raw.labels.contains_key(PluginKeys::KIND_LABEL) {
            return self.withdraw(id).await;
        }
        let inner = Arc::clone(self.inner());
        // A megabyte is hashed: not on the caller's thread.
        let declare = self.inner().guests.normal.spawn(async move { inner.declare(&raw) });
        // It fails only when the host is ending.
        let _declared = declare.await;
    }

    /// Withdraws a source: its version no longer serves. Calls in flight end as usual. The removal of a part does not
    /// affect loaded versions.
    pub async fn withdraw(&self, source: SourceId) {
        let inner = self.inner();
        inner.supersede(&source, None);
        inner.follow(inner.catalog.withdraw(&source));
    }

    /// Announces that all sources will be declared, as at a start: until [`Self::listed`], no plugin gets a free
    /// provider.
    pub fn listing(&self) {
        self.inner().catalog.list(true);
    }

    /// All sources that there were have been declared.
    pub fn listed(&self) {
        self.inner().catalog.list(false);
    }

    /// Returns the capabilities of the driver of a provider. Refused if no driver serves it; the refusal says whether
    /// one is being loaded.
    pub fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        match self.inner().catalog.routes().find(provider, pin.map(sources::of_core).as_ref()) {
            Route::Found(generation) => Ok(DriverFacts {
                plugin: generation.prepared.plugin.clone(),
                capabilities: generation.about.capabilities,
                consistency_window: generation.about.consistency_window,
            }),
            Route::Perhaps(refusal) | Route::Nowhere(refusal) => Err(refusal),
        }
    }

    /// All policies that are declared, by name. Fast.
    pub fn policies(&self) -> Arc<[PolicyFact]> {
        self.inner().catalog.routes().policy_facts()
    }

    /// Asks a policy about a Machine.
    pub async fn evaluate(
        &self,
        policy: &PluginName,
        question: PolicyQuestion,
        now: Timestamp,
    ) -> Result<RawAnswer, CallError> {
        self.inner().evaluate(policy, question, now).await
    }

    /// Looks at a component as a load would, down to what it says about itself. Nothing of it serves.
    pub async fn inspect(&self, declared: Declared) -> Inspected {
        let inner = Arc::clone(self.inner());
        let fallback = Inspected::interrupted(&declared);
        let inspection =
            self.inner().guests.normal.spawn(async move { inspect(&inner.loader, declared).await });
        inspection.await.unwrap_or(fallback)
    }

    /// Loads a driver and replays recordings to it, one after the other: it gets the same arguments and answers, and no
    /// request leaves the host. Each recording that cannot be played is an error of its own; the outer error is the
    /// component's.
    pub async fn replay(
        &self,
        declared: Declared,
        recordings: Vec<Recording>,
    ) -> Result<Vec<Result<Replayed, ReplayError>>, ReplayError> {
        let inner = Arc::clone(self.inner());
        let replay = self.inner().guests.normal.spawn(async move {
            let component = Origin::Here(declared.component.clone());
            let prepared = match inner.loader.load(&declared.with(component), &|_| {}).await {
                Ok(Loaded::Driver(prepared, _)) => prepared,
                Ok(Loaded::Policy(..)) => return Err(ReplayError::Policy),
                Err(error) => return Err(ReplayError::Load(bounds::reason(&error))),
            };
            let mut replayed = Vec::with_capacity(recordings.len());
            for recording in &recordings {
                replayed.push(replay(&inner.sandbox, &prepared, &inner.loader.ceilings, recording).await);
            }
            Ok(replayed)
        });
        replay.await.unwrap_or(Err(ReplayError::Interrupted))
    }

    /// Adds all metrics of this crate with one series of each, which shows its labels: for the reference of metrics.
    pub fn register_example_metrics(registry: &mut Registry) {
        Metrics::with_examples().register(registry);
        EgressMetrics::with_examples().register(registry);
    }

    /// Adds the metrics of plugins and of egress.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.inner().metrics.register(registry);
        self.inner().sandbox.egress.register_metrics(registry);
    }

    /// Refuses further calls, ends what is loading, and waits for the calls in flight, up to the settings' deadline.
    pub async fn shutdown(&self) {
        let inner = self.inner();
        inner.is_closing.store(true, Ordering::Release);
        inner.has_closed.cancel();
        for (_, load) in std::mem::take(&mut *inner.loads()) {
            load.abort();
        }
        inner.calls.close();
        if timeout(inner.settings.shutdown_deadline, inner.calls.wait()).await.is_err() {
            warn!(calls = inner.calls.len(), "calls of drivers are cut off by the shutdown");
        }
        if let Some(archive) = &inner.sandbox.archive {
            archive.flush(RECORDINGS_TIMEOUT).await;
        }
    }

    fn inner(&self) -> &Arc<HostState> {
        &self.0.inner
    }
}

/// Converts a load into a version that can be called.
fn served(declared: &Declared<Origin>, loaded: Loaded) -> (Vec<ProviderName>, Served) {
    match loaded {
        Loaded::Driver(prepared, about) => {
            let (providers, calls) = (about.providers.clone(), prepared.limits.calls_in_flight);
            let trial = declared.rollout.clone().map(|terms| Trial::new(terms, Timestamp::now()));
            let generation = Generation::new(declared.source.clone(), prepared, about, calls).on(trial);
            (providers, Served::Driver(Arc::new(generation)))
        }
        Loaded::Policy(prepared, about) => {
            let generation =
                Generation::new(declared.source.clone(), prepared, about, POLICY_CALLS_IN_FLIGHT);
            (Vec::new(), Served::Policy(Arc::new(generation)))
        }
    }
}

/// A policy computes and never waits, so more at the same time than there are threads would only take memory.
const POLICY_CALLS_IN_FLIGHT: usize = 4;

/// How long the last recordings may take to be written.
const RECORDINGS_TIMEOUT: Duration = Duration::from_secs(3);

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.end();
        }
    }
}

impl HostState {
    pub(crate) fn declare(self: &Arc<Self>, raw: &RawConfigMap) {
        if self.is_closing.load(Ordering::Acquire) {
            return;
        }
        self.follow(self.catalog.declare(raw));
    }

    pub(crate) fn follow(self: &Arc<Self>, actions: LoadActions) {
        for (source, order) in actions {
            match order {
                LoadAction::Stop => self.supersede(&source, None),
                LoadAction::Load(declaration, declared) => {
                    let inner = Arc::clone(self);
                    let load =
                        self.guests.normal.spawn(async move { inner.load(declaration, *declared).await });
                    self.supersede(&source, Some(load.abort_handle()));
                }
            }
        }
    }

    /// Ends the load of older content.
    pub(crate) fn supersede(&self, id: &SourceId, load: Option<AbortHandle>) {
        let mut loads = self.loads();
        let older = match load {
            Some(load) => loads.insert(id.clone(), load),
            None => loads.remove(id),
        };
        if let Some(older) = older {
            older.abort();
        }
    }

    /// Loads until the load succeeds or fails for good. Failures that may pass are retried with growing pauses.
    async fn load(self: Arc<Self>, declaration: Declaration, mut declared: Declared<Origin>) {
        let id = &declared.source.clone();
        let mut pauses = Pauses::default();
        let pin = Mutex::new(None);
        loop {
            let tell = |progress| {
                if let Progress::Resolved { manifest } = &progress {
                    *pin.lock().unwrap_or_else(PoisonError::into_inner) = Some(*manifest);
                }
                self.catalog.progress(id, declaration, &progress);
            };
            // A defect of the host that some component finds is no reason to wait for that component for ever.
            let loaded = AssertUnwindSafe(self.loader.load(&declared, &tell)).catch_unwind().await;
            let loaded = loaded.unwrap_or(Err(load::Error::Interrupted));
            // A resolved reference stays resolved, even if a later step fails.
            if let Origin::Remote(remote) = &mut declared.component {
                remote.pin = remote.pin.or(*pin.lock().unwrap_or_else(PoisonError::into_inner));
            }
            match loaded {
                Ok(loaded) => {
                    let (providers, generation) = served(&declared, loaded);
                    let baseline = BaselineGeneration::of(&generation);
                    self.catalog.loaded(id, declaration, providers, generation);
                    self.resolve_waiting_later(id);
                    if let Some(baseline) = baseline {
                        self.guests.normal.spawn(Arc::clone(&self).improve(declared, baseline));
                    }
                    return;
                }
                Err(error) if error.is_passing() => {
                    let pause = pauses.next().max(error.rests_for().unwrap_or_default());
                    let reason = bounds::reason(&error);
                    let reason = format!("{reason}; next attempt in {} s", pause.as_secs());
                    self.catalog.reject(id, declaration, &reason);
                    sleep(pause).await;
                }
                Err(error) => return self.catalog.reject(id, declaration, &bounds::reason(&error)),
            }
        }
    }

    /// Ends the wait for another plugin's claim after a timeout.
    fn resolve_waiting_later(self: &Arc<Self>, id: &SourceId) {
        if !self.catalog.waits(id) {
            return;
        }
        let inner = Arc::downgrade(self);
        self.guests.normal.spawn(async move {
            sleep(CLAIM_TIMEOUT.unsigned_abs()).await;
            if let Some(inner) = inner.upgrade() {
                inner.catalog.resolve_waiting();
            }
        });
    }

    /// Retries until optimised code has replaced the first code, or the version is dropped, or no better code is
    /// possible. The version serves meanwhile, even if its source declares other content that cannot serve.
    async fn improve(self: Arc<Self>, declared: Declared<Origin>, baseline: BaselineGeneration) {
        let improvement = async {
            let mut pauses = Pauses::default();
            while baseline.served().is_some() {
                match self.replace(&declared, &baseline).await {
                    Ok(()) => return self.catalog.refresh(),
                    Err(error) => {
                        let (plugin, source, is_passing) =
                            (&declared.plugin, &declared.source, error.is_passing());
                        let error = bounds::reason(&error);
                        warn!(%plugin, %source, is_passing, error, "no optimised code, the slower one goes on");
                        if !is_passing {
                            return;
                        }
                    }
                }
                sleep(pauses.next()).await;
            }
        };
        self.has_closed.run_until_cancelled(improvement).await;
    }

    /// Compiles optimised code and replaces the first code by it.
    async fn replace(
        &self,
        declared: &Declared<Origin>,
        baseline: &BaselineGeneration,
    ) -> Result<(), load::Error> {
        let needed = || baseline.served().map(|served| served.digest());
        let Some((code, digest)) = self.loader.optimised(declared, needed).await? else { return Ok(()) };
        let Some(served) = baseline.served() else { return Ok(()) };
        let replaced = match &served {
            Served::Driver(generation) => self.loader.replace_driver(&generation.prepared, &code).await?,
            Served::Policy(generation) => self.loader.replace_policy(&generation.prepared, &code).await?,
        };
        self.loader.forget(&declared.kind, digest, replaced).await;
        Ok(())
    }

    fn loads(&self) -> std::sync::MutexGuard<'_, BTreeMap<SourceId, AbortHandle>> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
