//! The proxy's own knowledge of instances: who created them under which token, and which of them reads do not show yet.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::proxy::journal::Stats;

/// The tag that names the Machine that an instance is for.
pub const UID_TAG: &str = "machinist.dev/machine-uid";
/// The tag that names the cluster that an instance is for.
pub const CLUSTER_TAG: &str = "machinist.dev/cluster";

/// How late reads are. It holds for changes made while it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// So long after its creation an instance is not shown.
    pub creation: Duration,
    /// So long after a change an instance is shown as it was.
    pub change: Duration,
}

/// An instance that was made through the proxy.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    pub(crate) id: String,
    pub(crate) token: Option<String>,
    pub(crate) uid: Option<String>,
}

#[derive(Clone, Debug)]
struct Life {
    birth: Birth,
    visible_at: Timestamp,
    is_live: bool,
}

/// An instance or interface before its last change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Past<T> {
    was: T,
    until: Timestamp,
}

/// A state as answers have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) code: String,
    pub(crate) name: String,
}

#[derive(Debug)]
struct Prefix {
    text: String,
    visible_at: Timestamp,
}

/// The book of all that.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) lag: Lag,
    lives: BTreeMap<String, Life>,
    states: BTreeMap<String, Past<State>>,
    checks: BTreeMap<String, Past<bool>>,
    prefixes: BTreeMap<String, Vec<Prefix>>,
    prefixes_made: u32,
    replayed: u64,
    duplicates_ever: u64,
}

impl Ledger {
    pub(crate) fn born(&mut self, birth: Birth, now: Timestamp) {
        let life = Life { visible_at: after(now, self.lag.creation), is_live: true, birth };
        self.lives.insert(life.birth.id.clone(), life);
        self.duplicates_ever = self.duplicates_ever.max(self.duplicates());
    }

    pub(crate) fn replayed(&mut self) {
        self.replayed += 1;
    }

    /// It was terminated; reads may show its former state for a while.
    pub(crate) fn terminated(&mut self, id: &str, was: Option<State>, now: Timestamp) {
        if let Some(life) = self.lives.get_mut(id) {
            life.is_live = false;
        }
        if let Some(was) = was {
            self.states.insert(id.to_owned(), Past { was, until: after(now, self.lag.change) });
        }
    }

    /// Whether source and destination are checked at this interface was changed; it was otherwise before.
    pub(crate) fn check_changed(&mut self, interface: &str, was: bool, now: Timestamp) {
        self.checks.insert(interface.to_owned(), Past { was, until: after(now, self.lag.change) });
    }

    /// Gives an interface further prefixes.
    pub(crate) fn assign_prefixes(&mut self, interface: &str, count: u32, now: Timestamp) -> Vec<String> {
        let visible_at = after(now, self.lag.change);
        let first = self.prefixes_made + 1;
        self.prefixes_made += count;
        let texts: Vec<String> = (first..first + count).map(|n| format!("2001:db8:0:0:{n:x}::/80")).collect();
        let prefixes = texts.iter().map(|text| Prefix { text: text.clone(), visible_at });
        self.prefixes.entry(interface.to_owned()).or_default().extend(prefixes);
        texts
    }

    pub(crate) fn is_hidden(&self, id: &str, now: Timestamp) -> bool {
        self.lives.get(id).is_some_and(|life| now < life.visible_at)
    }

    /// The state that is shown instead of the real one.
    pub(crate) fn past_state(&self, id: &str, now: Timestamp) -> Option<&State> {
        self.states.get(id).filter(|past| now < past.until).map(|past| &past.was)
    }

    /// Returns the source/destination check that reads still show, in the place of the current one.
    pub(crate) fn past_check(&self, interface: &str, now: Timestamp) -> Option<bool> {
        self.checks.get(interface).filter(|past| now < past.until).map(|past| past.was)
    }

    pub(crate) fn prefixes(&self, interface: &str, now: Timestamp) -> Vec<&str> {
        let prefixes = self.prefixes.get(interface).into_iter().flatten();
        prefixes.filter(|prefix| prefix.visible_at <= now).map(|prefix| prefix.text.as_str()).collect()
    }

    pub(crate) fn shows_past_states(&self, now: Timestamp) -> bool {
        self.states.values().any(|past| now < past.until)
    }

    /// Whether moto's answers about instances are complete and true as they come.
    pub(crate) fn agrees_with_moto(&self, now: Timestamp) -> bool {
        !self.shows_past_states(now)
            && self.checks.is_empty()
            && self.prefixes.is_empty()
            && !self.lives.values().any(|life| now < life.visible_at)
    }

    /// Its part of the counts.
    pub(crate) fn count(&self, stats: &mut Stats) {
        for Life { birth, is_live, .. } in self.lives.values() {
            stats.created += 1;
            stats.terminated += u64::from(!is_live);
            if let Some(token) = &birth.token {
                *stats.created_by_token.entry(token.clone()).or_default() += 1;
            }
            if let Some(uid) = &birth.uid {
                *stats.created_by_uid.entry(uid.clone()).or_default() += 1;
            }
        }
        stats.replayed = self.replayed;
        stats.duplicates = self.duplicates();
        stats.duplicates_ever = self.duplicates_ever;
    }

    fn duplicates(&self) -> u64 {
        let live = self.lives.values().filter(|life| life.is_live);
        let mut by_uid: BTreeMap<&str, u64> = BTreeMap::new();
        for uid in live.filter_map(|life| life.birth.uid.as_deref()) {
            *by_uid.entry(uid).or_default() += 1;
        }
        by_uid.values().map(|count| count - 1).sum()
    }
}

fn after(now: Timestamp, wait: Duration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn birth(id: &str, uid: &str) -> Birth {
        Birth { id: id.to_owned(), token: Some(uid.to_owned()), uid: Some(uid.to_owned()) }
    }

    #[test]
    fn reads_are_late_by_the_lag_of_the_time_of_the_change() {
        let mut ledger = Ledger {
            lag: Lag { creation: Duration::from_secs(2), change: Duration::from_secs(3) },
            ..Ledger::default()
        };
        ledger.born(birth("i-1", "u"), at(10));
        ledger.lag = Lag::default();
        assert!(ledger.is_hidden("i-1", at(11)) && !ledger.is_hidden("i-1", at(12)));
        assert!(!ledger.agrees_with_moto(at(11)) && ledger.agrees_with_moto(at(12)));
        ledger.lag.change = Duration::from_secs(3);
        let running = State { code: "16".to_owned(), name: "running".to_owned() };
        ledger.terminated("i-1", Some(running.clone()), at(20));
        assert_eq!(ledger.past_state("i-1", at(22)), Some(&running));
        assert_eq!(ledger.past_state("i-1", at(23)), None);
    }

    #[test]
    fn two_live_instances_of_one_machine_are_a_duplicate_and_remembered() {
        let mut ledger = Ledger::default();
        for (id, uid) in [("i-1", "u"), ("i-2", "u"), ("i-3", "v")] {
            ledger.born(birth(id, uid), at(0));
        }
        ledger.terminated("i-1", None, at(1));
        let mut stats = Stats::default();
        ledger.count(&mut stats);
        assert_eq!((stats.duplicates, stats.duplicates_ever), (0, 1));
        assert_eq!((stats.created, stats.terminated, stats.created_by_uid["u"]), (3, 1, 2));
    }
}
