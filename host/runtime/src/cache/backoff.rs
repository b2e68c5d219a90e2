//! How a watch comes back after an error.

use std::time::Duration;

use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::engine::Kind;

/// The watches of a tenant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watch {
    /// Of Machines.
    Machines,
    /// Of classes.
    Classes,
    /// Of Secrets.
    Secrets,
    /// Of Nodes.
    Nodes,
    /// Of the ConfigMaps with plugins.
    Plugins,
    /// Of PodDisruptionBudgets.
    Budgets,
    /// Of VolumeAttachments.
    Attachments,
    /// Of MachineSets.
    Sets,
    /// Of MachineDeployments.
    Deployments,
}

impl From<Kind> for Watch {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Machine => Self::Machines,
            Kind::Class => Self::Classes,
            Kind::Secret => Self::Secrets,
            Kind::Node => Self::Nodes,
            Kind::Set => Self::Sets,
            Kind::Deployment => Self::Deployments,
        }
    }
}

/// After the first error.
const FIRST: Duration = Duration::from_millis(800);

/// Never more than this: while a watch waits, nothing is known of its kind, and after an outage all Machines wait for that. A
/// tenant has few watches, so that a server which comes back is asked at most a few times a second.
const LAST: Duration = Duration::from_secs(5);

/// After so long without an error the next one counts as the first.
const RESET_AFTER: Duration = Duration::from_mins(2);

/// Pauses that begin like those of Kubernetes' own clients and end sooner, with jitter from the tenant's seed, so that a run can be repeated.
pub(crate) fn backoff(seed: [u8; 32], watch: Watch) -> ResetTimerBackoff<Seeded> {
    let mut seed = seed;
    // Watches that broke together come back apart.
    if let Some(byte) = seed.first_mut() {
        *byte ^= 0x80 | watch as u8;
    }
    ResetTimerBackoff::new(Seeded { random: StdRng::from_seed(seed), next: FIRST }, RESET_AFTER)
}

/// Doubles, with up to as much again on top.
pub(crate) struct Seeded {
    random: StdRng,
    next: Duration,
}

impl Iterator for Seeded {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.next.mul_f64(1.0 + self.random.random_range(0.0..1.0));
        self.next = (self.next * 2).min(LAST);
        Some(pause.min(LAST))
    }
}

impl Backoff for Seeded {
    fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_start_anew_after_success() {
        let mut backoff = backoff([7; 32], Watch::Machines);
        let pauses: Vec<Duration> = backoff.by_ref().take(9).collect();
        for (at, pause) in pauses.iter().enumerate() {
            let nominal = FIRST * 2_u32.pow(u32::try_from(at).unwrap());
            assert!(*pause >= nominal.min(LAST) && *pause <= (nominal * 2).min(LAST), "{pauses:?}");
        }
        backoff.reset();
        assert!(backoff.next().unwrap() < FIRST * 2);
    }

    #[test]
    fn the_same_seed_gives_the_same_pauses_and_each_watch_its_own() {
        let pauses = |watch| backoff([7; 32], watch).take(5).collect::<Vec<_>>();
        assert_eq!(pauses(Watch::Nodes), pauses(Watch::Nodes));
        assert_ne!(pauses(Watch::Nodes), pauses(Watch::Machines));
    }
}
