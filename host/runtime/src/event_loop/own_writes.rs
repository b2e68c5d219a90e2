//! Which events of Machines are echoes of what a pass wrote itself.
//!
//! A pass says when to look again, and knows what it wrote. Its own writes must not wake it earlier, or a create that is to
//! be tried again in ten minutes would be tried again at once.

use std::collections::{BTreeMap, BTreeSet};

use machinist_core::scheduling::queue::Priority;

use super::Key;

/// Echoes, by key.
#[derive(Debug, Default)]
pub(super) struct OwnWrites {
    /// Versions that the last pass wrote and that no event has shown yet.
    awaited: BTreeMap<Key, BTreeSet<String>>,
    /// Events that came while a pass ran: which of them are echoes is known when it ends.
    during: BTreeMap<Key, Vec<(String, Priority)>>,
}

impl OwnWrites {
    /// A pass begins.
    pub(super) fn begin(&mut self, key: &Key) {
        self.during.insert(key.clone(), Vec::new());
    }

    /// An event of this version. True when it must wake the key now.
    pub(super) fn is_foreign(&mut self, key: &Key, version: &str, priority: Priority) -> bool {
        if let Some(during) = self.during.get_mut(key) {
            during.push((version.to_owned(), priority));
            return false;
        }
        !self.awaited.get_mut(key).is_some_and(|awaited| awaited.remove(version))
    }

    /// A pass has ended that wrote these versions. The most urgent event that was no echo, if there was one.
    pub(super) fn end<'a>(&mut self, key: &Key, wrote: impl Iterator<Item = &'a String>) -> Option<Priority> {
        let mut awaited: BTreeSet<String> = wrote.cloned().collect();
        let during = self.during.remove(key).unwrap_or_default();
        let events = during
            .into_iter()
            .filter(|(version, _)| !awaited.remove(version))
            .map(|(_, priority)| priority)
            .max();
        if awaited.is_empty() {
            self.awaited.remove(key);
        } else {
            self.awaited.insert(key.clone(), awaited);
        }
        events
    }

    /// The object is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.awaited.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_core::value::id::ObjectKey;

    fn key() -> Key {
        Key::Machine(ObjectKey::new("n", "m"))
    }

    #[test]
    fn an_own_write_does_not_requeue_during_the_reconcile_or_after_it() {
        let mut own = OwnWrites::default();
        own.begin(&key());
        assert!(!own.is_foreign(&key(), "7", Priority::Event));
        let wrote = ["7".to_owned(), "8".to_owned()];
        assert_eq!(own.end(&key(), wrote.iter()), None);
        assert!(!own.is_foreign(&key(), "8", Priority::Event));
        assert!(own.is_foreign(&key(), "9", Priority::Event));
    }

    #[test]
    fn a_foreign_change_during_a_reconcile_requeues_after_it() {
        let mut own = OwnWrites::default();
        own.begin(&key());
        assert!(!own.is_foreign(&key(), "5", Priority::Deletion));
        assert!(!own.is_foreign(&key(), "6", Priority::Event));
        assert_eq!(own.end(&key(), ["6".to_owned()].iter()), Some(Priority::Deletion));
    }
}
