//! The surroundings that all reconciles share.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `settings` | the settings of a tenant, and their defaults |
//! | `clock` | the source of time, and the clock of the API server |
//! | `own_status` | whether the API server keeps `status.machinist` |
//! | `key` | the keys that are reconciled, and the kinds that are watched |

pub mod clock;
pub(crate) mod key;
pub(crate) mod own_status;
pub mod settings;

use std::sync::Mutex;

use jiff::Timestamp;
use kube::Client;
use machinist_core::scheduling::gate::Gate;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::context::clock::Clock;
use crate::context::own_status::OwnStatus;

/// The gate, and since when this process has watched the API servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GateState {
    /// The check before every effect.
    pub gate: Gate,
    /// The last opening of the gate after a freeze.
    pub thawed_at: Option<Timestamp>,
    /// Since when this process has led and probed the API servers.
    pub watched_since: Option<Timestamp>,
    /// The same on the monotonic clock. All calls of the process that led before had ended by then.
    pub leads_from: Option<Instant>,
    /// True once all API servers were probed since this process began to lead. No reconcile starts before that.
    pub is_known: bool,
}

/// Clients, clock and randomness of one tenant.
pub(crate) struct Context {
    /// The cluster of the Machines.
    pub control: Client,
    /// The cluster that Nodes join; `None` without one.
    pub target: Option<Client>,
    pub clock: Clock,
    /// True while this process leads.
    pub leads: watch::Receiver<bool>,
    /// The gate, which pauses destructive actions.
    pub gate_state: watch::Receiver<GateState>,
    /// Notified when VMs without a Machine are likely.
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
        gate_state: watch::Receiver<GateState>,
        seed: [u8; 32],
    ) -> Self {
        Self {
            control,
            target,
            clock,
            leads,
            gate_state,
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
