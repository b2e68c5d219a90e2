//! The state of the plugins, and the directory of plugins.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::Stream;
use machinist_core::value::id::PluginName;
use tokio::sync::broadcast;

use super::PluginHost;
use super::directory::{self, DirectoryReport};
use crate::calls::log_ring::KeptLines;
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
