//! Plugins in ConfigMaps: each goes to the plugin host, and its state comes back onto the ConfigMap.
//!
//! | module | what it does |
//! | --- | --- |
//! | `statuses` | queues the statuses to write, one at a time for each ConfigMap |
//! | `policies` | which health policies are about a Machine, their questions and answers |

pub(crate) mod policies;
mod statuses;

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Severity;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::cache::{WatchedKind, backoff};
use crate::client::errors::within_deadline;
use crate::client::field_manager::{FIELD_MANAGER, PLUGIN_STATUS};
use crate::context::clock::Clock;
use crate::events::{About, EventWriter};
use crate::message::Message;
use crate::ports::{PluginConfigMap, PluginMessage, PluginStatus, Plugins};

use statuses::{StatusWrite, Statuses};

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

/// Watches until `stop`. Statuses are written beside the watch, so that a server that is slow to take them delays no
/// plugin; writes that have not ended by then are dropped.
pub(crate) async fn watch_config_maps(source: PluginSource, stop: CancellationToken) {
    let api: Api<ConfigMap> = Api::namespaced(source.client.clone(), &source.namespace);
    // Small pages: each of these objects may be a megabyte.
    let config = watcher::Config::default().labels(machinist_api::names::labels::PLUGIN).page_size(10);
    let mut found =
        std::pin::pin!(watcher(api.clone(), config).backoff(backoff(source.seed, WatchedKind::Plugins)));
    let mut messages = source.plugins.messages();
    let (mut statuses, mut in_flight) = (Statuses::default(), FuturesUnordered::new());
    let mut listed: Option<Vec<String>> = None;
    let mut leads = source.leads.clone();
    loop {
        if *leads.borrow() {
            let next = std::iter::from_fn(|| statuses.take());
            in_flight.extend(next.map(|(name, plugin_status)| write(api.clone(), name, plugin_status)));
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            Some((name, plugin_status, written)) = in_flight.next() => {
                if written != StatusWrite::NotYet {
                    write_event(&source, &name, &plugin_status);
                }
                statuses.ended(name, plugin_status, written, Instant::now());
            }
            Some(event) = found.next() => match event {
                Ok(watcher::Event::Init) => {
                    source.plugins.listing();
                    listed = Some(Vec::new());
                }
                Ok(watcher::Event::InitApply(map) | watcher::Event::Apply(map)) => {
                    let name = map.metadata.name.clone().unwrap_or_default();
                    if let Some(listed) = &mut listed {
                        listed.push(name.clone());
                    }
                    statuses.found(name, &map);
                    source.plugins.declare(plugin(map)).await;
                }
                Ok(watcher::Event::InitDone) => {
                    // A closed inbox means that the loop has ended.
                    let _ = source.engine.send(Message::PluginsListed);
                    let listed = listed.take().unwrap_or_default();
                    for name in statuses.missing_in(&listed) {
                        statuses.gone(&name);
                        source.plugins.withdraw(source.namespace.clone(), name).await;
                    }
                    source.plugins.listed();
                }
                Ok(watcher::Event::Delete(map)) => {
                    let is_policy = is_policy(&map);
                    let name = map.metadata.name.unwrap_or_default();
                    statuses.gone(&name);
                    source.plugins.withdraw(source.namespace.clone(), name).await;
                    if is_policy {
                        // No more news of it comes.
                        let _ = source.engine.send(Message::Policies);
                    }
                }
                Err(error) => debug!(error = %error, "watch of plugins interrupted"),
            },
            Some(message) = messages.next() => match message {
                PluginMessage::State(plugin_status) => {
                    info!(source = plugin_status.source, state = plugin_status.state, message = plugin_status.message, "plugin");
                    // A step on the way changes nothing for Machines. A closed inbox means that the loop has ended.
                    if plugin_status.is_final {
                        let _ = source.engine.send(Message::Providers(plugin_status.providers.clone()));
                    }
                    if plugin_status.is_policy {
                        let _ = source.engine.send(Message::Policies);
                    }
                    if let Some(name) = plugin_status.config_map.clone() {
                        statuses.post(name, plugin_status);
                    }
                }
                PluginMessage::Failure(failure) if *leads.borrow() => {
                    let about = about(&source.namespace, &failure.config_map, &failure.uid);
                    let now = source.clock.now();
                    source.events.write(about, failure.reason, &failure.message, Severity::Warning, now);
                }
                PluginMessage::Failure(_) => {}
            },
            changed = leads.changed() => if changed.is_err() { return },
            () = due(statuses.retry_at()) => statuses.retry(),
        }
    }
}

/// Never without a time.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Writes a plugin's status onto its ConfigMap.
async fn write(
    api: Api<ConfigMap>,
    config_map: String,
    plugin_status: PluginStatus,
) -> (String, PluginStatus, StatusWrite) {
    let patch = json!({ "metadata": { "uid": plugin_status.uid, "annotations": { PLUGIN_STATUS: plugin_status.status } } });
    let (params, patch) = (PatchParams::apply(FIELD_MANAGER), Patch::Merge(patch));
    let written = match within_deadline(api.patch_metadata(&config_map, &params, &patch)).await {
        Ok(_) => StatusWrite::Yes,
        Err(
            error
            @ (ActError::Gone | ActError::Conflict | ActError::Denied { .. } | ActError::Invalid { .. }),
        ) => {
            warn!(config_map, error = %error, "status of plugin not written");
            StatusWrite::Refused
        }
        Err(error) => {
            debug!(config_map, error = %error, "status of plugin not written yet");
            StatusWrite::NotYet
        }
    };
    (config_map, plugin_status, written)
}

/// Writes an Event about a state that stays.
fn write_event(source: &PluginSource, config_map: &str, plugin_status: &PluginStatus) {
    if !plugin_status.is_final {
        return;
    }
    let severity = if plugin_status.is_warning { Severity::Warning } else { Severity::Normal };
    let about = about(&source.namespace, config_map, &plugin_status.uid);
    let reason = format!("Plugin{}", plugin_status.state);
    source.events.write(about, reason, &plugin_status.message, severity, source.clock.now());
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
