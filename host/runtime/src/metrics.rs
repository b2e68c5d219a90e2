//! What the runtime counts. Labels come from closed sets only.

use std::sync::Mutex;
use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::safety::SafetyMetrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: String,
    resource: String,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: String,
}

/// The runtime's metrics.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: Family<RequestLabels, Counter>,
    passes: Family<ControllerLabels, Counter>,
    panics: Counter,
    queued: Gauge<i64, AtomicI64>,
    in_flight: Gauge<i64, AtomicI64>,
    leads: Gauge<i64, AtomicI64>,
    machines: Gauge<i64, AtomicI64>,
    phases: Family<PhaseLabels, Gauge<i64, AtomicI64>>,
    by_phase: Mutex<std::collections::BTreeMap<&'static str, i64>>,
    pub(crate) safety: SafetyMetrics,
}

impl Metrics {
    /// Puts all metrics into a registry.
    pub fn register(&self, registry: &mut Registry) {
        self.safety.register(registry);
        let all = registry;
        all.register("machinist_api_requests", "Requests to API servers", self.requests.clone());
        all.register("machinist_passes", "Passes of controllers", self.passes.clone());
        all.register("machinist_pass_panics", "Passes that ended in a panic", self.panics.clone());
        all.register("machinist_queue_depth", "Keys that wait for a pass", self.queued.clone());
        all.register("machinist_passes_in_flight", "Passes that run", self.in_flight.clone());
        all.register("machinist_leader", "1 while this process leads", self.leads.clone());
        all.register("mcm_machine_items_total", "Machines in the cache", self.machines.clone());
        all.register("machinist_machines", "Machines by phase", self.phases.clone());
    }

    pub(crate) fn api_request(&self, verb: &str, resource: &str, code: u16) {
        let labels = RequestLabels { verb: verb.to_owned(), resource: resource.to_owned(), code };
        self.requests.get_or_create(&labels).inc();
    }

    pub(crate) fn pass_ended(&self, controller: &str) {
        self.passes.get_or_create(&ControllerLabels { controller: controller.to_owned() }).inc();
    }

    pub(crate) fn pass_panicked(&self) {
        self.panics.inc();
    }

    pub(crate) fn queue(&self, queued: usize, in_flight: usize) {
        self.queued.set(i64::try_from(queued).unwrap_or(i64::MAX));
        self.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    /// A Machine went from one phase to another; `None` is "not there".
    pub(crate) fn phase_changed(&self, old: Option<&'static str>, new: Option<&'static str>) {
        if old == new {
            return;
        }
        let mut by_phase = self.by_phase.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (phase, by) in [(old, -1), (new, 1)] {
            let Some(phase) = phase else { continue };
            let count = by_phase.entry(phase).or_default();
            *count += by;
            // The API's word for a Machine that is being created is the empty one.
            let phase = if phase.is_empty() { "Creating" } else { phase }.to_owned();
            self.phases.get_or_create(&PhaseLabels { phase }).set(*count);
        }
        self.machines.set(by_phase.values().sum());
    }
}
