//! A value whose changes become visible late, as reads of an eventually consistent store see it.

use std::collections::VecDeque;

use jiff::Timestamp;

/// Versions of a value, each with the time from which reads see it.
#[derive(Debug)]
pub(crate) struct Lagged<T> {
    versions: VecDeque<(Timestamp, T)>,
}

impl<T> Lagged<T> {
    pub(crate) fn new() -> Self {
        Self { versions: VecDeque::with_capacity(1) }
    }

    /// Adds the newest version.
    pub(crate) fn push(&mut self, visible_from: Timestamp, value: T) {
        self.versions.push_back((visible_from, value));
    }

    /// The newest version that is visible; none before the first one is.
    pub(crate) fn get(&self, now: Timestamp) -> Option<&T> {
        self.versions.iter().rev().find(|(visible_from, _)| *visible_from <= now).map(|(_, value)| value)
    }

    /// Forgets the versions that no read will see again.
    pub(crate) fn prune(&mut self, now: Timestamp) {
        if let Some(newest_visible) = self.versions.iter().rposition(|(visible_from, _)| *visible_from <= now)
        {
            self.versions.drain(..newest_visible);
        }
    }

    /// The version that was written last, whether visible or not.
    pub(crate) fn newest(&self) -> Option<&T> {
        self.versions.back().map(|(_, value)| value)
    }

    /// The versions that are still held.
    pub(crate) fn held(&self) -> impl Iterator<Item = &T> {
        self.versions.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_change_is_seen_from_its_time_on_and_never_unseen() {
        let mut value = Lagged::new();
        value.push(at(10), "created");
        value.push(at(20), "changed");
        assert_eq!(value.get(at(9)), None);
        assert_eq!(value.get(at(10)), Some(&"created"));
        assert_eq!(value.get(at(20)), Some(&"changed"));
        value.push(at(15), "written later, seen sooner");
        assert_eq!(value.get(at(15)), Some(&"written later, seen sooner"));
        assert_eq!(value.get(at(30)), Some(&"written later, seen sooner"));
    }

    #[test]
    fn pruning_changes_no_later_read() {
        let mut value = Lagged::new();
        for second in 1..10 {
            value.push(at(second), second);
        }
        value.prune(at(5));
        assert_eq!(value.held().copied().collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
        assert_eq!(value.get(at(5)), Some(&5));
        assert_eq!(value.get(at(7)), Some(&7));
    }
}
