//! A version of a plugin that can answer, and what is known about its answers.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jiff::Timestamp;
use machinist_artifacts::ContentDigest;
use machinist_core::driver::error::{Broken, CallError, GuestFailure, Limit};

use crate::calls::call::Prepared;
use crate::calls::convert::About;
use crate::calls::engine::CodeTier;
use crate::health_policy::PolicyAbout;
use crate::health_policy::call::PreparedPolicy;
use crate::registry::canary::Trial;
use crate::registry::quarantine::{Health, QuarantinePause};
use crate::registry::report::QuarantineRule;
use crate::resources::penalty::Penalty;
use crate::resources::priority_semaphore::PrioritySemaphore;
use crate::sources::SourceId;

/// A loaded version, by default of a driver. The routes and each of its calls own it; the last owner drops it.
pub(crate) struct Generation<P = Prepared, A = About> {
    /// Where it came from: tells the versions of a plugin apart.
    pub(crate) source: SourceId,
    pub(crate) prepared: P,
    pub(crate) about: A,
    /// Calls of this version at the same time.
    pub(crate) permits: PrioritySemaphore,
    pub(crate) counts: Counts,
    /// Whether its calls begin behind those of others.
    pub(crate) penalty: Penalty,
    /// How it is tried before it serves, unless it serves at once.
    pub(crate) trial: Option<Trial>,
    health: Mutex<Health>,
}

/// A version of a policy.
pub(crate) type PolicyGeneration = Generation<PreparedPolicy, PolicyAbout>;

/// A version of any plugin.
#[derive(Clone)]
pub(crate) enum Served {
    Driver(Arc<Generation>),
    Policy(Arc<PolicyGeneration>),
}

impl Served {
    pub(crate) fn driver(&self) -> Option<&Arc<Generation>> {
        match self {
            Self::Driver(generation) => Some(generation),
            Self::Policy(_) => None,
        }
    }

    pub(crate) fn policy(&self) -> Option<&Arc<PolicyGeneration>> {
        match self {
            Self::Driver(_) => None,
            Self::Policy(generation) => Some(generation),
        }
    }

    /// How it is tried before it serves.
    pub(crate) fn trial(&self) -> Option<&Trial> {
        self.driver()?.trial.as_ref()
    }

    pub(crate) fn digest(&self) -> ContentDigest {
        match self {
            Self::Driver(generation) => generation.prepared.digest,
            Self::Policy(generation) => generation.prepared.digest,
        }
    }

    /// The tier of the code that its next call runs in.
    pub(crate) fn tier(&self) -> CodeTier {
        match self {
            Self::Driver(generation) => generation.prepared.code.load().tier,
            Self::Policy(generation) => generation.prepared.code.load().tier,
        }
    }

    /// The name and the version that it gives itself.
    pub(crate) fn name(&self) -> (&str, &semver::Version) {
        match self {
            Self::Driver(generation) => (&generation.about.name, &generation.about.version),
            Self::Policy(generation) => (&generation.about.name, &generation.about.version),
        }
    }

    pub(crate) fn counts(&self) -> &Counts {
        match self {
            Self::Driver(generation) => &generation.counts,
            Self::Policy(generation) => &generation.counts,
        }
    }

    pub(crate) fn quarantined_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Driver(generation) => generation.quarantined_until(now),
            Self::Policy(generation) => generation.quarantined_until(now),
        }
    }
}

/// A serving version without optimised code.
pub(crate) enum BaselineGeneration {
    Driver(Weak<Generation>),
    Policy(Weak<PolicyGeneration>),
}

impl BaselineGeneration {
    /// `None` for a version with optimised code.
    pub(crate) fn of(served: &Served) -> Option<Self> {
        (served.tier() != CodeTier::Optimised).then(|| match served {
            Served::Driver(generation) => Self::Driver(Arc::downgrade(generation)),
            Served::Policy(generation) => Self::Policy(Arc::downgrade(generation)),
        })
    }

    pub(crate) fn served(&self) -> Option<Served> {
        match self {
            Self::Driver(generation) => generation.upgrade().map(Served::Driver),
            Self::Policy(generation) => generation.upgrade().map(Served::Policy),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) total: AtomicU64,
    pub(crate) broken: AtomicU64,
    pub(crate) in_flight: AtomicUsize,
}

impl<P, A> Generation<P, A> {
    pub(crate) fn new(source: SourceId, prepared: P, about: A, calls_in_flight: usize) -> Self {
        let permits = PrioritySemaphore::new(calls_in_flight);
        let (counts, health) = (Counts::default(), Mutex::default());
        Self { source, prepared, about, permits, counts, penalty: Penalty::default(), trial: None, health }
    }

    /// The same, tried before it serves.
    pub(crate) fn on(self, trial: Option<Trial>) -> Self {
        Self { trial, ..self }
    }

    /// How often in a row it was left alone.
    pub(crate) fn quarantines(&self) -> u32 {
        self.health().quarantines()
    }

    pub(crate) fn quarantined_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.health().quarantined_until(now)
    }

    /// Returns the end of the quarantine for this class alone.
    pub(crate) fn class_quarantined_until(&self, class: &str, now: Timestamp) -> Option<Timestamp> {
        self.health().class_quarantined_until(class, now)
    }

    /// Keeps the record of a function's calls. Says what begins with this one, if it broke once too often.
    pub(crate) fn ended(
        &self,
        (function, class): (&'static str, Option<&str>),
        error: Option<&CallError>,
        rule: &QuarantineRule,
        now: Timestamp,
    ) -> Option<QuarantinePause> {
        self.counts.total.fetch_add(1, Ordering::Relaxed);
        match error {
            None | Some(CallError::Guest(_)) => {
                self.health().worked(function, class, now);
                None
            }
            Some(CallError::Broken(Broken { failure, .. })) => {
                self.counts.broken.fetch_add(1, Ordering::Relaxed);
                if is_fault(failure) { self.health().broke(function, class, rule, now) } else { None }
            }
            Some(CallError::Refused(_)) => None,
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cloud that hangs makes every driver miss its deadline; that is no reason to stop asking.
pub(crate) fn is_fault(failure: &GuestFailure) -> bool {
    match failure {
        // Others may hold the memory of the host.
        GuestFailure::Limit {
            limit: Limit::Deadline | Limit::CallsInFlight | Limit::MemoryBudget, ..
        }
        | GuestFailure::CutOff { .. } => false,
        GuestFailure::Limit { .. } | GuestFailure::Trap { .. } | GuestFailure::Contract { .. } => true,
    }
}

/// A call is running.
pub(crate) struct InFlight<'a>(&'a Counts);

impl Counts {
    pub(crate) fn enter(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
