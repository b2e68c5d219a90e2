//! Which drains ask for something at the moment. A thousand that all ask a little hinder each other: few that are through
//! with it soon, and then the next, are as fast as the API server is.

use std::collections::BTreeMap;

/// A limited number of turns, and who waits for one, first come first served.
///
/// Promises: at most as many turns as the limit are taken at a time; who waits keeps the place in the line until it has had its
/// turn; nobody waits while a turn is free and [`DrainSlots::give_back`] is heeded.
///
/// The size is bounded by the number of those who drain.
#[derive(Clone, Debug)]
pub struct DrainSlots<K> {
    limit: usize,
    taken: usize,
    next: u64,
    /// The place in the line of each that was sent away, until it has its turn.
    places: BTreeMap<K, u64>,
    /// Those of them that nobody has called since.
    uncalled: BTreeMap<u64, K>,
}

impl<K: Ord + Clone> DrainSlots<K> {
    /// So many at a time.
    pub fn new(limit: usize) -> Self {
        Self { limit, taken: 0, next: 0, places: BTreeMap::new(), uncalled: BTreeMap::new() }
    }

    /// True when it is its turn, which lasts until [`DrainSlots::give_back`]. Otherwise it stands in line and is called.
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

    /// A turn is over. Whom to call: as many as there is room for, those first that have waited longest.
    pub fn give_back(&mut self) -> Vec<K> {
        self.taken = self.taken.saturating_sub(1);
        self.call()
    }

    /// It waits no more. Whom to call in its place, where it was called and has not come.
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
