//! What every pass shares.

use std::sync::Mutex;

use jiff::Timestamp;
use kube::Client;
use machinist_core::scheduling::gate::Gate;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::objects::own_status::OwnStatus;
use crate::tenant::clock::Clock;

/// Whether dangerous work is held, and when it was let go last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    /// The gate before every effect.
    pub gate: Gate,
    /// When it opened last, if it was ever shut.
    pub thawed_at: Option<Timestamp>,
    /// Since when this process has looked while it leads.
    pub watched_since: Option<Timestamp>,
    /// The same on a clock that is never set. All calls of the process that led before had ended by then.
    pub leads_from: Option<Instant>,
    /// All API servers were asked since this process began to lead. Before that no pass begins.
    pub is_known: bool,
}

/// Clients, clock and randomness of one tenant.
pub(crate) struct Context {
    /// The cluster of the Machines.
    pub control: Client,
    /// The cluster that Nodes join; `None` without one.
    pub target: Option<Client>,
    /// The clock.
    pub clock: Clock,
    /// True while this process leads.
    pub leads: watch::Receiver<bool>,
    /// Whether dangerous work is held.
    pub hold: watch::Receiver<Hold>,
    /// Told when VMs without a Machine are likely.
    pub orphans_are_likely: Notify,
    /// Whether the API server keeps `status.machinist`.
    pub own_status: OwnStatus,
    /// The same for sets.
    pub own_set_status: OwnStatus,
    /// The same for deployments.
    pub own_deployment_status: OwnStatus,
    random: Mutex<StdRng>,
}

impl Context {
    /// Randomness comes from `seed`, so that a run can be repeated.
    pub(crate) fn new(
        control: Client,
        target: Option<Client>,
        clock: Clock,
        leads: watch::Receiver<bool>,
        hold: watch::Receiver<Hold>,
        seed: [u8; 32],
    ) -> Self {
        Self {
            control,
            target,
            clock,
            leads,
            hold,
            orphans_are_likely: Notify::new(),
            own_status: OwnStatus::new(),
            own_set_status: OwnStatus::new(),
            own_deployment_status: OwnStatus::new(),
            random: Mutex::new(StdRng::from_seed(seed)),
        }
    }

    /// A number from 0 to 1.
    pub(crate) fn jitter(&self) -> f64 {
        self.with_random(|random| random.random_range(0.0..1.0))
    }

    /// Unpredictable bytes, when the seed is.
    pub(crate) fn random_bytes<const N: usize>(&self) -> [u8; N] {
        self.with_random(|random| {
            let mut bytes = [0; N];
            random.fill_bytes(&mut bytes);
            bytes
        })
    }

    fn with_random<R>(&self, draw: impl FnOnce(&mut StdRng) -> R) -> R {
        draw(&mut self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
