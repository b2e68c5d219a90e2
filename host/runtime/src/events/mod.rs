//! Kubernetes Events: what happened to an object.

mod told;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_api::names;
use machinist_core::machine::Severity;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tracing::debug;

use crate::engine::Key;
use crate::names::FIELD_MANAGER;

use told::{Item, Tell, Told};

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
    /// What it is about: news is what differs from what was told last about the same.
    pub topic: &'static str,
    /// CamelCase.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// What makes it the same news as before, where that is not the message.
    pub same: Option<String>,
    /// Whether someone should look.
    pub severity: Severity,
    /// Something was tried and failed: that it happens again is told by a count.
    pub repeats: bool,
    /// The object says the same already.
    pub is_known: bool,
    /// The object cannot say it, and nothing of it was changed: news only to whoever has seen it before.
    pub is_mute: bool,
    /// Another piece of news of the same pass says as much.
    pub is_implied: bool,
    /// Something that was done, which is told each time, and does not take away from what else there is to tell.
    pub is_deed: bool,
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

impl About {
    /// An object of one of the four kinds.
    pub(crate) fn of(kind: &str, meta: &ObjectMeta) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            api_version: names::API_VERSION.to_owned(),
            kind: kind.to_owned(),
            namespace: text(&meta.namespace),
            name: text(&meta.name),
            uid: text(&meta.uid),
        }
    }
}

impl News {
    /// Something that went as it should, and that nothing else tells.
    pub(crate) fn normal(about: About, topic: &'static str, reason: &'static str, message: String) -> Self {
        Self {
            about,
            topic,
            reason,
            message,
            same: None,
            severity: Severity::Normal,
            repeats: false,
            is_known: false,
            is_mute: false,
            is_implied: false,
            is_deed: false,
        }
    }
}

/// Tells news, each once for as long as it stays the same.
pub(crate) struct Events {
    writer: EventWriter,
    told: BTreeMap<Key, Told>,
}

impl Events {
    /// Events go through `writer`.
    pub(crate) fn new(writer: EventWriter) -> Self {
        Self { writer, told: BTreeMap::new() }
    }

    /// Tells all that a pass has to tell, but what was told last.
    pub(crate) fn tell_all(&mut self, key: &Key, news: Vec<News>, now: Timestamp) {
        let is_first = !self.told.contains_key(key);
        for news in news {
            let is_known = news.is_known || (news.is_mute && is_first);
            self.tell(key, News { is_known, ..news }, now);
        }
    }

    /// Tells, unless the same was told last.
    fn tell(&mut self, key: &Key, news: News, now: Timestamp) {
        let told = self.told.entry(key.clone()).or_default();
        let News {
            about,
            topic,
            reason,
            message,
            same,
            severity,
            repeats,
            is_known,
            is_mute: _,
            is_implied,
            is_deed,
        } = news;
        let same = same.as_deref().unwrap_or(&message);
        match told.decide(Item { topic, reason, same, repeats, is_known, is_implied, is_deed }, now) {
            Tell::Nothing => {}
            Tell::Event => {
                let event = self.writer.write(about, reason.to_owned(), &message, severity, now);
                told.written(topic, event);
            }
            Tell::Count(event, count) => self.writer.count(about.namespace, event, count, now),
        }
    }

    /// The object is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.told.remove(key);
    }
}

/// Writes Events in the background.
#[derive(Clone)]
pub(crate) struct EventWriter {
    outbox: mpsc::Sender<Letter>,
    instance: String,
    written: Arc<AtomicU32>,
}

/// What waits to be written.
#[derive(Debug)]
enum Letter {
    New(Box<Event>),
    Count { namespace: String, name: String, count: i32, at: Timestamp },
}

impl EventWriter {
    /// A writer, and the task that must run for it.
    pub(crate) fn new(
        client: Client,
        instance: impl Into<String>,
        leads: watch::Receiver<bool>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (outbox, mut inbox) = mpsc::channel::<Letter>(BACKLOG);
        let task = async move {
            while let Some(letter) = inbox.recv().await {
                if !*leads.borrow() {
                    debug!("event dropped: this process does not lead");
                    continue;
                }
                match tokio::time::timeout(REQUEST, deliver(&client, letter)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => debug!(error = %error, "event not written"),
                    Err(_) => debug!("event not written: no answer"),
                }
            }
        };
        (Self { outbox, instance: instance.into(), written: Arc::default() }, task)
    }

    /// Puts an Event on its way, or drops it when too many wait. Answers its name.
    pub(crate) fn write(
        &self,
        about: About,
        reason: String,
        message: &str,
        severity: Severity,
        now: Timestamp,
    ) -> String {
        // Unique enough and sorted by time, as other writers of Events do it. Several may be written at one time.
        let number = i128::from(self.written.fetch_add(1, Ordering::Relaxed) % 1_000);
        let name = format!("{}.{:x}", about.name, now.as_nanosecond() + number);
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name.clone()),
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
        self.post(Letter::New(Box::new(event)));
        name
    }

    /// An Event has happened again: so often by now.
    pub(crate) fn count(&self, namespace: String, name: String, count: i32, now: Timestamp) {
        self.post(Letter::Count { namespace, name, count, at: now });
    }

    fn post(&self, letter: Letter) {
        if self.outbox.try_send(letter).is_err() {
            debug!("event dropped: too many wait");
        }
    }
}

async fn deliver(client: &Client, letter: Letter) -> kube::Result<()> {
    match letter {
        Letter::New(event) => {
            let namespace = event.metadata.namespace.clone().unwrap_or_default();
            let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
            api.create(&PostParams::default(), &event).await?;
        }
        Letter::Count { namespace, name, count, at } => {
            let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
            let series = json!({ "series": { "count": count, "lastObservedTime": MicroTime(at) } });
            api.patch(&name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(series)).await?;
        }
    }
    Ok(())
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
