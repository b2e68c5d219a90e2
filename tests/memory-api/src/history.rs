//! What changed, and who watches.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::kinds::Kind;
use crate::refusal::Refusal;

/// Which objects a listing or watch is about.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) kind: &'static Kind,
    /// Empty: all.
    pub(crate) namespace: String,
    /// `name` or `name=value`, separated by commas.
    pub(crate) labels: String,
}

impl Scope {
    pub(crate) fn takes(&self, object: &Value) -> bool {
        let meta = &object["metadata"];
        let is_there = self.namespace.is_empty() || meta["namespace"] == self.namespace.as_str();
        is_there
            && self.labels.split(',').filter(|term| !term.is_empty()).all(|term| match term.split_once('=') {
                Some((name, value)) => meta["labels"][name] == value,
                None => meta["labels"].get(term).is_some(),
            })
    }
}

struct Change {
    kind: &'static Kind,
    version: u64,
    old: Option<Value>,
    new: Option<Value>,
}

impl Change {
    /// The event that a watcher of this scope sees.
    fn event(&self, scope: &Scope) -> Option<Value> {
        if scope.kind != self.kind {
            return None;
        }
        let was = self.old.as_ref().filter(|object| scope.takes(object));
        let is = self.new.as_ref().filter(|object| scope.takes(object));
        match (was, is) {
            (None, None) => None,
            (None, Some(new)) => Some(json!({ "type": "ADDED", "object": new })),
            (Some(_), Some(new)) => Some(json!({ "type": "MODIFIED", "object": new })),
            (Some(old), None) => {
                let mut object = self.new.clone().unwrap_or_else(|| old.clone());
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                Some(json!({ "type": "DELETED", "object": object }))
            }
        }
    }
}

/// An event, and when it arrives.
pub(crate) type Delivery = (Instant, Value);

struct Watcher {
    actor: String,
    scope: Scope,
    outbox: mpsc::UnboundedSender<Delivery>,
}

/// All changes in order, and those who are told of them.
#[derive(Default)]
pub(crate) struct History {
    changes: Vec<Change>,
    watchers: Vec<Watcher>,
    forgotten: u64,
    /// How long an event is on its way.
    pub(crate) lag: Duration,
}

impl History {
    pub(crate) fn add(&mut self, kind: &'static Kind, version: u64, old: Option<Value>, new: Option<Value>) {
        let change = Change { kind, version, old, new };
        let due = Instant::now() + self.lag;
        // Who is not there any more is forgotten.
        self.watchers.retain(|watcher| match change.event(&watcher.scope) {
            Some(event) => watcher.outbox.send((due, event)).is_ok(),
            None => !watcher.outbox.is_closed(),
        });
        self.changes.push(change);
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
        for change in self.changes.iter().filter(|change| change.version > from) {
            if let Some(event) = change.event(&scope) {
                outbox.send((due, event)).unwrap();
            }
        }
        self.watchers.push(Watcher { actor: actor.to_owned(), scope, outbox });
        Ok(inbox)
    }

    /// Ends all watches of an actor, at most those of one resource where it is given.
    pub(crate) fn drop_watches(&mut self, actor: &str, plural: Option<&str>) {
        self.watchers.retain(|watcher| {
            watcher.actor != actor || plural.is_some_and(|plural| watcher.scope.kind.plural != plural)
        });
    }

    /// Forgets what happened: who watches from before must list anew.
    pub(crate) fn compact(&mut self, version: u64) {
        self.forgotten = version;
        self.changes.clear();
    }
}
