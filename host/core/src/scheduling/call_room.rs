//! Limits the number of objects in driver calls, and queues the others.

use std::collections::{BTreeSet, VecDeque};

/// A limit with a queue.
///
/// Promises: never more keys are inside than the limit; a queued key is called when there is room, first in, first out;
/// no key overtakes queued ones; an operation takes time logarithmic in the number of keys, except
/// [`CallRoom::forget`].
#[derive(Clone, Debug)]
pub struct CallRoom<K> {
    most: usize,
    inside: BTreeSet<K>,
    /// Keys that were called and have not entered yet. Room is reserved for them.
    called: BTreeSet<K>,
    line: VecDeque<K>,
    in_line: BTreeSet<K>,
}

impl<K: Ord + Clone> CallRoom<K> {
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            inside: BTreeSet::new(),
            called: BTreeSet::new(),
            line: VecDeque::new(),
            in_line: BTreeSet::new(),
        }
    }

    /// Returns true when `key` is inside now; otherwise it is queued.
    pub fn enter(&mut self, key: &K) -> bool {
        let is_called = self.called.remove(key);
        let has_room = self.inside.len() + self.called.len() < self.most;
        if self.inside.contains(key) || is_called || (has_room && self.line.is_empty()) {
            self.inside.insert(key.clone());
            return true;
        }
        if self.in_line.insert(key.clone()) {
            self.line.push_back(key.clone());
        }
        false
    }

    /// Removes `key`, which was inside, or was called and does not enter. Returns the key that is called instead.
    pub fn leave(&mut self, key: &K) -> Option<K> {
        let has_left = self.inside.remove(key) | self.called.remove(key);
        if has_left { self.call() } else { None }
    }

    /// Forgets `key`. Returns the key that is called instead.
    pub fn forget(&mut self, key: &K) -> Option<K> {
        if self.in_line.remove(key) {
            self.line.retain(|waiting| waiting != key);
        }
        // A running call ends later.
        if self.called.remove(key) { self.call() } else { None }
    }

    /// Returns true when there are no keys.
    pub fn is_empty(&self) -> bool {
        self.inside.is_empty() && self.called.is_empty() && self.line.is_empty()
    }

    fn call(&mut self) -> Option<K> {
        if self.inside.len() + self.called.len() >= self.most {
            return None;
        }
        let next = self.line.pop_front()?;
        self.in_line.remove(&next);
        self.called.insert(next.clone());
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_bounded_and_those_outside_come_in_their_order() {
        let mut room = CallRoom::new(2);
        assert!(room.enter(&'a') && room.enter(&'b'));
        assert!(!room.enter(&'c') && !room.enter(&'d') && !room.enter(&'c'));
        assert_eq!(room.leave(&'a'), Some('c'));
        assert!(!room.enter(&'e'), "the room is kept for the one that was called");
        assert!(room.enter(&'c'));
        assert_eq!((room.leave(&'b'), room.leave(&'c')), (Some('d'), Some('e')));
        assert!(room.enter(&'d') && room.enter(&'e'));
        assert_eq!((room.leave(&'d'), room.leave(&'e')), (None, None));
        assert!(room.is_empty());
    }

    #[test]
    fn one_that_was_called_and_does_not_come_lets_the_next_one_in() {
        let mut room = CallRoom::new(1);
        assert!(room.enter(&1) && !room.enter(&2) && !room.enter(&3) && !room.enter(&4));
        assert_eq!(room.leave(&1), Some(2));
        assert_eq!(room.leave(&2), Some(3), "it came, and had nothing to ask");
        assert_eq!(room.forget(&3), Some(4), "it is gone");
        assert_eq!(room.forget(&4), None);
        assert!(room.is_empty() && room.enter(&5));
    }

    #[test]
    fn one_that_is_gone_waits_in_no_line() {
        let mut room = CallRoom::new(1);
        assert!(room.enter(&1) && !room.enter(&2) && !room.enter(&3));
        assert_eq!(room.forget(&2), None);
        assert_eq!(room.forget(&1), None, "its call goes on");
        assert_eq!(room.leave(&1), Some(3));
        assert_eq!(room.leave(&7), None, "it was never here");
    }
}
