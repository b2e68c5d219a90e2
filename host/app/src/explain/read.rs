//! Reads objects from the clusters, and asks the leader. An object that cannot be read is a fact, with the reason.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::ListParams;
use kube::{Api, Client};
use machinist_api::names::labels::PLUGIN;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::status::PluginStatus;
use serde::de::DeserializeOwned;

use super::explanation::{EventLine, EventLines, LeaderAnswer};
use crate::args::ExplainFlags;
use crate::cluster::leader::{self, HostLocation};
use crate::cluster::{client_that_asks_once, message_of};
use crate::plugin::cluster::readable_status;

/// The result of reading an object.
#[derive(Debug)]
pub(super) enum Lookup<T> {
    /// The object names no such object.
    NotNamed,
    /// It is not there.
    Missing(String),
    /// It could not be read.
    Unreadable(String),
    Found(T),
}

impl<T> Lookup<T> {
    pub(super) fn found(&self) -> Option<&T> {
        match self {
            Self::Found(object) => Some(object),
            Self::NotNamed | Self::Missing(_) | Self::Unreadable(_) => None,
        }
    }
}

/// Reads an object by its name, if there is one.
pub(super) async fn named<T>(api: Api<T>, name: Option<&str>) -> Lookup<T>
where
    T: Clone + Debug + DeserializeOwned,
{
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Lookup::NotNamed };
    lookup(name, api.get_opt(name).await)
}

/// Reads no content of an object: whether it is there is enough.
pub(super) async fn presence<T>(api: Api<T>, name: Option<&str>) -> Lookup<()>
where
    T: Clone + Debug + DeserializeOwned,
{
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Lookup::NotNamed };
    lookup(name, api.get_metadata_opt(name).await.map(|found| found.map(drop)))
}

fn lookup<T>(name: &str, answer: Result<Option<T>, kube::Error>) -> Lookup<T> {
    match answer {
        Ok(Some(object)) => Lookup::Found(object),
        Ok(None) => Lookup::Missing(name.to_owned()),
        Err(error) => Lookup::Unreadable(format!("{name} cannot be read: {}", message_of(&error))),
    }
}

/// Returns the status of the plugin that serves a provider.
pub(super) async fn plugin(
    control: &Client,
    provider: Option<&str>,
    namespace: &str,
) -> Lookup<PluginStatus> {
    let provider = provider.unwrap_or_default().trim().to_lowercase();
    if provider.is_empty() {
        return Lookup::NotNamed;
    }
    let api: Api<ConfigMap> = Api::namespaced(control.clone(), namespace);
    let maps = match api.list_metadata(&ListParams::default().labels(PLUGIN)).await {
        Ok(maps) => maps,
        Err(error) => {
            return Lookup::Unreadable(format!(
                "plugins in {namespace} cannot be listed: {}",
                message_of(&error)
            ));
        }
    };
    let statuses = maps.items.into_iter().filter_map(|map| {
        Some(readable_status(map.metadata.annotations?.get(PluginKeys::STATUS_ANNOTATION)?))
    });
    let serves = |status: &PluginStatus| {
        let held = status.held.as_ref().filter(|_| status.serving);
        held.is_some_and(|held| held.providers.contains(&provider))
    };
    statuses.into_iter().find(serves).map_or(Lookup::Missing(provider), Lookup::Found)
}

/// The namespaces of the host.
pub(super) struct HostNamespaces<'a> {
    pub(super) lease: &'a str,
    pub(super) pod: &'a str,
}

/// Asks the leader for a page about an object. Returns its name with the answer, or an error with the fix.
pub(super) async fn details(
    flags: &ExplainFlags,
    namespaces: HostNamespaces<'_>,
    page: &str,
) -> anyhow::Result<LeaderAnswer> {
    let once = client_that_asks_once(&flags.place.access).await?;
    let location = HostLocation {
        address: flags.address.as_deref(),
        address_flag: "--address",
        leases: namespaces.lease,
        pods: namespaces.pod,
        port: flags.port,
    };
    Ok(leader::ask(Some(&once), &location, page).await)
}

/// So many Events are enough: the host writes few of them.
const MOST_EVENTS: usize = 10;

/// Returns the last Events about an object.
pub(super) async fn events(control: &Client, namespace: &str, uid: &str) -> EventLines {
    let api: Api<Event> = Api::namespaced(control.clone(), namespace);
    match api.list(&ListParams::default().fields(&format!("involvedObject.uid={uid}"))).await {
        Ok(events) => EventLines::Read(latest(events.items)),
        Err(error) => EventLines::Unreadable(message_of(&error)),
    }
}

/// Returns the last ones, the latest last.
fn latest(events: Vec<Event>) -> Vec<EventLine> {
    let mut lines: Vec<EventLine> = events.into_iter().map(line).collect();
    lines.sort_by(|one, other| (one.at, &one.reason).cmp(&(other.at, &other.reason)));
    let older = lines.len().saturating_sub(MOST_EVENTS);
    lines.split_off(older)
}

/// An Event of either API: of `events.k8s.io` a series has count and time.
fn line(event: Event) -> EventLine {
    let series = event.series.as_ref();
    let of_series = series.and_then(|series| series.last_observed_time.as_ref()).map(|time| time.0);
    let first = event.event_time.as_ref().map(|time| time.0);
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    let created = event.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let count = series.and_then(|series| series.count).or(event.count).unwrap_or(1);
    EventLine {
        at: of_series.or(last).or(first).or(created),
        kind: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
        count: count.max(1),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lines(events: Vec<Value>) -> Vec<(String, i32)> {
        let events = events.into_iter().map(|event| {
            let mut whole = json!({ "metadata": {}, "involvedObject": {}, "type": "Normal" });
            for (key, value) in event.as_object().unwrap() {
                whole[key] = value.clone();
            }
            serde_json::from_value(whole).unwrap()
        });
        latest(events.collect()).into_iter().map(|line| (line.reason, line.count)).collect()
    }

    #[test]
    fn events_of_both_apis_are_in_the_order_of_their_last_time() {
        let events = vec![
            json!({ "reason": "Last", "lastTimestamp": "2026-01-01T00:03:00Z", "count": 2 }),
            json!({
                "reason": "Between", "eventTime": "2026-01-01T00:00:00.000000Z",
                "series": { "count": 5, "lastObservedTime": "2026-01-01T00:02:00.000000Z" },
            }),
            json!({ "reason": "First", "eventTime": "2026-01-01T00:01:00.000000Z" }),
        ];
        let expected = [("First", 1), ("Between", 5), ("Last", 2)];
        assert_eq!(lines(events), expected.map(|(reason, count)| (reason.to_owned(), count)));
    }

    #[test]
    fn of_many_events_the_last_are_kept() {
        let event = |minute: usize| {
            json!({
                "reason": format!("R{minute:02}"), "lastTimestamp": format!("2026-01-01T00:{minute:02}:00Z"),
            })
        };
        let kept = lines((0..30).map(event).collect());
        assert_eq!(kept.len(), MOST_EVENTS);
        assert_eq!(kept.last().map(|(reason, _)| reason.as_str()), Some("R29"));
    }
}
