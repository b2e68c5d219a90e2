//! Kubernetes Events.
//!
//! | module | what it does |
//! | --- | --- |
//! | `reported` | decides which text becomes a new Event, a series, or nothing |
//! | `request` | one request, in the form of either API group |
//! | `writer` | writes Events in the background |

mod reported;
mod request;
mod writer;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinist_api::{infrastructure, names};
use machinist_core::machine::Severity;

use crate::context::key::Key;

use reported::{EventDecision, ReportedEvents};
pub(crate) use writer::{Author, EventWriter};

/// The name under which Events are reported.
pub(crate) const REPORTER: &str = "machinist.dev/machinist";

/// The longest note that an API server takes.
const NOTE_BYTES: usize = 1_000;

/// A possible Event about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub about: About,
    /// Its topic: an Event is reported if it differs from the last one with the same topic.
    pub topic: &'static str,
    pub reason: &'static str,
    /// When it happened, if that was before the end of the reconcile.
    pub at: Option<Timestamp>,
    pub message: String,
    /// The text to compare with the last report, if that is not the message.
    pub same: Option<String>,
    /// Whether an operator should act.
    pub severity: Severity,
    /// A failed attempt: a repetition counts up the last Event.
    pub repeats: bool,
    /// True if the object has the same condition already.
    pub is_known: bool,
    /// The server keeps no condition of it, and the rest of the status is unchanged: reported only if this process has
    /// reported before.
    pub is_unsupported: bool,
    /// Another Event of the same reconcile implies it.
    pub is_implied: bool,
    /// An action: reported each time, without effect on other topics.
    pub is_action: bool,
}

/// The object of an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
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

impl About {
    /// An object of one of the kinds for Cluster API.
    pub(crate) fn of_infrastructure(kind: &str, meta: &ObjectMeta) -> Self {
        Self { api_version: infrastructure::API_VERSION.to_owned(), ..Self::of(kind, meta) }
    }
}

impl Event {
    /// Returns an Event about a normal change.
    pub(crate) fn normal(about: About, topic: &'static str, reason: &'static str, message: String) -> Self {
        Self {
            about,
            topic,
            reason,
            at: None,
            message,
            same: None,
            severity: Severity::Normal,
            repeats: false,
            is_known: false,
            is_unsupported: false,
            is_implied: false,
            is_action: false,
        }
    }
}

/// Reports Events, each once for as long as it stays the same.
pub(crate) struct EventRecorder {
    writer: EventWriter,
    reported: BTreeMap<Key, ReportedEvents>,
}

impl EventRecorder {
    /// Events go through `writer`.
    pub(crate) fn new(writer: EventWriter) -> Self {
        Self { writer, reported: BTreeMap::new() }
    }

    /// Records all Events of a reconcile, except those that were reported last.
    pub(crate) fn record_all(&mut self, key: &Key, events: Vec<Event>, now: Timestamp) {
        let is_first = !self.reported.contains_key(key);
        for event in events {
            let is_known = event.is_known || (event.is_unsupported && is_first);
            self.record(key, Event { is_known, ..event }, now);
        }
    }

    /// Records an Event, unless the same was reported last.
    fn record(&mut self, key: &Key, event: Event, now: Timestamp) {
        let reports = self.reported.entry(key.clone()).or_default();
        match reports.decide(&event, now) {
            EventDecision::Nothing => {}
            EventDecision::Event => {
                let Event { about, topic, reason, at, message, severity, .. } = event;
                let at = at.unwrap_or(now);
                let name = self.writer.write(about, reason.to_owned(), &message, severity, at);
                reports.written(topic, name);
            }
            EventDecision::Count(name, count) => self.writer.count(&event.about, name, count, now),
        }
    }

    /// The object is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.reported.remove(key);
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
