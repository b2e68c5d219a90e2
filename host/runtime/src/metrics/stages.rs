//! How long the stages of Machines' lives took, by MachineDeployment and kind of VM.
//!
//! A gauge has the duration of the last Machine, so it must end with its MachineDeployment: ten minutes after the last
//! Machine of it was seen, enough for one more scrape.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use machinist_core::value::phase::Phase;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// How long a series outlives the last Machine that it is about.
pub(super) const KEPT: SignedDuration = SignedDuration::from_mins(10);

/// Machines that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(crate) struct Pool {
    pub namespace: String,
    pub machine_deployment: String,
    pub instance_type: String,
    /// The zone in the Machine's node template.
    pub zone: String,
}

/// The name of a MachineDeployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(crate) struct Deployment {
    pub namespace: String,
    pub machine_deployment: String,
}

impl Pool {
    pub(crate) fn deployment(&self) -> Deployment {
        Deployment { namespace: self.namespace.clone(), machine_deployment: self.machine_deployment.clone() }
    }
}

/// Something in a Machine's life that is counted or timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Milestone {
    /// The VM is there: so long after the Machine's creation.
    Created(SignedDuration),
    /// The step after creation took so long.
    Initialized(SignedDuration),
    /// The Node joined: so long after the Machine's creation.
    Joined(SignedDuration),
    /// The Node did not join in time.
    JoinTimedOut,
    /// The Node is drained; it took so long.
    Drained(SignedDuration),
    /// VM and Node are gone: so long after the deletion was asked for.
    Deleted(SignedDuration),
    /// Its set has deleted a Machine because it had failed.
    StaleDeleted,
    /// A set makes no more Machines, for the reason of its condition.
    SetFrozen(&'static str),
    /// A set creates Machines again.
    SetThawed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: &'static str,
}

#[derive(Debug)]
pub(crate) struct StageMetrics {
    drains: Histogram,
    phases: Family<PhaseLabels, Histogram, fn() -> Histogram>,
    last: Mutex<LastDurations>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LastDurations {
    pub(super) create: BTreeMap<Pool, f64>,
    pub(super) initialize: BTreeMap<Pool, f64>,
    pub(super) join: BTreeMap<Pool, f64>,
    pub(super) delete: BTreeMap<Pool, f64>,
    pub(super) drain: BTreeMap<Deployment, f64>,
    pub(super) failed_joins: BTreeMap<Pool, u64>,
    seen: BTreeMap<Deployment, Timestamp>,
}

impl Default for StageMetrics {
    fn default() -> Self {
        Self {
            // 1 s to 9 hours: an empty Node at one end, PodDisruptionBudgets that never allow it at the other.
            drains: Histogram::new(exponential_buckets(1.0, 2.0, 16)),
            phases: Family::new_with_constructor(|| Histogram::new(exponential_buckets(1.0, 3.0, 14))),
            last: Mutex::default(),
        }
    }
}

impl StageMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "machinist_drain_duration_seconds",
            "How long drains took, from their beginning until no pod was left",
            self.drains.clone(),
        );
        registry.register(
            "machinist_phase_duration_seconds",
            "How long Machines were in a phase when they left it",
            self.phases.clone(),
        );
    }

    /// A Machine left a phase after so long.
    pub(crate) fn left_phase(&self, phase: Phase, after: SignedDuration) {
        let labels = PhaseLabels { phase: phase_name(phase) };
        self.phases.get_or_create(&labels).observe(after.max(SignedDuration::ZERO).as_secs_f64());
    }

    /// `pool` is `None` for a Machine that belongs to no MachineDeployment.
    pub(super) fn reached(&self, pool: Option<Pool>, milestone: Milestone, now: Timestamp) {
        let seconds = |time: SignedDuration| time.max(SignedDuration::ZERO).as_secs_f64();
        if let Milestone::Drained(took) = milestone {
            self.drains.observe(seconds(took));
        }
        let Some(pool) = pool else { return };
        let mut last = self.last();
        last.seen.insert(pool.deployment(), now);
        match milestone {
            Milestone::Created(after) => drop(last.create.insert(pool, seconds(after))),
            Milestone::Initialized(took) => drop(last.initialize.insert(pool, seconds(took))),
            Milestone::Joined(after) => drop(last.join.insert(pool, seconds(after))),
            Milestone::JoinTimedOut => *last.failed_joins.entry(pool).or_default() += 1,
            Milestone::Drained(took) => drop(last.drain.insert(pool.deployment(), seconds(took))),
            Milestone::Deleted(after) => drop(last.delete.insert(pool, seconds(after))),
            // These are counted elsewhere, and not by pool.
            Milestone::StaleDeleted | Milestone::SetFrozen(_) | Milestone::SetThawed => {}
        }
    }

    /// Returns the series to show, given the MachineDeployments with Machines. The others end after a while.
    pub(super) fn show(&self, alive: &BTreeSet<Deployment>, now: Timestamp) -> LastDurations {
        let mut last = self.last();
        let LastDurations { create, initialize, join, delete, drain, failed_joins, seen } = &mut *last;
        for deployment in
            alive.iter().filter(|deployment| seen.contains_key(*deployment)).cloned().collect::<Vec<_>>()
        {
            seen.insert(deployment, now);
        }
        seen.retain(|_, at| now.duration_since(*at) < KEPT);
        for map in [create, initialize, join, delete] {
            map.retain(|pool, _| seen.contains_key(&pool.deployment()));
        }
        failed_joins.retain(|pool, _| seen.contains_key(&pool.deployment()));
        drain.retain(|deployment, _| seen.contains_key(deployment));
        last.clone()
    }

    fn last(&self) -> MutexGuard<'_, LastDurations> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The API's word for a Machine that is being created is the empty one.
pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::New => "Creating",
        Phase::Pending
        | Phase::Available
        | Phase::Running
        | Phase::Terminating
        | Phase::Unknown
        | Phase::Failed
        | Phase::CrashLoopBackOff
        | Phase::InPlaceUpdating
        | Phase::InPlaceUpdateSuccessful
        | Phase::InPlaceUpdateFailed => phase.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn pool(deployment: &str) -> Pool {
        Pool { namespace: "n".into(), machine_deployment: deployment.into(), ..Pool::default() }
    }

    #[test]
    fn measurements_of_a_deployment_are_shown_while_it_has_machines_and_a_while_longer() {
        let stages = StageMetrics::default();
        for name in ["here", "gone"] {
            for milestone in [Milestone::Created(SignedDuration::from_secs(3)), Milestone::JoinTimedOut] {
                stages.reached(Some(pool(name)), milestone, at(0));
            }
            stages.reached(Some(pool(name)), Milestone::Drained(SignedDuration::from_secs(9)), at(0));
        }
        let alive: BTreeSet<Deployment> = [pool("here").deployment()].into();
        assert_eq!(stages.show(&alive, at(9)).create.len(), 2, "a scrape comes by within minutes");
        let last = stages.show(&alive, at(10));
        assert_eq!(last.create.keys().collect::<Vec<_>>(), [&pool("here")]);
        assert_eq!(last.failed_joins.keys().collect::<Vec<_>>(), [&pool("here")]);
        assert_eq!(last.drain.keys().collect::<Vec<_>>(), [&pool("here").deployment()]);
        assert_eq!(stages.show(&BTreeSet::new(), at(30)).create.len(), 0);
    }

    #[test]
    fn the_last_machine_counts_and_one_without_a_deployment_has_no_series() {
        let stages = StageMetrics::default();
        for seconds in [5, 7] {
            stages.reached(Some(pool("a")), Milestone::Joined(SignedDuration::from_secs(seconds)), at(0));
            stages.reached(None, Milestone::Joined(SignedDuration::from_secs(seconds)), at(0));
        }
        let alive: BTreeSet<Deployment> = [pool("a").deployment()].into();
        assert_eq!(stages.show(&alive, at(1)).join, [(pool("a"), 7.0)].into());
    }
}
