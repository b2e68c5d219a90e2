//! Metrics of the runtime. Labels come from closed sets, or from objects that exist.
//!
//! | module | what it counts |
//! | --- | --- |
//! | `inventory`, `sets`, `deployments` | objects, read from the caches at each scrape; also what sets have done |
//! | `stages` | how long the stages of Machines take |
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
mod sets;
mod stages;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
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

use crate::machine_query::MachineQueries;

use drivers::DriverMetrics;
use events::EventMetrics;
use inventory::{IncompleteScrapes, Inventory};
use queue::{ControllerLabels, QueueMetrics};
use requests::RequestMetrics;
use sets::SetCounters;
use stages::StageMetrics;

#[derive(Default)]
pub struct Metrics {
    pub(crate) requests: RequestMetrics,
    pub(crate) events: EventMetrics,
    pub(crate) drivers: DriverMetrics,
    pub(crate) queue: Arc<QueueMetrics>,
    pub(crate) stages: Arc<StageMetrics>,
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

    /// Returns the queries about single Machines.
    pub fn machine_queries(&self) -> &MachineQueries {
        &self.machine_queries
    }

    /// The inventory is read from here.
    pub(crate) fn show(&self, inventory: InventorySources) {
        // A second tenant of the process would need its own metrics.
        let _ = self.inventory.set(inventory);
    }

    pub(crate) fn reconcile_ended(&self, reconcile: u64, controller: &'static str, now: Timestamp) {
        self.reconciles.get_or_create(&ControllerLabels { controller }).inc();
        self.queue.ended(reconcile, now);
    }

    pub(crate) fn reconcile_panicked(&self) {
        self.panics.inc();
    }

    /// Sets how many keys the event loop holds.
    pub(crate) fn loop_holds(&self, queued: usize, in_flight: usize) {
        self.queued.set(i64::try_from(queued).unwrap_or(i64::MAX));
        self.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
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
