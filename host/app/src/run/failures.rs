//! What plugins tried and were not let do, as news for their ConfigMaps: each kind once a minute, however often it happens.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::{BoxStream, StreamExt, unfold};
use machinist_plugin_host::RefusalNotice;
use machinist_runtime::ports::{PluginFailure, PluginMessage};
use tokio::sync::broadcast;

/// An operator who looks once a minute sees all that is new; a driver that loops writes one Event a minute.
const PAUSE: Duration = Duration::from_secs(60);

/// News that wait for a slow listener. Older ones are dropped, and the counters still count them.
const BACKLOG: usize = 64;

/// Collects refusals.
pub(crate) struct Incidents {
    outbox: broadcast::Sender<PluginFailure>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Uid of each ConfigMap.
    config_maps: BTreeMap<String, String>,
    /// Which ConfigMap a plugin's calls come from.
    serving: BTreeMap<String, String>,
    told: BTreeMap<(String, String), Instant>,
}

impl Incidents {
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
            known.told.retain(|(map, _), _| map != name);
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
        let incident = self.with(|known| {
            let plugin = notice.plugin.as_str();
            let config_map = known.serving.get(plugin).map_or(plugin, String::as_str).to_owned();
            let uid = known.config_maps.get(&config_map)?.clone();
            let now = Instant::now();
            let told = known.told.entry((config_map.clone(), reason.to_owned()));
            let is_due = match &told {
                std::collections::btree_map::Entry::Occupied(last) => {
                    now.duration_since(*last.get()) >= PAUSE
                }
                std::collections::btree_map::Entry::Vacant(_) => true,
            };
            if !is_due {
                return None;
            }
            *told.or_insert(now) = now;
            let message = format!("a request to {} was refused: {}", notice.target, reason);
            Some(PluginFailure { config_map, uid, reason: "EgressRefused".to_owned(), message })
        });
        if let Some(incident) = incident {
            // Without a listener there is nobody to tell.
            let _ = self.outbox.send(incident);
        }
    }

    /// Incidents from now on.
    pub(crate) fn stream(&self) -> BoxStream<'static, PluginMessage> {
        unfold(self.outbox.subscribe(), |mut inbox| async move {
            loop {
                match inbox.recv().await {
                    Ok(incident) => return Some((PluginMessage::Failure(incident), inbox)),
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
