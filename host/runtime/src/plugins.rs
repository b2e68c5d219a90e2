//! Plugins in ConfigMaps: what is found goes to the plugin host, what becomes of it goes onto the ConfigMap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use machinist_core::act_error::ActError;
use machinist_core::machine::Severity;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::cache::{Watch, backoff};
use crate::clock::Clock;
use crate::engine::Message;
use crate::events::{About, EventWriter};
use crate::kube_error::within_deadline;
use crate::names::{FIELD_MANAGER, PLUGIN_STATUS};
use crate::ports::{PluginConfigMap, PluginMessage, PluginNews, Plugins};

/// Where plugins are, and who hears of them.
pub(crate) struct PluginSource {
    /// The control cluster.
    pub client: Client,
    /// The only trusted namespace: who writes here runs code in the host.
    pub namespace: String,
    /// The plugin host.
    pub plugins: Arc<dyn Plugins>,
    /// Events go here.
    pub events: EventWriter,
    /// The loop, which looks anew at Machines whose driver has changed.
    pub engine: mpsc::UnboundedSender<Message>,
    /// Only a leader writes.
    pub leads: watch::Receiver<bool>,
    /// The clock.
    pub clock: Clock,
    /// Where randomness starts.
    pub seed: [u8; 32],
}

/// Until a status that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Watches until `stop`.
pub(crate) async fn watch_config_maps(source: PluginSource, stop: CancellationToken) {
    let api: Api<ConfigMap> = Api::namespaced(source.client.clone(), &source.namespace);
    // Small pages: each of these objects may be a megabyte.
    let config = watcher::Config::default().labels(machinist_api::names::labels::PLUGIN).page_size(10);
    let mut found =
        std::pin::pin!(watcher(api.clone(), config).backoff(backoff(source.seed, Watch::Plugins)));
    let mut messages = source.plugins.messages();
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut pending: BTreeMap<String, PluginNews> = BTreeMap::new();
    let mut listed: Option<Vec<String>> = None;
    let mut leads = source.leads.clone();
    let mut has_failed = false;
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            Some(event) = found.next() => match event {
                Ok(watcher::Event::Init) => listed = Some(Vec::new()),
                Ok(watcher::Event::InitApply(map) | watcher::Event::Apply(map)) => {
                    let name = map.metadata.name.clone().unwrap_or_default();
                    if let Some(listed) = &mut listed {
                        listed.push(name.clone());
                    }
                    known.insert(name, Known::of(&map));
                    source.plugins.declare(plugin(map)).await;
                }
                Ok(watcher::Event::InitDone) => {
                    // A closed inbox means that the loop has ended.
                    let _ = source.engine.send(Message::PluginsListed);
                    let listed = listed.take().unwrap_or_default();
                    let gone: Vec<String> = known.keys().filter(|name| !listed.contains(name)).cloned().collect();
                    for name in gone {
                        known.remove(&name);
                        source.plugins.withdraw(source.namespace.clone(), name).await;
                    }
                }
                Ok(watcher::Event::Delete(map)) => {
                    let is_policy = is_policy(&map);
                    let name = map.metadata.name.unwrap_or_default();
                    known.remove(&name);
                    pending.remove(&name);
                    source.plugins.withdraw(source.namespace.clone(), name).await;
                    if is_policy {
                        // No more news of it comes.
                        let _ = source.engine.send(Message::Policies);
                    }
                }
                Err(error) => debug!(error = %error, "watch of plugins interrupted"),
            },
            Some(message) = messages.next() => match message {
                PluginMessage::State(news) => {
                    info!(source = news.source, state = news.state, message = news.message, "plugin");
                    // A step on the way changes nothing for Machines. A closed inbox means that the loop has ended.
                    if news.is_settled {
                        let _ = source.engine.send(Message::Providers(news.providers.clone()));
                    }
                    if news.is_policy {
                        let _ = source.engine.send(Message::Policies);
                    }
                    if let Some(name) = news.config_map.clone() {
                        pending.insert(name, news);
                    }
                }
                PluginMessage::Incident(incident) if *leads.borrow() => {
                    let about = about(&source.namespace, &incident.config_map, &incident.uid);
                    let now = source.clock.now();
                    source.events.write(about, incident.reason, &incident.message, Severity::Warning, now);
                }
                PluginMessage::Incident(_) => {}
            },
            changed = leads.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(RETRY), if has_failed => {}
        }
        has_failed = false;
        if *leads.borrow() {
            for (name, news) in std::mem::take(&mut pending) {
                let Some(known) = known.get_mut(&name).filter(|known| known.uid == news.uid) else {
                    continue;
                };
                if !tell(&source, &api, (&name, known), &news).await {
                    has_failed = true;
                    pending.insert(name, news);
                }
            }
        }
    }
}

/// What must be known of a ConfigMap to write onto it.
struct Known {
    uid: String,
    status: Option<String>,
}

impl Known {
    fn of(map: &ConfigMap) -> Self {
        let annotations = map.metadata.annotations.as_ref();
        Self {
            uid: map.metadata.uid.clone().unwrap_or_default(),
            status: annotations.and_then(|all| all.get(PLUGIN_STATUS)).cloned(),
        }
    }
}

/// Writes a plugin's state onto its ConfigMap. False when that is to be tried again.
async fn tell(
    source: &PluginSource,
    api: &Api<ConfigMap>,
    (config_map, known): (&str, &mut Known),
    news: &PluginNews,
) -> bool {
    if known.status.as_deref() == Some(news.status.as_str()) {
        return true;
    }
    let patch = json!({ "metadata": { "uid": news.uid, "annotations": { PLUGIN_STATUS: news.status } } });
    let (params, patch) = (PatchParams::apply(FIELD_MANAGER), Patch::Merge(patch));
    match within_deadline(api.patch_metadata(config_map, &params, &patch)).await {
        // The watch may show it only after the next news.
        Ok(_) => known.status = Some(news.status.clone()),
        Err(
            error
            @ (ActError::Gone | ActError::Conflict | ActError::Denied { .. } | ActError::Invalid { .. }),
        ) => {
            warn!(config_map, error = %error, "status of plugin not written");
        }
        Err(error) => {
            debug!(config_map, error = %error, "status of plugin not written yet");
            return false;
        }
    }
    if news.is_settled {
        let severity = if news.is_warning { Severity::Warning } else { Severity::Normal };
        let about = about(&source.namespace, config_map, &news.uid);
        let reason = format!("Plugin{}", news.state);
        source.events.write(about, reason, &news.message, severity, source.clock.now());
    }
    true
}

fn is_policy(map: &ConfigMap) -> bool {
    let labels = map.metadata.labels.as_ref();
    labels
        .and_then(|all| all.get(machinist_api::names::labels::PLUGIN))
        .is_some_and(|kind| kind == "health-policy")
}

fn about(namespace: &str, name: &str, uid: &str) -> About {
    About {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    }
}

fn plugin(map: ConfigMap) -> PluginConfigMap {
    let meta = map.metadata;
    PluginConfigMap {
        namespace: meta.namespace.unwrap_or_default(),
        name: meta.name.unwrap_or_default(),
        uid: meta.uid.unwrap_or_default(),
        resource_version: meta.resource_version.unwrap_or_default(),
        created: meta.creation_timestamp.map(|time| time.0),
        labels: meta.labels.unwrap_or_default(),
        annotations: meta.annotations.unwrap_or_default(),
        data: map.data.unwrap_or_default(),
        binary_data: map
            .binary_data
            .unwrap_or_default()
            .into_iter()
            .map(|(key, value)| (key, value.0))
            .collect(),
    }
}
