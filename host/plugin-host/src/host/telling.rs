//! Reports calls that found no memory, and isolation that the compiler lacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use tokio::time::sleep;
use tracing::warn;

use super::HostState;
use crate::loading::compiler_process::confine::Confinement;
use crate::metrics::Metrics;

/// Shows what is taken from the compiler, and says once what is not.
pub(super) fn on_confined(metrics: &Metrics) -> impl Fn(Confinement) + Send + Sync + 'static {
    let metrics = metrics.clone();
    let has_reported = AtomicBool::new(false);
    move |confinement| {
        let layers = confinement.layers();
        for (layer, holds) in layers {
            metrics.confined(layer, holds);
        }
        let missing: Vec<_> = layers.iter().filter(|(_, holds)| !holds).map(|(layer, _)| *layer).collect();
        if !has_reported.swap(true, Ordering::Relaxed) && !missing.is_empty() {
            let missing = missing.join(", ");
            warn!(
                missing,
                "the kernel or the container runtime cannot take this from the compiler of plugins"
            );
        }
    }
}

impl HostState {
    /// A quarantine has begun: say so, and say so again when it is over.
    pub(crate) fn quarantined(self: &Arc<Self>, until: Timestamp) {
        self.catalog.refresh();
        let inner = Arc::downgrade(self);
        let length = until.duration_since(Timestamp::now()).unsigned_abs();
        self.guests.normal.spawn(async move {
            sleep(length).await;
            if let Some(inner) = inner.upgrade() {
                inner.catalog.refresh();
            }
        });
    }

    /// A call of this plugin found no memory: say so, and say no more when it has found memory for a while.
    pub(crate) fn found_no_memory(self: &Arc<Self>, plugin: &PluginName) {
        let Some(until) = self.catalog.report_memory_shortage(plugin, Timestamp::now()) else { return };
        self.quarantined(until);
    }
}
