//! What the host tells about its plugins, and the directory that it takes some from.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::Stream;
use machinist_core::value::id::PluginName;
use tokio::sync::broadcast;

use super::PluginHost;
use crate::calls::log_ring::KeptLines;
use crate::registry::report::PluginReport;
use crate::sources::directory::{self, DirectoryReport};

impl PluginHost {
    /// Declares the plugins of a directory, and follows what becomes of them there until the host ends. Returns when what lies
    /// there at the start is declared.
    pub async fn watch_directory(&self, root: impl Into<PathBuf>) {
        directory::follow(self.inner(), root.into()).await;
    }

    /// Whether everything must be signed, whatever the settings say. True when that has changed: sources that are declared again
    /// are loaded again then, and what serves goes on until something else of its source may.
    pub fn require_signatures(&self, strict: bool) -> bool {
        let inner = self.inner();
        let has_changed = inner.strict.swap(strict, Ordering::AcqRel) != strict;
        if has_changed {
            inner.shelf.require_signatures(strict);
        }
        has_changed
    }

    /// How the directory is doing, if there is one.
    pub fn directory(&self) -> Option<DirectoryReport> {
        self.inner().directory.report()
    }

    /// What a plugin has logged last: the lines with a number above `after`. `None` when there is nothing of it.
    pub fn logs(&self, plugin: &PluginName, after: u64) -> Option<KeptLines> {
        self.inner().sandbox.logbook.lines(plugin, after)
    }

    /// All sources, by plugin and name.
    pub fn plugins(&self) -> Vec<PluginReport> {
        self.inner().shelf.reports()
    }

    /// Each change of a source's state, from here on. Whoever is too slow gets the latest state of all sources.
    pub fn changes(&self) -> impl Stream<Item = PluginReport> + Send + use<> {
        let inner = Arc::downgrade(self.inner());
        let receiver = self.inner().shelf.changes();
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
                            backlog = inner.upgrade()?.shelf.reports();
                            backlog.reverse();
                        }
                        Err(broadcast::error::RecvError::Closed) => return None,
                    }
                }
            }
        })
    }
}
