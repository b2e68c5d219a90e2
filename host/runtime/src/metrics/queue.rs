//! The queue and its reconciles, under names that operators know from other controllers.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The queue that a key or a round counts for. Keys have one queue, and the first six are its parts; the others are
/// loops beside it, for which machine-controller-manager has queues too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QueueName {
    Secret,
    MachineClass,
    Machine,
    MachineTermination,
    MachineSet,
    MachineDeployment,
    /// VMs of Machines of Cluster API.
    MachinistMachine,
    MachinistCluster,
    MachinistMachineTemplate,
    MachinistRemediation,
    /// Credentials for Cluster API.
    MachinistIdentity,
    /// Nodes without a Machine.
    Node,
    /// VMs without a Machine.
    SafetyOrphanVms,
    /// Whether the API servers are there.
    SafetyApiServer,
    /// Too many Machines: each reconcile of a set checks that, without a queue.
    SafetyOvershooting,
}

impl QueueName {
    pub(crate) const ALL: [Self; 15] = [
        Self::Secret,
        Self::MachineClass,
        Self::Machine,
        Self::MachineTermination,
        Self::MachineSet,
        Self::MachineDeployment,
        Self::MachinistMachine,
        Self::MachinistCluster,
        Self::MachinistMachineTemplate,
        Self::MachinistRemediation,
        Self::MachinistIdentity,
        Self::Node,
        Self::SafetyOrphanVms,
        Self::SafetyApiServer,
        Self::SafetyOvershooting,
    ];

    /// As machine-controller-manager calls its queues.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::MachineClass => "machineclass",
            Self::Machine => "machine",
            Self::MachineTermination => "machinetermination",
            Self::MachineSet => "machineset",
            Self::MachineDeployment => "machinedeployment",
            Self::MachinistMachine => "machinistmachine",
            Self::MachinistCluster => "machinistcluster",
            Self::MachinistMachineTemplate => "machinistmachinetemplate",
            Self::MachinistRemediation => "machinistremediation",
            Self::MachinistIdentity => "machinistidentity",
            Self::Node => "node",
            Self::SafetyOrphanVms => "machinesafetyorphanvms",
            Self::SafetyApiServer => "machinesafetyapiserver",
            Self::SafetyOvershooting => "machinesafetyovershooting",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameLabels {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ControllerLabels {
    pub(super) controller: &'static str,
}

type Seconds = Family<NameLabels, Histogram, fn() -> Histogram>;
type OurSeconds = Family<ControllerLabels, Histogram, fn() -> Histogram>;

#[derive(Debug)]
pub(crate) struct QueueMetrics {
    adds: Family<NameLabels, Counter>,
    retries: Family<NameLabels, Counter>,
    depth: Family<NameLabels, Gauge<i64, AtomicI64>>,
    waited: Seconds,
    worked: Seconds,
    our_waited: OurSeconds,
    our_worked: OurSeconds,
    running: Arc<Mutex<BTreeMap<u64, (QueueName, Timestamp)>>>,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        // 1 ms to 1 hour: a reconcile without work at one end, a drain behind a slow cloud at the other.
        let seconds = || Histogram::new(exponential_buckets(0.001, 3.0, 15));
        Self {
            adds: Family::default(),
            retries: Family::default(),
            depth: Family::default(),
            waited: Family::new_with_constructor(seconds),
            worked: Family::new_with_constructor(seconds),
            our_waited: Family::new_with_constructor(seconds),
            our_worked: Family::new_with_constructor(seconds),
            running: Arc::default(),
        }
    }
}

impl QueueMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let mcm = registry.sub_registry_with_prefix("mcm_workqueue");
        mcm.register("adds", "Keys put into the queue", self.adds.clone());
        mcm.register("retries", "Passes that failed and are tried again", self.retries.clone());
        mcm.register("depth", "Keys that are due and wait for a pass", self.depth.clone());
        mcm.register("queue_duration_seconds", "How long a key that was due waited", self.waited.clone());
        mcm.register("work_duration_seconds", "How long a pass took", self.worked.clone());
        for queue_name in QueueName::ALL {
            drop(self.adds.get_or_create(&labels(queue_name)));
            drop(self.retries.get_or_create(&labels(queue_name)));
        }
        registry.register(
            "machinist_queue_wait_seconds",
            "How long a key that was due waited for its pass",
            self.our_waited.clone(),
        );
        registry.register("machinist_pass_duration_seconds", "How long a pass took", self.our_worked.clone());
    }

    pub(crate) fn added(&self, queue_name: QueueName) {
        self.adds.get_or_create(&labels(queue_name)).inc();
    }

    pub(crate) fn retried(&self, queue_name: QueueName) {
        self.retries.get_or_create(&labels(queue_name)).inc();
    }

    /// A loop beside the queue has done a round, which nothing has waited for.
    pub(crate) fn round(&self, queue_name: QueueName, took: SignedDuration) {
        self.added(queue_name);
        self.waited.get_or_create(&labels(queue_name)).observe(0.0);
        self.worked.get_or_create(&labels(queue_name)).observe(took.max(SignedDuration::ZERO).as_secs_f64());
    }

    pub(crate) fn depth(&self, due: impl Iterator<Item = QueueName>) {
        let mut depth = QueueName::ALL.map(|queue_name| (queue_name, 0_i64));
        for queue_name in due {
            for (_, count) in depth.iter_mut().filter(|(other, _)| *other == queue_name) {
                *count += 1;
            }
        }
        for (queue_name, count) in depth {
            self.depth.get_or_create(&labels(queue_name)).set(count);
        }
    }

    pub(crate) fn began(
        &self,
        reconcile: u64,
        queue_name: QueueName,
        waited: SignedDuration,
        now: Timestamp,
    ) {
        self.waited.get_or_create(&labels(queue_name)).observe(waited.as_secs_f64());
        self.our_waited.get_or_create(&ours(queue_name)).observe(waited.as_secs_f64());
        self.running().insert(reconcile, (queue_name, now));
    }

    pub(super) fn ended(&self, reconcile: u64, now: Timestamp) {
        let Some((queue_name, began)) = self.running().remove(&reconcile) else { return };
        let took = now.duration_since(began).max(SignedDuration::ZERO).as_secs_f64();
        self.worked.get_or_create(&labels(queue_name)).observe(took);
        self.our_worked.get_or_create(&ours(queue_name)).observe(took);
    }

    /// Returns, of the running reconciles, the sum of their times and the longest, in seconds, for each part.
    pub(super) fn unfinished(&self, now: Timestamp) -> [(QueueName, f64, f64); QueueName::ALL.len()] {
        let running = self.running();
        QueueName::ALL.map(|queue_name| {
            let times = running.values().filter(|(of, _)| *of == queue_name);
            let seconds =
                times.map(|(_, began)| now.duration_since(*began).max(SignedDuration::ZERO).as_secs_f64());
            seconds.fold((queue_name, 0.0, 0.0), |(queue_name, sum, longest), one| {
                (queue_name, sum + one, f64::max(longest, one))
            })
        })
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, (QueueName, Timestamp)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn labels(queue_name: QueueName) -> NameLabels {
    NameLabels { name: queue_name.name() }
}

fn ours(queue_name: QueueName) -> ControllerLabels {
    ControllerLabels { controller: queue_name.name() }
}
