//! How a watch comes back after an error.

use std::time::Duration;

use kube::runtime::utils::Backoff;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use crate::context::key::Kind;

/// The watches of a tenant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchedKind {
    Machines,
    Classes,
    Secrets,
    Nodes,
    /// The ConfigMaps with plugins.
    Plugins,
    Budgets,
    Attachments,
    FreezeRequest,
    Sets,
    Deployments,
    InfraMachines,
    InfraClusters,
    InfraTemplates,
    InfraRemediations,
    InfraIdentities,
    OwnerMachines,
    OwnerClusters,
    OwnerSets,
    OwnerDeployments,
}

impl From<Kind> for WatchedKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Machine => Self::Machines,
            Kind::Class => Self::Classes,
            Kind::Secret => Self::Secrets,
            Kind::Node => Self::Nodes,
            Kind::Set => Self::Sets,
            Kind::Deployment => Self::Deployments,
            Kind::InfraMachine => Self::InfraMachines,
            Kind::InfraCluster => Self::InfraClusters,
            Kind::InfraTemplate => Self::InfraTemplates,
            Kind::InfraRemediation => Self::InfraRemediations,
            Kind::InfraIdentity => Self::InfraIdentities,
            Kind::OwnerMachine => Self::OwnerMachines,
            Kind::OwnerCluster => Self::OwnerClusters,
        }
    }
}

/// After the first error of a process: everything waits for its first listings, and a server that starts as well, or
/// that has just been given its CRDs, answers soon.
const AT_THE_START: Duration = Duration::from_millis(50);

/// After the first error of a watch that has worked.
const FIRST: Duration = Duration::from_millis(800);

/// The longest pause. While a watch pauses, its kind is unknown, and after an outage all Machines wait for it. A tenant
/// has few watches, so that a server that recovers gets at most a few requests a second.
const LAST: Duration = Duration::from_secs(5);

/// A watch that has gone for so long after an error works: the next one counts as the first. Longer than the longest
/// pause, and than servers in trouble take to refuse.
const WORKS_AFTER: Duration = Duration::from_secs(10);

/// Pauses that are short at the start of the process, later begin like those of Kubernetes' own clients, and end
/// sooner. Jitter is from the tenant's seed, so that a run can be repeated.
pub(crate) fn backoff(seed: [u8; 32], watch: WatchedKind) -> Seeded {
    let mut seed = seed;
    // Watches that broke together come back apart.
    if let Some(byte) = seed.first_mut() {
        *byte ^= 0x80 | watch as u8;
    }
    Seeded { random: StdRng::from_seed(seed), next: AT_THE_START, failed_at: None }
}

/// Doubles, with up to as much again on top.
pub(crate) struct Seeded {
    random: StdRng,
    next: Duration,
    failed_at: Option<Instant>,
}

impl Iterator for Seeded {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let failed_at = self.failed_at.replace(now);
        if failed_at.is_some_and(|failed_at| now.duration_since(failed_at) > WORKS_AFTER) {
            self.next = FIRST;
        }
        let pause = self.next.mul_f64(1.0 + self.random.random_range(0.0..1.0));
        self.next = (self.next * 2).min(LAST);
        Some(pause.min(LAST))
    }
}

impl Backoff for Seeded {
    /// Nothing. A watcher announces each listing before it asks for it, and the stream takes that for a success: pauses
    /// would never grow while listings fail.
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_begin_small_at_the_start_double_up_to_a_limit_and_start_again_after_success() {
        let mut backoff = backoff([7; 32], WatchedKind::Machines);
        let pauses: Vec<Duration> = backoff.by_ref().take(12).collect();
        for (at, pause) in pauses.iter().enumerate() {
            let nominal = AT_THE_START * 2_u32.pow(u32::try_from(at).unwrap());
            assert!(*pause >= nominal.min(LAST) && *pause <= (nominal * 2).min(LAST), "{pauses:?}");
        }
        backoff.reset();
        assert_eq!(backoff.next(), Some(LAST), "a listing that was only announced is no success");
        tokio::time::sleep(WORKS_AFTER + Duration::from_millis(1)).await;
        let next = backoff.next().unwrap();
        assert!(next >= FIRST && next < FIRST * 2, "{next:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_pauses_and_each_watch_its_own() {
        let pauses = |watch| backoff([7; 32], watch).take(5).collect::<Vec<_>>();
        assert_eq!(pauses(WatchedKind::Nodes), pauses(WatchedKind::Nodes));
        assert_ne!(pauses(WatchedKind::Nodes), pauses(WatchedKind::Machines));
    }
}
