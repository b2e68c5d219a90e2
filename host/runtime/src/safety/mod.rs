//! Loops beside the reconciles that watch over all Machines. Their decisions are in `machinist_core::safety`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `freeze` | probes the API servers and the freeze request, and freezes the gate |
//! | `mark_claim` | claims the cluster's mark in the target cluster |
//! | `marks` | stores the mark on Machines and classes |
//! | `orphans`, `listing` | lists the VMs of each class, and finds those without a Machine |
//! | `owners` | the Machines that a VM may belong to, those that are gone included |
//! | `foreign` | reports VMs that carry no Machine's uid |
//! | `delete` | deletes one orphan |
//! | `nodes`, `machines_by_node` | finds Nodes without a Machine |

mod delete;
mod foreign;
mod freeze;
mod listing;
mod machines_by_node;
mod mark_claim;
mod marks;
mod nodes;
mod orphans;
mod owners;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cache::Refresh;
use crate::context::Context;
use crate::context::GateState;
use crate::controllers::state::TenantState;
use crate::events::EventWriter;
use crate::metrics::Metrics;

/// The surroundings of the safety loops.
#[derive(Clone)]
pub(crate) struct SafetyWatch {
    pub tenant: TenantState,
    pub context: Arc<Context>,
    /// Namespace of the Machines.
    pub namespace: String,
    /// This process, as its Lease names it.
    pub identity: String,
    pub events: EventWriter,
    /// Events about Nodes go here, into the target cluster.
    pub node_events: Option<EventWriter>,
    pub metrics: Arc<Metrics>,
    /// The source of random pauses.
    pub seed: [u8; 32],
}

/// Starts the gate, and, if Machines are reconciled here, all other loops. They end when they are aborted: none of them
/// leaves anything half done.
pub(crate) fn start(
    tasks: &mut JoinSet<()>,
    watch: &SafetyWatch,
    gate_state: watch::Sender<GateState>,
    refresh: Refresh,
) {
    tasks.spawn(freeze::keep_gate(watch.clone(), gate_state, refresh));
    if !watch.tenant.settings.controllers.machines {
        return;
    }
    tasks.spawn(orphans::watch_orphans(watch.clone()));
    if watch.context.target.is_some() {
        tasks.spawn(nodes::watch_nodes(watch.clone()));
    }
}

impl SafetyWatch {
    /// Waits until this process leads, its caches are complete, and the gate is open. Checks every second, which costs
    /// nothing.
    async fn until_allowed(&self) {
        const SOON: std::time::Duration = std::time::Duration::from_secs(1);
        while !self.may_act() {
            tokio::time::sleep(SOON).await;
        }
    }

    /// True while evidence counts and effects are allowed.
    fn may_act(&self) -> bool {
        let gate_state = *self.context.gate_state.borrow();
        let is_open = gate_state.gate == machinist_core::scheduling::gate::Gate::Open;
        *self.context.leads.borrow() && gate_state.is_known && is_open && self.tenant.is_synced()
    }
}
