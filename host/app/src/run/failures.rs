//! Refused requests of plugins, as Events on their ConfigMaps: each kind at most once a minute.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::{BoxStream, StreamExt, unfold};
use machinist_plugin_host::RefusalNotice;
use machinist_runtime::ports::{PluginFailure, PluginMessage};
use tokio::sync::broadcast;

/// A driver that loops causes one Event a minute.
const PAUSE: Duration = Duration::from_secs(60);

/// Failures that wait for a slow listener. Older ones are dropped, and the counters still count them.
const BACKLOG: usize = 64;

pub(crate) struct PluginFailures {
    outbox: broadcast::Sender<PluginFailure>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Uid of each ConfigMap.
    config_maps: BTreeMap<String, String>,
    /// Which ConfigMap a plugin's calls come from.
    serving: BTreeMap<String, String>,
    reported: BTreeMap<(String, String), Instant>,
}

impl PluginFailures {
    pub(crate) fn new() -> Self {
        Self { outbox: broadcast::channel(BACKLOG).0, known: Mutex::default() }
    }

    /// A ConfigMap is there.
    pub(crate) fn found(&self, name: String, uid: String) {
        self.with(|known| known.config_maps.insert(name, uid));
    }

    /// A ConfigMap is gone.
    pub(crate) fn gone(&self, name: &str) {
        self.with(|known| {
            known.config_maps.remove(name);
            known.serving.retain(|_, map| map != name);
            known.reported.retain(|(map, _), _| map != name);
        });
    }

    /// Uid of a ConfigMap; empty when it is not known.
    pub(crate) fn uid(&self, name: &str) -> String {
        self.with(|known| known.config_maps.get(name).cloned().unwrap_or_default())
    }

    /// The plugin's calls come from this ConfigMap.
    pub(crate) fn serves(&self, plugin: &str, config_map: &str) {
        self.with(|known| known.serving.insert(plugin.to_owned(), config_map.to_owned()));
    }

    /// A request was refused.
    pub(crate) fn refused(&self, notice: &RefusalNotice) {
        let reason = notice.reason.name();
        let failure = self.with(|known| {
            let plugin = notice.plugin.as_str();
            let config_map = known.serving.get(plugin).map_or(plugin, String::as_str).to_owned();
            let uid = known.config_maps.get(&config_map)?.clone();
            let now = Instant::now();
            let reported = known.reported.entry((config_map.clone(), reason.to_owned()));
            let is_due = match &reported {
                std::collections::btree_map::Entry::Occupied(last) => {
                    now.duration_since(*last.get()) >= PAUSE
                }
                std::collections::btree_map::Entry::Vacant(_) => true,
            };
            if !is_due {
                return None;
            }
            *reported.or_insert(now) = now;
            let message = format!("a request to {} was refused: {}", notice.target, reason);
            Some(PluginFailure { config_map, uid, reason: "EgressRefused".to_owned(), message })
        });
        if let Some(failure) = failure {
            // Without a listener the failure is dropped.
            let _ = self.outbox.send(failure);
        }
    }

    /// The failures from now on.
    pub(crate) fn stream(&self) -> BoxStream<'static, PluginMessage> {
        unfold(self.outbox.subscribe(), |mut inbox| async move {
            loop {
                match inbox.recv().await {
                    Ok(failure) => return Some((PluginMessage::Failure(failure), inbox)),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        })
        .boxed()
    }

    fn with<R>(&self, change: impl FnOnce(&mut Known) -> R) -> R {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
