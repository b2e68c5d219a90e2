//! The deltas of the cloud, for readers that follow it without polling every VM.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::wire::Address;

/// An event of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// It was created and boots.
    Created,
    Running,
    /// It was rebooted and runs again, with the next boot id.
    Rebooted,
    /// It was deleted and shuts down.
    Stopping,
    /// It does not exist any more.
    Terminated,
    /// The reader missed events: forget everything, what follows is the whole truth.
    Reset,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Grows by one with each event. Lines of a snapshot carry the number of the last event before it.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: EventKind,
    /// The VM; absent for a reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<Arc<EventVm>>,
}

/// The parts of a VM that its kubelet needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventVm {
    pub id: String,
    /// The account that it belongs to.
    pub account: String,
    pub name: String,
    pub region: String,
    pub zone: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub cpus: u32,
    pub memory_gib: u32,
    pub gpus: u32,
    pub addresses: Vec<Address>,
    pub tags: BTreeMap<String, String>,
    /// Grows with each boot.
    pub boot_id: u32,
}

/// An answer to "what happened since?".
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Changes {
    /// The deltas, oldest first.
    pub events: Vec<Event>,
    /// The cursor of the next request.
    pub next: u64,
}

/// The last events, up to a limit.
#[derive(Debug)]
pub(crate) struct Journal {
    events: VecDeque<Event>,
    head: u64,
    limit: usize,
}

impl Journal {
    pub(crate) fn new(limit: usize) -> Self {
        Self { events: VecDeque::new(), head: 0, limit: limit.max(1) }
    }

    pub(crate) fn push(&mut self, at: Timestamp, kind: EventKind, vm: Arc<EventVm>) {
        self.head += 1;
        if self.events.len() == self.limit {
            self.events.pop_front();
        }
        self.events.push_back(Event { seq: self.head, at, kind, vm: Some(vm) });
    }

    /// The number of the last event.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// Up to `limit` events after `since`; none if they are not held any more.
    pub(crate) fn since(&self, since: u64, limit: usize) -> Option<Changes> {
        let first_held = self.head + 1 - self.events.len() as u64;
        if since > self.head || since + 1 < first_held {
            return None;
        }
        let skip = usize::try_from(since + 1 - first_held).ok()?;
        let events: Vec<Event> = self.events.range(skip..).take(limit).cloned().collect();
        let next = events.last().map_or(since, |event| event.seq);
        Some(Changes { events, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(limit: usize, events: u64) -> Journal {
        let mut journal = Journal::new(limit);
        let vm = Arc::new(EventVm {
            id: "vm-1".to_owned(),
            account: String::new(),
            name: String::new(),
            region: String::new(),
            zone: String::new(),
            kind: String::new(),
            cpus: 1,
            memory_gib: 1,
            gpus: 0,
            addresses: Vec::new(),
            tags: BTreeMap::new(),
            boot_id: 1,
        });
        for _ in 0..events {
            journal.push(Timestamp::UNIX_EPOCH, EventKind::Created, Arc::clone(&vm));
        }
        journal
    }

    fn seqs(changes: Option<Changes>) -> Option<(Vec<u64>, u64)> {
        changes.map(|changes| (changes.events.iter().map(|event| event.seq).collect(), changes.next))
    }

    #[test]
    fn a_reader_gets_each_event_once_and_learns_when_it_missed_some() {
        let journal = journal(3, 5);
        assert_eq!(seqs(journal.since(1, 10)), None, "event 2 is gone");
        assert_eq!(seqs(journal.since(2, 10)), Some((vec![3, 4, 5], 5)));
        assert_eq!(seqs(journal.since(3, 1)), Some((vec![4], 4)));
        assert_eq!(seqs(journal.since(5, 10)), Some((vec![], 5)));
        assert_eq!(seqs(journal.since(6, 10)), None, "another cloud's number");
    }

    #[test]
    fn an_empty_journal_has_nothing_since_zero() {
        assert_eq!(seqs(journal(3, 0).since(0, 10)), Some((vec![], 0)));
    }
}
