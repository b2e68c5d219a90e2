//! Metrics of the runtime. Labels come from closed sets, or from objects that exist.
//!
//! | module | what it counts |
//! | --- | --- |
//! | `inventory`, `sets`, `deployments` | objects, read from the caches at each scrape; also whether the host is frozen |
//! | `life` | how long the stages of Machines take |
//! | `owned` | stale Machines that sets delete, and sets that freeze |
//! | `queue` | the queue and its passes |
//! | `drivers` | calls of drivers |
//! | `requests` | requests to API servers |
//! | `events` | Events that were written and lost |
//! | `examples` | one series of each metric, for the generated reference |

mod deployments;
mod drivers;
mod events;
mod examples;
mod inventory;
mod life;
mod owned;
mod queue;
mod requests;
mod sets;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::Operation;
use machinist_core::driver::error::CallError;
use machinist_core::value::id::ProviderName;
use machinist_core::value::phase::Phase;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

pub(crate) use events::LostEvent;
pub(crate) use inventory::{Sources, deployment_of};
pub(crate) use life::{Milestone, Pool};
pub(crate) use queue::Part;
pub(crate) use requests::Answered;

use crate::client::server_clock::ServerClock;
use crate::driver_calls::insight::Insight;
use crate::safety::SafetyMetrics;

use drivers::Drivers;
use events::Events;
use inventory::{Incomplete, Inventory};
use life::Life;
use owned::Owned;
use queue::Queue;
use requests::Requests;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

/// The runtime's metrics.
#[derive(Default)]
pub struct Metrics {
    requests: Requests,
    events: Events,
    drivers: Drivers,
    queue: Arc<Queue>,
    life: Arc<Life>,
    owned: Owned,
    passes: Family<ControllerLabels, Counter>,
    panics: Counter,
    queued: Gauge<i64, AtomicI64>,
    in_flight: Gauge<i64, AtomicI64>,
    leads: Gauge<i64, AtomicI64>,
    sources: Arc<OnceLock<Sources>>,
    insight: Insight,
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
        self.life.register(all);
        self.owned.register(all);
        self.safety.register(all);
        all.register("machinist_passes", "Passes of controllers", self.passes.clone());
        all.register("machinist_pass_panics", "Passes that ended in a panic", self.panics.clone());
        all.register("machinist_queue_depth", "Keys that wait for a pass, due or not", self.queued.clone());
        all.register("machinist_passes_in_flight", "Passes that run", self.in_flight.clone());
        all.register("machinist_leader", "1 while this process leads", self.leads.clone());
        all.register_collector(Box::new(Inventory {
            sources: self.sources.clone(),
            life: self.life.clone(),
            queue: self.queue.clone(),
            incomplete: Incomplete::default(),
        }));
    }

    /// What can be asked about single Machines.
    pub fn insight(&self) -> &Insight {
        &self.insight
    }

    /// The inventory is read from here.
    pub(crate) fn show(&self, sources: Sources) {
        // A second tenant of the process would need its own metrics.
        let _ = self.sources.set(sources);
    }

    pub(crate) fn answered(&self, request: Answered<'_>) {
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
    pub(crate) fn pass_began(&self, pass: u64, part: Part, waited: SignedDuration, now: Timestamp) {
        self.queue.began(pass, part, waited, now);
    }

    pub(crate) fn pass_ended(&self, pass: u64, controller: &'static str, now: Timestamp) {
        self.passes.get_or_create(&ControllerLabels { controller }).inc();
        self.queue.ended(pass, now);
    }

    pub(crate) fn pass_panicked(&self) {
        self.panics.inc();
    }

    /// A key was put into the queue.
    pub(crate) fn added(&self, part: Part) {
        self.queue.added(part);
    }

    /// A loop beside the passes has done a round.
    pub(crate) fn round(&self, part: Part, took: SignedDuration) {
        self.queue.round(part, took);
    }

    /// A pass has failed, and its key is tried again.
    pub(crate) fn retried(&self, part: Part) {
        self.queue.retried(part);
    }

    pub(crate) fn queue(&self, queued: usize, in_flight: usize) {
        self.queued.set(i64::try_from(queued).unwrap_or(i64::MAX));
        self.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
    }

    /// Which keys are due.
    pub(crate) fn due(&self, parts: impl Iterator<Item = Part>) {
        self.queue.depth(parts);
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    /// A Machine left a phase after so long.
    pub(crate) fn left_phase(&self, phase: Phase, after: SignedDuration) {
        self.life.left_phase(phase, after);
    }

    /// A Machine has come to a point in its life, or its set to one in its own.
    pub(crate) fn reached(&self, pool: Option<Pool>, milestone: Milestone, now: Timestamp) {
        match milestone {
            Milestone::StaleDeleted => self.owned.deleted_stale(),
            Milestone::SetFrozen(reason) => self.owned.froze(reason),
            Milestone::SetThawed => self.owned.thawed(),
            Milestone::Created(_)
            | Milestone::Initialized(_)
            | Milestone::Joined(_)
            | Milestone::JoinTimedOut
            | Milestone::Drained(_)
            | Milestone::Deleted(_) => self.life.reached(pool, milestone, now),
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
