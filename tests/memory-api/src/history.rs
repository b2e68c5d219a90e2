//! The history of changes, and its watchers.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::kinds::Kind;
use crate::object::Shared;
use crate::refusal::Refusal;
use crate::scope::Scope;

struct HistoryEntry {
    kind: &'static Kind,
    version: u64,
    old: Option<Shared>,
    new: Option<Shared>,
}

impl HistoryEntry {
    /// The event that a watcher of this scope sees, as a line.
    fn event(&self, scope: &Scope) -> Option<String> {
        if scope.kind != self.kind {
            return None;
        }
        let was = self.old.as_ref().filter(|object| scope.takes(object));
        let is = self.new.as_ref().filter(|object| scope.takes(object));
        match (was, is) {
            (None, None) => None,
            (None, Some(new)) => Some(line("ADDED", new.text())),
            (Some(_), Some(new)) => Some(line("MODIFIED", new.text())),
            (Some(old), None) => {
                let mut object: Value = Value::clone(self.new.as_ref().unwrap_or(old));
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                Some(line("DELETED", &object.to_string()))
            }
        }
    }
}

fn line(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

/// A bookmark: everything up to this version has been sent.
pub(crate) fn bookmark(kind: &Kind, version: u64) -> String {
    let metadata = json!({ "resourceVersion": version.to_string() });
    let object = json!({ "apiVersion": kind.api_version(), "kind": kind.name, "metadata": metadata });
    line("BOOKMARK", &object.to_string())
}

/// An event, and when it arrives.
pub(crate) type Delivery = (Instant, String);

struct Watcher {
    actor: String,
    scope: Scope,
    outbox: mpsc::UnboundedSender<Delivery>,
}

/// All changes in order, and their watchers.
pub(crate) struct History {
    changes: VecDeque<HistoryEntry>,
    /// How many changes are remembered.
    pub(crate) limit: usize,
    watchers: Vec<Watcher>,
    forgotten: u64,
    /// How long an event is on its way.
    pub(crate) lag: Duration,
}

impl Default for History {
    fn default() -> Self {
        let (changes, watchers) = (VecDeque::new(), Vec::new());
        Self { changes, limit: 100_000, watchers, forgotten: 0, lag: Duration::ZERO }
    }
}

impl History {
    pub(crate) fn add(
        &mut self,
        kind: &'static Kind,
        version: u64,
        old: Option<Shared>,
        new: Option<Shared>,
    ) {
        let change = HistoryEntry { kind, version, old, new };
        let due = Instant::now() + self.lag;
        // A watcher that has left is forgotten.
        self.watchers.retain(|watcher| match change.event(&watcher.scope) {
            Some(event) => watcher.outbox.send((due, event)).is_ok(),
            None => !watcher.outbox.is_closed(),
        });
        self.changes.push_back(change);
        while self.changes.len() > self.limit {
            self.forgotten = self.changes.pop_front().map_or(self.forgotten, |change| change.version);
        }
    }

    /// Watches from a version on.
    pub(crate) fn watch(
        &mut self,
        actor: &str,
        scope: Scope,
        from: u64,
    ) -> Result<mpsc::UnboundedReceiver<Delivery>, Refusal> {
        if from < self.forgotten {
            return Err(Refusal::expired());
        }
        let (outbox, inbox) = mpsc::unbounded_channel();
        let due = Instant::now() + self.lag;
        let known = self.changes.partition_point(|change| change.version <= from);
        for change in self.changes.iter().skip(known) {
            if let Some(event) = change.event(&scope) {
                outbox.send((due, event)).unwrap();
            }
        }
        self.watchers.push(Watcher { actor: actor.to_owned(), scope, outbox });
        Ok(inbox)
    }

    /// The objects of a kind that changed after a version, latest first, as they were before. Empty where that is
    /// forgotten.
    pub(crate) fn before(
        &self,
        kind: &'static Kind,
        version: u64,
    ) -> impl Iterator<Item = (Option<&Shared>, Option<&Shared>)> {
        let changes = self.changes.iter().rev().take_while(move |change| change.version > version);
        changes
            .filter(move |change| change.kind == kind)
            .map(|change| (change.old.as_ref(), change.new.as_ref()))
    }

    /// The version before the last `changes` changes, as far as they are remembered.
    pub(crate) fn version_back(&self, changes: usize) -> Option<u64> {
        let at = self.changes.len().checked_sub(changes.max(1))?;
        self.changes.get(at).map(|change| change.version - 1)
    }

    /// Ends all watches of an actor, at most those of one resource where it is given.
    pub(crate) fn drop_watches(&mut self, actor: &str, plural: Option<&str>) {
        self.watchers.retain(|watcher| {
            watcher.actor != actor || plural.is_some_and(|plural| watcher.scope.kind.plural != plural)
        });
    }

    /// Forgets the past: watchers from before must list again.
    pub(crate) fn compact(&mut self, version: u64) {
        self.forgotten = version;
        self.changes.clear();
    }
}
