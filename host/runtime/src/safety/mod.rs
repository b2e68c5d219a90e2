//! Loops beside the reconciles that watch over all Machines. Their decisions are in `machinist_core::safety`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `freeze` | probes the API servers and the freeze request, and freezes the gate |
//! | `mark_claim` | claims the cluster's mark in the target cluster |
//! | `marks` | stores the mark on Machines and classes |
//! | `orphans`, `listing` | lists the VMs of each class, and finds those without a Machine |
//! | `owners`, `kin` | the Machines that a VM may belong to, those that are gone included |
//! | `foreign` | reports VMs that carry no Machine's uid |
//! | `delete` | deletes one orphan |
//! | `nodes`, `claims` | finds Nodes without a Machine |
//! | `class_check` | asks drivers whether classes are valid |
//! | `metrics` | counts all of this |

mod claims;
pub(crate) mod class_check;
mod delete;
mod foreign;
mod freeze;
mod kin;
mod listing;
mod mark_claim;
pub(crate) mod marks;
mod metrics;
mod nodes;
mod orphans;
mod owners;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cache::Refresh;
use crate::events::EventWriter;
use crate::metrics::Metrics;
use crate::tenant::context::{Context, Hold};
use crate::tenant::world::World;

pub(crate) use metrics::SafetyMetrics;

/// What the loops work with.
#[derive(Clone)]
pub(crate) struct Watch {
    /// The caches.
    pub world: World,
    /// Clients, clock, leadership.
    pub context: Arc<Context>,
    /// Namespace of the Machines.
    pub namespace: String,
    /// This process, as its Lease names it.
    pub identity: String,
    /// Events go here.
    pub events: EventWriter,
    /// Events about Nodes go here, into the target cluster.
    pub node_events: Option<EventWriter>,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

/// Starts the gate, and where Machines are looked after, all other loops. They end when they are aborted: none of them holds
/// anything half done.
pub(crate) fn start(tasks: &mut JoinSet<()>, watch: &Watch, hold: watch::Sender<Hold>, refresh: Refresh) {
    tasks.spawn(freeze::keep_gate(watch.clone(), hold, refresh));
    if !watch.world.settings.controllers.machines {
        return;
    }
    tasks.spawn(orphans::look_for_orphans(watch.clone()));
    if watch.context.target.is_some() {
        tasks.spawn(nodes::look_at_nodes(watch.clone()));
    }
}

impl Watch {
    /// Until this process leads, its caches are complete, and nothing is held. Looks again every second, which costs nothing.
    async fn until_free(&self) {
        const SOON: std::time::Duration = std::time::Duration::from_secs(1);
        while !self.is_free() {
            tokio::time::sleep(SOON).await;
        }
    }

    /// True while evidence counts and effects are allowed.
    fn is_free(&self) -> bool {
        let hold = *self.context.hold.borrow();
        let is_open = hold.gate == machinist_core::scheduling::gate::Gate::Open;
        *self.context.leads.borrow() && hold.is_known && is_open && self.world.is_synced()
    }
}
