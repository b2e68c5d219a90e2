//! The metrics of the plugin host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinist_core::driver::error::{CallError, GuestFailure};
use machinist_core::value::id::PluginName;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::loading::compiler_process::confine::Confinement;
use crate::loading::tier::CodeTier;
use crate::registry::canary::Shadowed;
use crate::registry::canary::record::{CallOutcome, TrialSide};
use crate::registry::report::PluginReport;
use crate::sources::SourceId;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    plugin: String,
    operation: &'static str,
    outcome: &'static str,
    /// The ConfigMap of the version that answered.
    source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    plugin: String,
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginLabels {
    plugin: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GuestFailureLabels {
    plugin: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    plugin: String,
    source: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    plugin: String,
    source: String,
    tier: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReleaseLabels {
    plugin: String,
    step: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TrialLabels {
    plugin: String,
    version: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShadowLabels {
    plugin: String,
    operation: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TierLabels {
    tier: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LayerLabels {
    layer: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CacheLabels {
    outcome: &'static str,
}

/// The result of a query of the code cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheOutcome {
    Hit,
    Miss,
    Tampered,
    Unusable,
}

impl CacheOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Tampered => "tampered",
            Self::Unusable => "unusable",
        }
    }
}

/// The result of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordingOutcome {
    Written,
    LeftOut,
    Failed,
}

impl RecordingOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::LeftOut => "left-out",
            Self::Failed => "failed",
        }
    }
}

/// A step of a version on its way to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseStep {
    Started,
    Promoted,
    Withdrawn,
}

impl ReleaseStep {
    fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Promoted => "promoted",
            Self::Withdrawn => "withdrawn",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecordingLabels {
    outcome: &'static str,
}

#[derive(Clone)]
struct CompileSeconds;

impl MetricConstructor<Histogram> for CompileSeconds {
    /// 50 ms to 14 minutes.
    fn new_metric(&self) -> Histogram {
        Histogram::new(exponential_buckets(0.05, 2.0, 14))
    }
}

#[derive(Clone)]
struct CallSeconds;

impl MetricConstructor<Histogram> for CallSeconds {
    /// 0.1 ms to 7 minutes: an empty call at one end, the longest deadline at the other.
    fn new_metric(&self) -> Histogram {
        Histogram::new(exponential_buckets(0.0001, 2.5, 17))
    }
}

/// Handles to all metrics; a clone counts into the same.
#[derive(Clone)]
pub(crate) struct Metrics {
    calls: Family<CallLabels, Counter>,
    seconds: Family<DurationLabels, Histogram, CallSeconds>,
    in_flight: Family<PluginLabels, Gauge>,
    waiting: Gauge,
    breakages: Family<GuestFailureLabels, Counter>,
    memory: Family<PluginLabels, Gauge>,
    memory_budget: Gauge,
    compiler_memory: Gauge,
    states: Family<StateLabels, Gauge>,
    swaps: Family<PluginLabels, Counter>,
    rollouts: Family<ReleaseLabels, Counter>,
    shadow_calls: Family<ShadowLabels, Counter>,
    trial_calls: Family<TrialLabels, Counter>,
    cache: Family<CacheLabels, Counter>,
    code: Family<CodeLabels, Gauge>,
    compile_seconds: Family<TierLabels, Histogram, CompileSeconds>,
    compiler_deaths: Family<TierLabels, Counter>,
    confinement: Family<LayerLabels, Gauge>,
    recordings: Family<RecordingLabels, Counter>,
    directory_failures: Counter,
    dropped_lines: Family<PluginLabels, Counter>,
    low_priority_calls: Family<PluginLabels, Counter>,
    /// The log says which layers of the compiler's confinement are missing.
    has_reported: Arc<AtomicBool>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            calls: Family::default(),
            seconds: Family::new_with_constructor(CallSeconds),
            in_flight: Family::default(),
            waiting: Gauge::default(),
            breakages: Family::default(),
            memory: Family::default(),
            memory_budget: Gauge::default(),
            compiler_memory: Gauge::default(),
            states: Family::default(),
            swaps: Family::default(),
            rollouts: Family::default(),
            shadow_calls: Family::default(),
            trial_calls: Family::default(),
            cache: Family::default(),
            code: Family::default(),
            compile_seconds: Family::new_with_constructor(CompileSeconds),
            compiler_deaths: Family::default(),
            confinement: Family::default(),
            recordings: Family::default(),
            directory_failures: Counter::default(),
            dropped_lines: Family::default(),
            low_priority_calls: Family::default(),
            has_reported: Arc::default(),
        }
    }

    /// With one series of each, which shows its labels.
    pub(crate) fn with_examples() -> Self {
        let all = Self::new();
        let (plugin, source, empty) = (String::new, String::new, "");
        drop(all.calls.get_or_create(&CallLabels {
            plugin: plugin(),
            operation: empty,
            outcome: empty,
            source: source(),
        }));
        drop(all.seconds.get_or_create(&DurationLabels { plugin: plugin(), operation: empty }));
        drop(all.in_flight.get_or_create(&PluginLabels { plugin: plugin() }));
        drop(all.breakages.get_or_create(&GuestFailureLabels { plugin: plugin(), kind: empty }));
        drop(all.memory.get_or_create(&PluginLabels { plugin: plugin() }));
        drop(all.states.get_or_create(&StateLabels { plugin: plugin(), source: source(), state: empty }));
        drop(all.swaps.get_or_create(&PluginLabels { plugin: plugin() }));
        drop(all.rollouts.get_or_create(&ReleaseLabels { plugin: plugin(), step: empty }));
        drop(all.shadow_calls.get_or_create(&ShadowLabels {
            plugin: plugin(),
            operation: empty,
            result: empty,
        }));
        drop(all.trial_calls.get_or_create(&TrialLabels {
            plugin: plugin(),
            version: empty,
            outcome: empty,
        }));
        drop(all.cache.get_or_create(&CacheLabels { outcome: empty }));
        drop(all.code.get_or_create(&CodeLabels { plugin: plugin(), source: source(), tier: empty }));
        drop(all.compile_seconds.get_or_create(&TierLabels { tier: empty }));
        drop(all.compiler_deaths.get_or_create(&TierLabels { tier: empty }));
        drop(all.confinement.get_or_create(&LayerLabels { layer: empty }));
        drop(all.recordings.get_or_create(&RecordingLabels { outcome: empty }));
        drop(all.dropped_lines.get_or_create(&PluginLabels { plugin: plugin() }));
        drop(all.low_priority_calls.get_or_create(&PluginLabels { plugin: plugin() }));
        all
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "machinist_plugin_calls",
            "Calls of drivers by outcome: ok, guest (the driver's error), broken (the plugin's fault), refused (the host's)",
            self.calls.clone(),
        );
        registry.register(
            "machinist_plugin_call_duration_seconds",
            "Time of a call in its sandbox, without waiting for its turn",
            self.seconds.clone(),
        );
        registry.register(
            "machinist_plugin_calls_in_flight",
            "Calls that are running",
            self.in_flight.clone(),
        );
        registry.register(
            "machinist_plugin_calls_waiting",
            "Calls that wait for their turn",
            self.waiting.clone(),
        );
        registry.register(
            "machinist_plugin_breakages",
            "Calls that a plugin broke, by the limit it hit, or trap, or contract",
            self.breakages.clone(),
        );
        registry.register(
            "machinist_plugin_memory_bytes",
            "Memory that calls of a plugin hold: of guests, of requests, of answers",
            self.memory.clone(),
        );
        registry.register(
            "machinist_plugin_memory_budget_bytes",
            "Memory that all plugins and the compiler share",
            self.memory_budget.clone(),
        );
        registry.register(
            "machinist_plugin_compiler_memory_bytes",
            "Memory that is set aside for the compiler that runs",
            self.compiler_memory.clone(),
        );
        registry.register(
            "machinist_plugin_state",
            "1 for the state that a source is in",
            self.states.clone(),
        );
        registry.register(
            "machinist_plugin_swaps",
            "Times that another generation of a plugin began to serve",
            self.swaps.clone(),
        );
        registry.register(
            "machinist_plugin_rollouts",
            "Steps of versions on their way to serve: started, promoted, withdrawn",
            self.rollouts.clone(),
        );
        registry.register(
            "machinist_plugin_shadow_calls",
            "Calls that a version that answers nobody was asked, too: same, differs, unread, broken, left out",
            self.shadow_calls.clone(),
        );
        registry.register(
            "machinist_plugin_trial_calls",
            "Calls of both versions while one is on trial: of the new one and of the stable one, by outcome (answered, failed, broken)",
            self.trial_calls.clone(),
        );
        registry.register(
            "machinist_plugin_code_cache_lookups",
            "Lookups of compiled code: hit, miss, tampered, unusable",
            self.cache.clone(),
        );
        registry.register(
            "machinist_plugin_code",
            "1 for the tier of the code that a source's calls run in: baseline or quick until the optimised one is there",
            self.code.clone(),
        );
        registry.register(
            "machinist_plugin_compile_duration_seconds",
            "Time that compiling a component took, by tier: baseline, quick, optimised",
            self.compile_seconds.clone(),
        );
        registry.register(
            "machinist_plugin_compiler_deaths",
            "Compilers that a component killed: out of memory, out of time, a crash",
            self.compiler_deaths.clone(),
        );
        registry.register(
            "machinist_plugin_compiler_confinement",
            "1 for what is taken from the compiler before it reads a component: files, system-calls, network; 0 where the kernel or the container runtime lacks it",
            self.confinement.clone(),
        );
        registry.register(
            "machinist_plugin_recordings",
            "Calls that were to be recorded: written, left-out (too many were waiting), failed",
            self.recordings.clone(),
        );
        registry.register(
            "machinist_plugin_directory_failures",
            "Looks at the directory of --plugin-dir that failed: its plugins stay as they are",
            self.directory_failures.clone(),
        );
        registry.register(
            "machinist_plugin_log_lines_dropped",
            "Log lines of drivers beyond what one call may write",
            self.dropped_lines.clone(),
        );
        registry.register(
            "machinist_plugin_low_priority_calls",
            "Calls that began at low priority: an earlier call broke or computed for long, or the plugin is the busiest",
            self.low_priority_calls.clone(),
        );
    }

    pub(crate) fn in_flight(&self, plugin: &PluginName) -> GaugeGuard {
        count_up(self.in_flight.get_or_create(&PluginLabels { plugin: plugin.to_string() }).clone())
    }

    /// The gauge of what a plugin's calls hold.
    pub(crate) fn memory_of(&self, plugin: &PluginName) -> Gauge {
        self.memory.get_or_create(&PluginLabels { plugin: plugin.to_string() }).clone()
    }

    /// The gauge of what the compiler may use.
    pub(crate) fn compiler_memory(&self) -> Gauge {
        self.compiler_memory.clone()
    }

    pub(crate) fn show_budget(&self, bytes: u64) {
        self.memory_budget.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    pub(crate) fn waiting(&self) -> GaugeGuard {
        count_up(self.waiting.clone())
    }

    pub(crate) fn ended(
        &self,
        (plugin, source): (&PluginName, &SourceId),
        operation: &'static str,
        took: Duration,
        error: Option<&CallError>,
    ) {
        let plugin = plugin.to_string();
        let outcome = error.map_or("ok", CallError::category);
        self.seconds
            .get_or_create(&DurationLabels { plugin: plugin.clone(), operation })
            .observe(took.as_secs_f64());
        if let Some(CallError::Broken(broken)) = error {
            let labels = GuestFailureLabels { plugin: plugin.clone(), kind: kind(&broken.failure) };
            self.breakages.get_or_create(&labels).inc();
        }
        let labels = CallLabels { plugin, operation, outcome, source: source.to_string() };
        self.calls.get_or_create(&labels).inc();
    }

    pub(crate) fn cache(&self, outcome: CacheOutcome) {
        self.cache.get_or_create(&CacheLabels { outcome: outcome.name() }).inc();
    }

    /// The directory of plugins could not be looked at.
    pub(crate) fn directory_failed(&self) {
        self.directory_failures.inc();
    }

    pub(crate) fn recorded(&self, outcome: RecordingOutcome) {
        self.recordings.get_or_create(&RecordingLabels { outcome: outcome.name() }).inc();
    }

    pub(crate) fn low_priority_call(&self, plugin: &PluginName) {
        self.low_priority_calls.get_or_create(&PluginLabels { plugin: plugin.to_string() }).inc();
    }

    pub(crate) fn dropped_lines(&self, plugin: &PluginName, lines: u64) {
        if lines > 0 {
            self.dropped_lines.get_or_create(&PluginLabels { plugin: plugin.to_string() }).inc_by(lines);
        }
    }

    /// Recordings that are not there.
    pub(crate) fn recordings_missing(&self) -> u64 {
        let count = |outcome: RecordingOutcome| {
            self.recordings.get_or_create(&RecordingLabels { outcome: outcome.name() }).get()
        };
        count(RecordingOutcome::LeftOut) + count(RecordingOutcome::Failed)
    }

    pub(crate) fn compiled(&self, tier: CodeTier, took: Duration) {
        let labels = TierLabels { tier: tier.name() };
        self.compile_seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn compiler_died(&self, tier: CodeTier) {
        self.compiler_deaths.get_or_create(&TierLabels { tier: tier.name() }).inc();
    }

    /// Shows what holds of the compiler. Returns what is missing, once.
    pub(crate) fn confined(&self, confinement: Confinement) -> Option<Vec<&'static str>> {
        let mut missing = Vec::new();
        for (layer, holds) in confinement.layers() {
            let shown = self.confinement.get_or_create(&LayerLabels { layer });
            shown.set(i64::from(holds));
            if !holds {
                missing.push(layer);
            }
        }
        let is_first = !self.has_reported.swap(true, Ordering::Relaxed);
        (is_first && !missing.is_empty()).then_some(missing)
    }

    pub(crate) fn swapped(&self, plugin: &PluginName) {
        self.swaps.get_or_create(&PluginLabels { plugin: plugin.to_string() }).inc();
    }

    /// A version came a step further on its way to serve, or was sent back.
    pub(crate) fn rolled(&self, plugin: &PluginName, step: ReleaseStep) {
        let labels = ReleaseLabels { plugin: plugin.to_string(), step: step.name() };
        self.rollouts.get_or_create(&labels).inc();
    }

    /// A call that a shadow was to be asked, too.
    pub(crate) fn shadowed(&self, plugin: &PluginName, operation: &'static str, shadowed: &Shadowed) {
        let labels = ShadowLabels { plugin: plugin.to_string(), operation, result: shadowed.name() };
        self.shadow_calls.get_or_create(&labels).inc();
    }

    /// A call while a version is on trial.
    pub(crate) fn trial_call(&self, plugin: &PluginName, side: TrialSide, outcome: CallOutcome) {
        let version = match side {
            TrialSide::Stable => "stable",
            TrialSide::New => "new",
        };
        let outcome = match outcome {
            CallOutcome::Answered(_) => "answered",
            CallOutcome::Failed => "failed",
            CallOutcome::Broken => "broken",
        };
        self.trial_calls.get_or_create(&TrialLabels { plugin: plugin.to_string(), version, outcome }).inc();
    }

    /// Shows the states and the tiers of these and of no others.
    pub(crate) fn show_states(&self, reports: &[PluginReport]) {
        self.states.clear();
        self.code.clear();
        for report in reports {
            if let Some(held) = &report.held {
                let labels = CodeLabels {
                    plugin: report.plugin.to_string(),
                    source: report.source.to_string(),
                    tier: held.code.name(),
                };
                self.code.get_or_create(&labels).set(1);
            }
            let labels = StateLabels {
                plugin: report.plugin.to_string(),
                source: report.source.to_string(),
                state: report.state.name(),
            };
            self.states.get_or_create(&labels).set(1);
        }
    }
}

/// One more as long as it lives.
pub(crate) struct GaugeGuard(Gauge);

fn count_up(gauge: Gauge) -> GaugeGuard {
    gauge.inc();
    GaugeGuard(gauge)
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn kind(failure: &GuestFailure) -> &'static str {
    match failure {
        GuestFailure::Limit { limit, .. } => limit.name(),
        GuestFailure::Trap { .. } => "trap",
        GuestFailure::Contract { .. } => "contract",
        GuestFailure::CutOff { .. } => "cut-off",
    }
}
