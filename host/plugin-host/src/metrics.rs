//! The metrics of the plugin host: one row each. It knows no room: callers give the values of labels.

use std::borrow::Cow;
use std::time::Duration;

use machinist_core::driver::error::{CallError, GuestFailure};
use machinist_core::value::id::PluginName;
use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// A metric with `N` labels. A clone counts into the same series.
#[derive(Clone)]
pub(crate) struct Series<M, const N: usize> {
    names: [&'static str; N],
    family: Family<SeriesLabels<N>, M, fn() -> M>,
}

type SeriesLabels<const N: usize> = [(&'static str, Cow<'static, str>); N];

impl<M: Clone, const N: usize> Series<M, N> {
    pub(crate) fn new(names: [&'static str; N], make: fn() -> M) -> Self {
        Self { names, family: Family::new_with_constructor(make) }
    }

    /// Returns the metric of these labels, in the order of their names.
    pub(crate) fn of(&self, values: [Cow<'static, str>; N]) -> M {
        let mut names = self.names.iter();
        let labels = values.map(|value| (names.next().copied().unwrap_or_default(), value));
        self.family.get_or_create(&labels).clone()
    }

    fn clear(&self) {
        self.family.clear();
    }
}

/// A row of the tables below.
pub(crate) trait Row: Clone {
    fn register(&self, registry: &mut Registry, name: &str, help: &str);

    /// Makes one series, which shows the labels.
    fn show_labels(&self) {}
}

impl<M: Clone + EncodeMetric + TypedMetric + Send + Sync + std::fmt::Debug + 'static, const N: usize> Row
    for Series<M, N>
{
    fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.family.clone());
    }

    fn show_labels(&self) {
        drop(self.of([const { Cow::Borrowed("") }; N]));
    }
}

impl Row for Gauge {
    fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.clone());
    }
}

impl Row for Counter {
    fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.clone());
    }
}

/// Declares a struct with a metric in each row: its field, type and first value, its name, and its help.
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        $all:ident { $($field:ident: $kind:ty = $new:expr, $name:literal, $help:literal;)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone)]
        pub(crate) struct $all {
            $($field: $kind,)+
        }

        impl Default for $all {
            fn default() -> Self {
                Self { $($field: $new,)+ }
            }
        }

        impl $all {
            /// With one series of each, which shows its labels.
            pub(crate) fn with_examples() -> Self {
                let all = Self::default();
                $($crate::metrics::Row::show_labels(&all.$field);)+
                all
            }

            pub(crate) fn register(&self, registry: &mut Registry) {
                $($crate::metrics::Row::register(&self.$field, registry, $name, $help);)+
            }
        }
    };
}

pub(crate) use metrics;

metrics! {
    /// Handles to all metrics; a clone counts into the same.
    Metrics {
        calls: Series<Counter, 4> = Series::new(["plugin", "operation", "outcome", "source"], Counter::default),
            "machinist_plugin_calls",
            "Calls of drivers by outcome: ok, guest (the driver's error), broken (the plugin's fault), refused (the host's)";
        seconds: Series<Histogram, 2> = Series::new(["plugin", "operation"], call_seconds),
            "machinist_plugin_call_duration_seconds",
            "Time of a call in its sandbox, without waiting for its turn";
        in_flight: Series<Gauge, 1> = Series::new(["plugin"], Gauge::default),
            "machinist_plugin_calls_in_flight",
            "Calls that are running";
        waiting: Gauge = Gauge::default(),
            "machinist_plugin_calls_waiting",
            "Calls that wait for their turn";
        breakages: Series<Counter, 2> = Series::new(["plugin", "kind"], Counter::default),
            "machinist_plugin_breakages",
            "Calls that a plugin broke, by the limit it hit, or trap, or contract";
        memory: Series<Gauge, 1> = Series::new(["plugin"], Gauge::default),
            "machinist_plugin_memory_bytes",
            "Memory that calls of a plugin hold: of guests, of requests, of answers";
        memory_budget: Gauge = Gauge::default(),
            "machinist_plugin_memory_budget_bytes",
            "Memory that all plugins and the compiler share";
        compiler_memory: Gauge = Gauge::default(),
            "machinist_plugin_compiler_memory_bytes",
            "Memory that is set aside for the compiler that runs";
        states: Series<Gauge, 3> = Series::new(["plugin", "source", "state"], Gauge::default),
            "machinist_plugin_state",
            "1 for the state that a source is in";
        swaps: Series<Counter, 1> = Series::new(["plugin"], Counter::default),
            "machinist_plugin_swaps",
            "Times that another generation of a plugin began to serve";
        rollouts: Series<Counter, 2> = Series::new(["plugin", "step"], Counter::default),
            "machinist_plugin_rollouts",
            "Steps of versions on their way to serve: started, promoted, withdrawn";
        shadow_calls: Series<Counter, 3> = Series::new(["plugin", "operation", "result"], Counter::default),
            "machinist_plugin_shadow_calls",
            "Calls that a version that answers nobody was asked, too: same, differs, unread, broken, left out";
        trial_calls: Series<Counter, 3> = Series::new(["plugin", "version", "outcome"], Counter::default),
            "machinist_plugin_trial_calls",
            "Calls of both versions while one is on trial: of the new one and of the stable one, by outcome (answered, failed, broken)";
        cache: Series<Counter, 1> = Series::new(["outcome"], Counter::default),
            "machinist_plugin_code_cache_lookups",
            "Lookups of compiled code: hit, miss, tampered, unusable";
        code: Series<Gauge, 3> = Series::new(["plugin", "source", "tier"], Gauge::default),
            "machinist_plugin_code",
            "1 for the tier of the code that a source's calls run in: baseline or quick until the optimised one is there";
        compile_seconds: Series<Histogram, 1> = Series::new(["tier"], compile_seconds),
            "machinist_plugin_compile_duration_seconds",
            "Time that compiling a component took, by tier: baseline, quick, optimised";
        compiler_deaths: Series<Counter, 1> = Series::new(["tier"], Counter::default),
            "machinist_plugin_compiler_deaths",
            "Compilers that a component killed: out of memory, out of time, a crash";
        confinement: Series<Gauge, 1> = Series::new(["layer"], Gauge::default),
            "machinist_plugin_compiler_confinement",
            "1 for what is taken from the compiler before it reads a component: files, system-calls, network; 0 where the kernel or the container runtime lacks it";
        recordings: Series<Counter, 1> = Series::new(["outcome"], Counter::default),
            "machinist_plugin_recordings",
            "Calls that were to be recorded: written, left-out (too many were waiting), failed";
        directory_failures: Counter = Counter::default(),
            "machinist_plugin_directory_failures",
            "Looks at the directory of --plugin-dir that failed: its plugins stay as they are";
        dropped_lines: Series<Counter, 1> = Series::new(["plugin"], Counter::default),
            "machinist_plugin_log_lines_dropped",
            "Log lines of drivers beyond what one call may write";
        low_priority_calls: Series<Counter, 1> = Series::new(["plugin"], Counter::default),
            "machinist_plugin_low_priority_calls",
            "Calls that began at low priority: an earlier call broke or computed for long, or the plugin is the busiest";
    }
}

/// 50 ms to 14 minutes.
fn compile_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.05, 2.0, 14))
}

/// 0.1 ms to 7 minutes: an empty call at one end, the longest deadline at the other.
fn call_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.5, 17))
}

fn name(plugin: &PluginName) -> Cow<'static, str> {
    plugin.to_string().into()
}

impl Metrics {
    pub(crate) fn in_flight(&self, plugin: &PluginName) -> GaugeGuard {
        count_up(self.in_flight.of([name(plugin)]))
    }

    /// The gauge of what a plugin's calls hold.
    pub(crate) fn memory_of(&self, plugin: &PluginName) -> Gauge {
        self.memory.of([name(plugin)])
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

    /// A call has ended. `source` is the ConfigMap of the version that answered.
    pub(crate) fn ended(
        &self,
        (plugin, source): (&PluginName, String),
        operation: &'static str,
        took: Duration,
        error: Option<&CallError>,
    ) {
        self.seconds.of([name(plugin), operation.into()]).observe(took.as_secs_f64());
        if let Some(CallError::Broken(broken)) = error {
            self.breakages.of([name(plugin), kind(&broken.failure).into()]).inc();
        }
        let outcome = error.map_or("ok", CallError::category);
        self.calls.of([name(plugin), operation.into(), outcome.into(), source.into()]).inc();
    }

    /// Compiled code was looked up: hit, miss, tampered, unusable.
    pub(crate) fn cache(&self, outcome: &'static str) {
        self.cache.of([outcome.into()]).inc();
    }

    /// The directory of plugins could not be looked at.
    pub(crate) fn directory_failed(&self) {
        self.directory_failures.inc();
    }

    /// A call was to be recorded: written, left-out, failed.
    pub(crate) fn recorded(&self, outcome: &'static str) {
        self.recordings.of([outcome.into()]).inc();
    }

    pub(crate) fn dropped_lines(&self, plugin: &PluginName, lines: u64) {
        if lines > 0 {
            self.dropped_lines.of([name(plugin)]).inc_by(lines);
        }
    }

    pub(crate) fn low_priority_call(&self, plugin: &PluginName) {
        self.low_priority_calls.of([name(plugin)]).inc();
    }

    /// Recordings that are not there.
    pub(crate) fn recordings_missing(&self) -> u64 {
        ["left-out", "failed"].map(|outcome| self.recordings.of([outcome.into()]).get()).iter().sum()
    }

    pub(crate) fn compiled(&self, tier: &'static str, took: Duration) {
        self.compile_seconds.of([tier.into()]).observe(took.as_secs_f64());
    }

    pub(crate) fn compiler_died(&self, tier: &'static str) {
        self.compiler_deaths.of([tier.into()]).inc();
    }

    /// Shows whether a layer of the compiler's confinement holds.
    pub(crate) fn confined(&self, layer: &'static str, holds: bool) {
        self.confinement.of([layer.into()]).set(i64::from(holds));
    }

    pub(crate) fn swapped(&self, plugin: &PluginName) {
        self.swaps.of([name(plugin)]).inc();
    }

    /// A version came a step further on its way to serve, or was sent back: started, promoted, withdrawn.
    pub(crate) fn rolled(&self, plugin: &PluginName, step: &'static str) {
        self.rollouts.of([name(plugin), step.into()]).inc();
    }

    /// A call that a shadow was to be asked, too.
    pub(crate) fn shadowed(&self, plugin: &PluginName, operation: &'static str, result: &'static str) {
        self.shadow_calls.of([name(plugin), operation.into(), result.into()]).inc();
    }

    /// A call while a version is on trial.
    pub(crate) fn trial_call(&self, plugin: &PluginName, version: &'static str, outcome: &'static str) {
        self.trial_calls.of([name(plugin), version.into(), outcome.into()]).inc();
    }

    /// Shows the states and the tiers of these sources and of no others.
    pub(crate) fn show_states<'a>(&self, sources: impl Iterator<Item = SourceStates<'a>>) {
        self.states.clear();
        self.code.clear();
        for SourceStates { plugin, source, state, tier } in sources {
            let source = Cow::from(source);
            if let Some(tier) = tier {
                self.code.of([name(plugin), source.clone(), tier.into()]).set(1);
            }
            self.states.of([name(plugin), source, state.into()]).set(1);
        }
    }
}

/// A source as metrics show it: its state, and the tier of the code that it holds.
pub(crate) struct SourceStates<'a> {
    pub(crate) plugin: &'a PluginName,
    pub(crate) source: String,
    pub(crate) state: &'static str,
    pub(crate) tier: Option<&'static str>,
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
