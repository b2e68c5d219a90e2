//! Kubernetes Events: what happened to an object, told once.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use machinist_core::machine::Severity;
use tokio::sync::{mpsc, watch};
use tracing::debug;

use crate::engine::Key;

/// The name under which Events are reported.
pub(crate) const REPORTER: &str = "machinist.dev/machinist";

/// Events that wait to be written. Beyond that they are dropped: Events inform, they are not a record.
const BACKLOG: usize = 1_024;

/// For one of them. Others wait behind it.
const REQUEST: Duration = Duration::from_secs(10);

/// The longest note that an API server takes.
const NOTE_BYTES: usize = 1_000;

/// What is to be told about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// The object.
    pub about: About,
    /// CamelCase.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Whether someone should look.
    pub severity: Severity,
}

/// The object of an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
}

/// Tells news, each once for as long as it stays the same.
pub(crate) struct Events {
    writer: EventWriter,
    told: BTreeMap<Key, (&'static str, String)>,
}

impl Events {
    /// Events go through `writer`.
    pub(crate) fn new(writer: EventWriter) -> Self {
        Self { writer, told: BTreeMap::new() }
    }

    /// Tells, unless the same was told last.
    pub(crate) fn tell(&mut self, key: &Key, news: News, now: Timestamp) {
        let is_old =
            self.told.get(key).is_some_and(|(reason, text)| *reason == news.reason && *text == news.message);
        if is_old {
            return;
        }
        self.told.insert(key.clone(), (news.reason, news.message.clone()));
        self.writer.write(news.about, news.reason.to_owned(), &news.message, news.severity, now);
    }

    /// Tells what the teller knows to be news.
    pub(crate) fn say(&self, news: News, now: Timestamp) {
        self.writer.write(news.about, news.reason.to_owned(), &news.message, news.severity, now);
    }

    /// The object is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.told.remove(key);
    }
}

/// Writes Events in the background.
#[derive(Clone)]
pub(crate) struct EventWriter {
    outbox: mpsc::Sender<Event>,
    instance: String,
}

impl EventWriter {
    /// A writer, and the task that must run for it.
    pub(crate) fn new(
        client: Client,
        instance: impl Into<String>,
        leads: watch::Receiver<bool>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (outbox, mut inbox) = mpsc::channel::<Event>(BACKLOG);
        let task = async move {
            while let Some(event) = inbox.recv().await {
                if !*leads.borrow() {
                    debug!("event dropped: this process does not lead");
                    continue;
                }
                let namespace = event.metadata.namespace.clone().unwrap_or_default();
                let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
                match tokio::time::timeout(REQUEST, api.create(&PostParams::default(), &event)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => debug!(error = %error, "event not written"),
                    Err(_) => debug!("event not written: no answer"),
                }
            }
        };
        (Self { outbox, instance: instance.into() }, task)
    }

    /// Puts an Event on its way, or drops it when too many wait.
    pub(crate) fn write(
        &self,
        about: About,
        reason: String,
        message: &str,
        severity: Severity,
        now: Timestamp,
    ) {
        let event = Event {
            metadata: ObjectMeta {
                // Unique enough and sorted by time, as other writers of Events do it.
                name: Some(format!("{}.{:x}", about.name, now.as_nanosecond())),
                namespace: Some(about.namespace.clone()),
                ..ObjectMeta::default()
            },
            action: Some(reason.clone()),
            event_time: Some(MicroTime(now)),
            note: Some(clip(message, NOTE_BYTES)),
            reason: Some(reason),
            regarding: Some(ObjectReference {
                api_version: Some(about.api_version),
                kind: Some(about.kind),
                name: Some(about.name),
                namespace: Some(about.namespace),
                uid: Some(about.uid),
                ..ObjectReference::default()
            }),
            reporting_controller: Some(REPORTER.to_owned()),
            reporting_instance: Some(clip(&self.instance, 128)),
            type_: Some(
                match severity {
                    Severity::Normal => "Normal",
                    Severity::Warning => "Warning",
                }
                .to_owned(),
            ),
            ..Event::default()
        };
        if self.outbox.try_send(event).is_err() {
            debug!("event dropped: too many wait");
        }
    }
}

/// At most `bytes` of a text, cut between characters.
pub(crate) fn clip(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at + 3 <= bytes).last().unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_characters_and_fits() {
        for bytes in 3..20 {
            let clipped = clip("äöüäöüäöüäöüäöü", bytes);
            assert!(clipped.len() <= bytes, "{clipped:?} is longer than {bytes}");
        }
        assert_eq!(clip("short", 5), "short");
    }
}
