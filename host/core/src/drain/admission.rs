//! Limits how many drains send requests at once. A thousand drains that all send a few requests hinder each other; a
//! few at a time, then the next, are as fast as the API server is.

use std::collections::BTreeMap;

/// A limited number of slots, and a first-in, first-out queue of the drains that wait for one.
///
/// Promises: at most as many slots as the limit are taken at a time; a queued drain keeps its position until it gets a
/// slot; none waits while a slot is free, if the caller wakes those that [`DrainSlots::give_back`] returns.
///
/// The size is bounded by the number of drains.
#[derive(Clone, Debug)]
pub struct DrainSlots<K> {
    limit: usize,
    taken: usize,
    next: u64,
    /// The queue position of each drain that was refused, until it gets a slot.
    places: BTreeMap<K, u64>,
    /// Those of them that were not woken since.
    uncalled: BTreeMap<u64, K>,
}

impl<K: Ord + Clone> DrainSlots<K> {
    /// Returns a queue with this many slots.
    pub fn new(limit: usize) -> Self {
        Self { limit, taken: 0, next: 0, places: BTreeMap::new(), uncalled: BTreeMap::new() }
    }

    /// Returns true when the drain gets a slot, which it has until [`DrainSlots::give_back`]. Otherwise it is queued
    /// and woken later.
    pub fn take(&mut self, who: &K) -> bool {
        if self.taken < self.limit {
            self.taken += 1;
            self.forget(who);
            return true;
        }
        let place = *self.places.entry(who.clone()).or_insert(self.next);
        self.next += 1;
        self.uncalled.insert(place, who.clone());
        false
    }

    /// Frees a slot. Returns the drains to wake: as many as there are slots, those first that have waited longest.
    pub fn give_back(&mut self) -> Vec<K> {
        self.taken = self.taken.saturating_sub(1);
        self.call()
    }

    /// Removes a drain. Returns the drains to wake in its place, where it was woken and has not come.
    pub fn leave(&mut self, who: &K) -> Vec<K> {
        let was_called = self.places.remove(who).is_some_and(|place| self.uncalled.remove(&place).is_none());
        if was_called { self.call() } else { Vec::new() }
    }

    fn forget(&mut self, who: &K) {
        if let Some(place) = self.places.remove(who) {
            self.uncalled.remove(&place);
        }
    }

    fn call(&mut self) -> Vec<K> {
        let free = self.limit.saturating_sub(self.taken);
        std::iter::from_fn(|| self.uncalled.pop_first()).take(free).map(|(_, who)| who).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_first_is_called_first_as_many_as_there_is_room_for() {
        let mut turns = DrainSlots::new(2);
        assert!(turns.take(&"a") && turns.take(&"b"));
        assert!(!turns.take(&"c") && !turns.take(&"d") && !turns.take(&"e"));
        assert!(!turns.take(&"c"), "to ask again does not cost the place");
        assert_eq!(turns.give_back(), ["c"]);
        assert!(turns.take(&"c"));
        assert_eq!(turns.give_back(), ["d"]);
        assert_eq!(turns.give_back(), ["e"], "whoever was called and has not come is not called again");
        assert!(turns.take(&"d") && turns.take(&"e") && !turns.take(&"f"));
    }

    #[test]
    fn who_was_called_and_came_late_keeps_its_place() {
        let mut turns = DrainSlots::new(1);
        assert!(turns.take(&"a") && !turns.take(&"late") && !turns.take(&"next"));
        assert_eq!(turns.give_back(), ["late"]);
        assert!(turns.take(&"quick") && !turns.take(&"late"));
        assert_eq!(turns.give_back(), ["late"]);
    }

    #[test]
    fn who_was_called_and_leaves_gives_the_place_to_the_next_at_once() {
        let mut turns = DrainSlots::new(1);
        assert!(turns.take(&"a") && !turns.take(&"edited") && !turns.take(&"next") && !turns.take(&"last"));
        assert_eq!(turns.give_back(), ["edited"]);
        assert_eq!(turns.leave(&"edited"), ["next"]);
        assert!(turns.leave(&"edited").is_empty(), "it is in no line any more");
        assert!(turns.take(&"next"));
        assert_eq!(turns.give_back(), ["last"]);
    }

    #[test]
    fn who_waits_no_more_is_not_called_and_nothing_of_it_stays() {
        let mut turns = DrainSlots::new(1);
        assert!(turns.take(&"a") && !turns.take(&"gone") && !turns.take(&"b"));
        assert!(turns.leave(&"gone").is_empty(), "its turn had not come");
        assert_eq!(turns.give_back(), ["b"]);
        assert!(turns.take(&"b") && turns.places.is_empty() && turns.uncalled.is_empty());
        assert!(turns.give_back().is_empty() && turns.give_back().is_empty());
        assert!(turns.take(&"c") && !turns.take(&"d"), "a turn that nobody had is not given back");
    }
}
