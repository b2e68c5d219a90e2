//! What watches over the Machines as a whole: the gate before all effects, VMs and Nodes that nobody answers for, and
//! whether drivers can use the classes. Loops of their own, beside the passes; decisions are in `machinist_core::safety`.

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
