//! Metrics of the runtime. Labels come from closed sets, or from objects that exist.
//!
//! | module | what it counts |
//! | --- | --- |
//! | `inventory`, `sets`, `deployments` | objects, read from the caches at each scrape; also whether the host is frozen |
//! | `stages` | how long the stages of Machines take |
//! | `set_counters` | stale Machines that sets delete, and sets that freeze |
//! | `queue` | the queue and its reconciles |
//! | `safety` | VMs and Nodes without a Machine |
//! | `drivers` | calls of drivers |
//! | `requests` | requests to API servers |
//! | `events` | Events that were written and lost |
//! | `examples` | one series of each metric, for the generated reference |

mod deployments;
mod drivers;
mod events;
mod examples;
mod inventory;
mod queue;
mod requests;
mod safety;
mod set_counters;
mod sets;
mod stages;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::Operation;
use machinist_core::driver::error::CallError;
use machinist_core::value::id::ProviderName;
use machinist_core::value::phase::Phase;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

pub(crate) use events::LostEvent;
pub(crate) use inventory::{InventorySources, deployment_of};
pub(crate) use queue::QueueName;
pub(crate) use requests::RequestMetric;
pub(crate) use safety::{ListingEnd, SafetyMetrics};
pub(crate) use stages::{Milestone, Pool};

use crate::context::clock::ServerClock;
use crate::machine_query::MachineQueries;

use drivers::DriverMetrics;
use events::EventMetrics;
use inventory::{IncompleteScrapes, Inventory};
use queue::{ControllerLabels, QueueMetrics};
use requests::RequestMetrics;
use set_counters::SetCounters;
use stages::StageMetrics;

/// The runtime's metrics.
#[derive(Default)]
pub struct Metrics {
    requests: RequestMetrics,
    events: EventMetrics,
    drivers: DriverMetrics,
    queue: Arc<QueueMetrics>,
    stages: Arc<StageMetrics>,
    set_counters: SetCounters,
    reconciles: Family<ControllerLabels, Counter>,
    panics: Counter,
    queued: Gauge<i64, AtomicI64>,
    in_flight: Gauge<i64, AtomicI64>,
    leads: Gauge<i64, AtomicI64>,
    inventory: Arc<OnceLock<InventorySources>>,
    machine_queries: MachineQueries,
    pub(crate) safety: SafetyMetrics,
}

impl Metrics {
    /// Puts all metrics into a registry.
    pub fn register(&self, registry: &mut Registry) {
        let all = registry;
        self.requests.register(all);
        self.events.register(all);
        self.drivers.register(all);
        self.queue.register(all);
        self.stages.register(all);
        self.set_counters.register(all);
        self.safety.register(all);
        all.register("machinist_passes", "Passes of controllers", self.reconciles.clone());
        all.register("machinist_pass_panics", "Passes that ended in a panic", self.panics.clone());
        all.register("machinist_queue_depth", "Keys that wait for a pass, due or not", self.queued.clone());
        all.register("machinist_passes_in_flight", "Passes that run", self.in_flight.clone());
        all.register("machinist_leader", "1 while this process leads", self.leads.clone());
        all.register_collector(Box::new(Inventory {
            inventory: self.inventory.clone(),
            stages: self.stages.clone(),
            queue: self.queue.clone(),
            incomplete: IncompleteScrapes::default(),
        }));
    }

    /// What can be asked about single Machines.
    pub fn machine_queries(&self) -> &MachineQueries {
        &self.machine_queries
    }

    /// The inventory is read from here.
    pub(crate) fn show(&self, inventory: InventorySources) {
        // A second tenant of the process would need its own metrics.
        let _ = self.inventory.set(inventory);
    }

    pub(crate) fn answered(&self, request: RequestMetric<'_>) {
        self.requests.answered(request);
    }

    /// An answer of an API server has told its time; `is_control`: of the one that creates Machines.
    pub(crate) fn clock_is_ahead(&self, host: &str, is_control: bool, ahead: SignedDuration) {
        self.requests.clock_is_ahead(host, is_control, ahead);
    }

    /// The clock of the server that creates Machines.
    pub(crate) fn control_clock(&self) -> ServerClock {
        self.requests.control_clock()
    }

    /// An Event was written.
    pub(crate) fn event_written(&self) {
        self.events.written();
    }

    /// An Event was not written.
    pub(crate) fn event_lost(&self, why: LostEvent) {
        self.events.lost(why);
    }

    pub(crate) fn driver_called(
        &self,
        provider: &ProviderName,
        operation: Operation,
        took: SignedDuration,
        error: Option<&CallError>,
    ) {
        self.drivers.called(provider, operation, took, error);
    }

    /// A pass begins, after its key was due for `waited`.
    pub(crate) fn reconcile_began(
        &self,
        reconcile: u64,
        queue_name: QueueName,
        waited: SignedDuration,
        now: Timestamp,
    ) {
        self.queue.began(reconcile, queue_name, waited, now);
    }

    pub(crate) fn reconcile_ended(&self, reconcile: u64, controller: &'static str, now: Timestamp) {
        self.reconciles.get_or_create(&ControllerLabels { controller }).inc();
        self.queue.ended(reconcile, now);
    }

    pub(crate) fn reconcile_panicked(&self) {
        self.panics.inc();
    }

    /// A key was put into the queue.
    pub(crate) fn added(&self, queue_name: QueueName) {
        self.queue.added(queue_name);
    }

    /// A loop beside the passes has done a round.
    pub(crate) fn round(&self, queue_name: QueueName, took: SignedDuration) {
        self.queue.round(queue_name, took);
    }

    /// A pass has failed, and its key is tried again.
    pub(crate) fn retried(&self, queue_name: QueueName) {
        self.queue.retried(queue_name);
    }

    pub(crate) fn queue(&self, queued: usize, in_flight: usize) {
        self.queued.set(i64::try_from(queued).unwrap_or(i64::MAX));
        self.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
    }

    /// Which keys are due.
    pub(crate) fn due(&self, parts: impl Iterator<Item = QueueName>) {
        self.queue.depth(parts);
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    /// A Machine left a phase after so long.
    pub(crate) fn left_phase(&self, phase: Phase, after: SignedDuration) {
        self.stages.left_phase(phase, after);
    }

    /// A Machine has come to a point in its life, or its set to one in its own.
    pub(crate) fn reached(&self, pool: Option<Pool>, milestone: Milestone, now: Timestamp) {
        match milestone {
            Milestone::StaleDeleted => self.set_counters.deleted_stale(),
            Milestone::SetFrozen(reason) => self.set_counters.froze(reason),
            Milestone::SetThawed => self.set_counters.thawed(),
            Milestone::Created(_)
            | Milestone::Initialized(_)
            | Milestone::Joined(_)
            | Milestone::JoinTimedOut
            | Milestone::Drained(_)
            | Milestone::Deleted(_) => self.stages.reached(pool, milestone, now),
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

#[cfg(test)]
mod tests;
