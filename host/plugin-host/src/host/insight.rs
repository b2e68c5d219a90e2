//! The state of the plugins, and the directory of plugins.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::Stream;
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use tokio::sync::broadcast;
use tokio::time::sleep;
use tracing::warn;

use crate::calls::log_ring::KeptLines;
use crate::host::directory::{self, DirectoryReport};
use crate::host::{HostState, PluginHost};
use crate::loading::compiler_process::confine::Confinement;
use crate::metrics::Metrics;
use crate::registry::report::PluginReport;

impl PluginHost {
    /// Declares the plugins of a directory, and follows its changes until the host ends. Returns when the plugins that
    /// are there at the start are declared.
    pub async fn watch_directory(&self, root: impl Into<PathBuf>) {
        directory::follow(self.inner(), root.into()).await;
    }

    /// Sets whether all plugins must be signed, regardless of the settings. Returns true if that has changed: sources
    /// that are declared again are then loaded again, and their versions serve until the load ends.
    pub fn require_signatures(&self, strict: bool) -> bool {
        let inner = self.inner();
        let has_changed = inner.strict.swap(strict, Ordering::AcqRel) != strict;
        if has_changed {
            inner.catalog.require_signatures(strict);
        }
        has_changed
    }

    /// How the directory is doing, if there is one.
    pub fn directory(&self) -> Option<DirectoryReport> {
        self.inner().directory.report()
    }

    /// Returns the last log lines of a plugin with a number above `after`. `None`: it has logged nothing.
    pub fn logs(&self, plugin: &PluginName, after: u64) -> Option<KeptLines> {
        self.inner().sandbox.log_ring.lines(plugin, after)
    }

    /// All sources, by plugin and name.
    pub fn plugins(&self) -> Vec<PluginReport> {
        self.inner().catalog.reports()
    }

    /// Streams each change of a source's state. A slow reader gets the latest state of all sources.
    pub fn changes(&self) -> impl Stream<Item = PluginReport> + Send + use<> {
        let inner = Arc::downgrade(self.inner());
        let receiver = self.inner().catalog.changes();
        futures::stream::unfold((receiver, Vec::new()), move |(mut receiver, mut backlog)| {
            let inner = inner.clone();
            async move {
                loop {
                    if let Some(report) = backlog.pop() {
                        return Some((report, (receiver, backlog)));
                    }
                    match receiver.recv().await {
                        Ok(report) => return Some((report, (receiver, backlog))),
                        Err(broadcast::error::RecvError::Lagged(_)) => {
                            backlog = inner.upgrade()?.catalog.reports();
                            backlog.reverse();
                        }
                        Err(broadcast::error::RecvError::Closed) => return None,
                    }
                }
            }
        })
    }
}

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
