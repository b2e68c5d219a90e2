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
use machinist_api::names;
use machinist_core::machine::Severity;

use crate::context::key::Key;

use reported::{EventDecision, EventFact, ReportedEvents};
pub(crate) use writer::{Author, EventWriter};

/// The name under which Events are reported.
pub(crate) const REPORTER: &str = "machinist.dev/machinist";

/// The longest note that an API server takes.
const NOTE_BYTES: usize = 1_000;

/// What is to be told about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The object.
    pub about: About,
    /// What it is about: news is what differs from what was told last about the same.
    pub topic: &'static str,
    /// CamelCase.
    pub reason: &'static str,
    /// When it happened, where that was before the end of the pass.
    pub at: Option<Timestamp>,
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
    pub is_unsupported: bool,
    /// Another piece of news of the same pass says as much.
    pub is_implied: bool,
    /// Something that was done, which is told each time, and does not take away from what else there is to tell.
    pub is_action: bool,
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

impl Event {
    /// Something that went as it should, and that nothing else tells.
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

/// Tells news, each once for as long as it stays the same.
pub(crate) struct EventRecorder {
    writer: EventWriter,
    reported: BTreeMap<Key, ReportedEvents>,
}

impl EventRecorder {
    /// Events go through `writer`.
    pub(crate) fn new(writer: EventWriter) -> Self {
        Self { writer, reported: BTreeMap::new() }
    }

    /// Tells all that a pass has to tell, but what was told last.
    pub(crate) fn record_all(&mut self, key: &Key, events: Vec<Event>, now: Timestamp) {
        let is_first = !self.reported.contains_key(key);
        for event in events {
            let is_known = event.is_known || (event.is_unsupported && is_first);
            self.record(key, Event { is_known, ..event }, now);
        }
    }

    /// Tells, unless the same was told last.
    fn record(&mut self, key: &Key, event: Event, now: Timestamp) {
        let reports = self.reported.entry(key.clone()).or_default();
        let Event {
            about,
            topic,
            reason,
            at,
            message,
            same,
            severity,
            repeats,
            is_known,
            is_unsupported: _,
            is_implied,
            is_action,
        } = event;
        let same = same.as_deref().unwrap_or(&message);
        match reports.decide(EventFact { topic, reason, same, repeats, is_known, is_implied, is_action }, now)
        {
            EventDecision::Nothing => {}
            EventDecision::Event => {
                let at = at.unwrap_or(now);
                let name = self.writer.write(about, reason.to_owned(), &message, severity, at);
                reports.written(topic, name);
            }
            EventDecision::Count(name, count) => self.writer.count(&about, name, count, now),
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
