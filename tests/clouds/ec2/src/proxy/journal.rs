//! The requests so far, and their counts.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

/// Older requests are forgotten (the counts are not).
const ENTRIES: usize = 100_000;

/// A request, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it came, by the proxy's clock.
    pub at: Timestamp,
    /// Its `Action`; empty if it had none.
    pub action: String,
    /// The caller's account; empty if it was not accepted.
    pub account: String,
    /// The access key id that it was signed with; empty if it was not accepted.
    pub access_key_id: String,
    /// The region that it was signed for; empty if it was not accepted.
    pub region: String,
    /// `ok`, the code of the error, or `html`; `lost` for an answer that did not leave or a request that did not
    /// arrive.
    pub outcome: String,
    pub parameters: BTreeMap<String, String>,
    /// The names of its headers, in order.
    pub headers: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests by action and outcome.
    pub requests: BTreeMap<String, BTreeMap<String, u64>>,
    /// Instances created through the proxy.
    pub created: u64,
    /// Instances created through the proxy that were terminated, however.
    pub terminated: u64,
    /// Instances created by ClientToken.
    pub created_by_token: BTreeMap<String, u64>,
    /// Instances created by the tag of the Machine's uid.
    pub created_by_uid: BTreeMap<String, u64>,
    /// RunInstances that were answered with an instance that was there.
    pub replayed: u64,
    /// Instances that live beside an older one of the same Machine.
    pub duplicates: u64,
    /// The most of these that there were at one time.
    pub duplicates_ever: u64,
    /// How often each fault rule fired.
    pub faults_fired: BTreeMap<String, u64>,
}

impl Stats {
    /// All requests of an action.
    pub fn requests_of(&self, action: &str) -> u64 {
        self.requests.get(action).into_iter().flat_map(BTreeMap::values).sum()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: VecDeque<Entry>,
    counts: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Journal {
    pub(crate) fn write(&mut self, entry: Entry) {
        *self.counts.entry(entry.action.clone()).or_default().entry(entry.outcome.clone()).or_default() += 1;
        if self.entries.len() == ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.iter().cloned().collect()
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        self.counts.clone()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
