//! Events that wait to be sent: in order for each object, several objects at a time.

use std::collections::{BTreeMap, VecDeque};

/// A queue with one lane for each addressee.
///
/// Promises: letters of one lane are given out one after the other, in the order in which they were put in; lanes take
/// turns, so that one with many letters holds up no other; no more letters wait than there is room for.
#[derive(Clone, Debug)]
pub struct Outbox<K, L> {
    lanes: BTreeMap<K, Lane<L>>,
    /// Lanes with letters of which none is on its way, in the order of their turns.
    ready: VecDeque<K>,
    waiting: usize,
    room: usize,
}

#[derive(Clone, Debug)]
struct Lane<L> {
    letters: VecDeque<L>,
    is_busy: bool,
}

impl<K: Ord + Clone, L> Outbox<K, L> {
    /// Holds at most `room` letters that wait.
    pub fn new(room: usize) -> Self {
        Self { lanes: BTreeMap::new(), ready: VecDeque::new(), waiting: 0, room }
    }

    /// Puts a letter at the end of a lane. Gives it back when there is no room.
    ///
    /// # Errors
    /// Returns the letter when too many wait.
    pub fn push(&mut self, lane: K, letter: L) -> Result<(), L> {
        if self.waiting >= self.room {
            return Err(letter);
        }
        self.waiting += 1;
        match self.lanes.get_mut(&lane) {
            Some(known) => known.letters.push_back(letter),
            None => {
                self.lanes.insert(lane.clone(), Lane { letters: VecDeque::from([letter]), is_busy: false });
                self.ready.push_back(lane);
            }
        }
        Ok(())
    }

    /// The next letter to send. Its lane gives no other before [`Outbox::sent`].
    pub fn take(&mut self) -> Option<(K, L)> {
        let key = self.ready.pop_front()?;
        let lane = self.lanes.get_mut(&key)?;
        let letter = lane.letters.pop_front()?;
        lane.is_busy = true;
        self.waiting -= 1;
        Some((key, letter))
    }

    /// Notes that the letter of this lane was sent, or was lost.
    pub fn sent(&mut self, key: K) {
        let Some(lane) = self.lanes.get_mut(&key).filter(|lane| lane.is_busy) else { return };
        lane.is_busy = false;
        if lane.letters.is_empty() {
            self.lanes.remove(&key);
        } else {
            self.ready.push_back(key);
        }
    }

    /// Returns how many letters wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// True when no letter waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lanes_take_turns_and_each_keeps_its_order() {
        let mut outbox = Outbox::new(10);
        for (lane, letter) in [("a", 1), ("a", 2), ("b", 3), ("a", 4)] {
            outbox.push(lane, letter).unwrap();
        }
        assert_eq!((outbox.take(), outbox.take()), (Some(("a", 1)), Some(("b", 3))));
        assert_eq!(outbox.take(), None, "one of each is on its way");
        outbox.sent("a");
        assert_eq!(outbox.take(), Some(("a", 2)));
        outbox.sent("a");
        outbox.sent("b");
        assert_eq!((outbox.take(), outbox.len()), (Some(("a", 4)), 0));
        outbox.sent("a");
        assert!(outbox.is_empty() && outbox.lanes.is_empty(), "nothing is kept of who has nothing to say");
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut outbox = Outbox::new(1);
        assert_eq!((outbox.push("a", 1), outbox.push("a", 2)), (Ok(()), Err(2)));
    }

    proptest! {
        #[test]
        fn every_letter_is_sent_once_and_in_the_order_of_its_lane(
            lanes in proptest::collection::vec(0..4_u8, 0..40),
            answers in proptest::collection::vec(any::<bool>(), 200),
        ) {
            let mut outbox = Outbox::new(100);
            let mut on_their_way: Vec<u8> = Vec::new();
            let mut sent: Vec<(u8, usize)> = Vec::new();
            for (number, lane) in lanes.iter().enumerate() {
                outbox.push(*lane, number).unwrap();
            }
            for is_answered in answers {
                if is_answered && !on_their_way.is_empty() {
                    outbox.sent(on_their_way.remove(0));
                }
                if let Some((lane, number)) = outbox.take() {
                    prop_assert!(!on_their_way.contains(&lane), "two of one lane at a time");
                    on_their_way.push(lane);
                    sent.push((lane, number));
                }
            }
            while let Some(lane) = on_their_way.pop() {
                outbox.sent(lane);
                while let Some((lane, number)) = outbox.take() {
                    on_their_way.push(lane);
                    sent.push((lane, number));
                }
            }
            prop_assert_eq!(sent.len(), lanes.len());
            for lane in 0..4 {
                let numbers: Vec<usize> = sent.iter().filter(|(of, _)| *of == lane).map(|(_, number)| *number).collect();
                prop_assert!(numbers.is_sorted());
            }
        }
    }
}
