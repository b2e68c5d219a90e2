//! The queue: which key is reconciled next.
//!
//! The queue is the only clock of the controllers: a reconcile that waits pushes its key with the time of the next one,
//! and ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

/// The priority of a reconcile. Among the keys that are due, a higher priority always comes first.
///
/// The order is strict, without ageing: the delay by a higher priority is bounded by the number of keys, since a key is
/// queued once and its retries grow apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A periodic resync, and timers of objects that only wait.
    Resync,
    /// A related object changed: its Node, its class, its Secret.
    Event,
    /// A user or another controller changed the spec.
    Edit,
    /// The object is being deleted: it costs money and blocks others until it is gone.
    Deletion,
}

/// A request for a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QueueRequest {
    due: Timestamp,
    priority: Priority,
}

impl QueueRequest {
    /// Merges both requests: the earlier time, the higher priority.
    fn merge(self, other: Self) -> Self {
        Self { due: self.due.min(other.due), priority: self.priority.max(other.priority) }
    }
}

/// A key that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due<K> {
    pub key: K,
    /// The highest priority of its requests.
    pub priority: Priority,
    /// How long the key has been due.
    pub waited: SignedDuration,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    wish: QueueRequest,
    /// The number of the first push of this request, which orders otherwise equal ones.
    seq: u64,
    /// In `ready` instead of `later`.
    is_ready: bool,
}

/// Keys ordered by due time and priority, one reconcile a key at a time.
///
/// Promises: a key is queued at most once; a key that runs is not given out again before [`Queue::done`]; a push is
/// never lost; [`Queue::pop`] gives the most urgent key of those that are due, then the earliest due, then the first
/// pushed; each operation takes time logarithmic in the number of keys.
///
/// Assumes that the caller's clock mostly goes forward. When it goes back, a key that was seen to be due stays due.
///
/// The size is bounded by the number of distinct keys, hence by the number of objects.
#[derive(Clone, Debug)]
pub struct Queue<K> {
    waiting: BTreeMap<K, Waiting>,
    later: BTreeSet<(Timestamp, u64, K)>,
    ready: BTreeSet<(Reverse<Priority>, Timestamp, u64, K)>,
    /// The keys that are being reconciled, each with the request that came meanwhile.
    running: BTreeMap<K, Option<QueueRequest>>,
    next_seq: u64,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            later: BTreeSet::new(),
            ready: BTreeSet::new(),
            running: BTreeMap::new(),
            next_seq: 0,
        }
    }
}

impl<K: Ord + Clone> Queue<K> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests a reconcile of `key` at `due`.
    ///
    /// A request that is already queued for the key keeps its time and priority where they are earlier or higher. While
    /// the key runs, the request is remembered and takes effect with [`Queue::done`].
    pub fn push(&mut self, key: K, due: Timestamp, priority: Priority) {
        let wish = QueueRequest { due, priority };
        if let Some(remembered) = self.running.get_mut(&key) {
            *remembered = Some(remembered.map_or(wish, |earlier| earlier.merge(wish)));
            return;
        }
        self.enqueue(key, wish);
    }

    /// Returns the next key, and marks it as running; `None` when nothing is due.
    pub fn pop(&mut self, now: Timestamp) -> Option<K> {
        self.pop_due(now).map(|due| due.key)
    }

    /// As [`Queue::pop`], with the request.
    pub fn pop_due(&mut self, now: Timestamp) -> Option<Due<K>> {
        self.promote(now);
        let (Reverse(priority), due, _, key) = self.ready.pop_first()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone(), None);
        Some(Due { key, priority, waited: now.duration_since(due).max(SignedDuration::ZERO) })
    }

    /// Returns when `key` is due, also after the running reconcile; `None` without a request.
    pub fn due(&self, key: &K) -> Option<Timestamp> {
        let after_this_pass = self.running.get(key).copied().flatten();
        self.waiting.get(key).map(|waiting| waiting.wish).or(after_this_pass).map(|wish| wish.due)
    }

    /// Returns the keys that were due at the last [`Queue::pop`].
    pub fn due_keys(&self) -> impl Iterator<Item = &K> {
        self.ready.iter().map(|(_, _, _, key)| key)
    }

    /// Ends the reconcile of `key`. Requests that were pushed meanwhile are queued, not before `now`, so that a key
    /// with many events queues behind those that have waited. Does nothing for a key that is not running.
    pub fn done(&mut self, key: &K, now: Timestamp) {
        let Some((key, remembered)) = self.running.remove_entry(key) else { return };
        if let Some(wish) = remembered {
            self.enqueue(key, QueueRequest { due: wish.due.max(now), ..wish });
        }
    }

    /// Returns when [`Queue::pop`] returns the next key, which may be in the past; `None` while nothing waits.
    ///
    /// A push can make it earlier, and so can [`Queue::done`].
    pub fn next_due(&self) -> Option<Timestamp> {
        match self.ready.first() {
            Some((_, due, _, _)) => Some(*due),
            None => self.later.first().map(|(due, _, _)| *due),
        }
    }

    /// Forgets all requests for `key`. A running reconcile continues and still ends with [`Queue::done`].
    pub fn remove(&mut self, key: &K) {
        if let Some(waiting) = self.waiting.remove(key) {
            self.unlink(key.clone(), waiting);
        }
        if let Some(remembered) = self.running.get_mut(key) {
            *remembered = None;
        }
    }

    /// Returns how many keys wait. Running ones do not count, even with a request.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True when no key waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many keys run.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns how many keys were due at the last [`Queue::pop`]: the backlog.
    pub fn backlog(&self) -> usize {
        self.ready.len()
    }

    /// Returns true while `key` is being reconciled.
    pub fn is_running(&self, key: &K) -> bool {
        self.running.contains_key(key)
    }

    fn enqueue(&mut self, key: K, wish: QueueRequest) {
        let waiting = match self.waiting.remove(&key) {
            Some(earlier) => {
                self.unlink(key.clone(), earlier);
                Waiting { wish: earlier.wish.merge(wish), ..earlier }
            }
            None => {
                let seq = self.next_seq;
                self.next_seq += 1;
                Waiting { wish, seq, is_ready: false }
            }
        };
        self.link(key.clone(), waiting);
        self.waiting.insert(key, waiting);
    }

    fn promote(&mut self, now: Timestamp) {
        while self.later.first().is_some_and(|(due, _, _)| *due <= now) {
            let Some((due, seq, key)) = self.later.pop_first() else { return };
            let Some(waiting) = self.waiting.get_mut(&key) else { continue };
            waiting.is_ready = true;
            self.ready.insert((Reverse(waiting.wish.priority), due, seq, key));
        }
    }

    fn link(&mut self, key: K, Waiting { wish, seq, is_ready }: Waiting) {
        if is_ready {
            self.ready.insert((Reverse(wish.priority), wish.due, seq, key));
        } else {
            self.later.insert((wish.due, seq, key));
        }
    }

    fn unlink(&mut self, key: K, Waiting { wish, seq, is_ready }: Waiting) {
        if is_ready {
            self.ready.remove(&(Reverse(wish.priority), wish.due, seq, key));
        } else {
            self.later.remove(&(wish.due, seq, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_key_says_when_it_is_due_and_how_long_it_has_been() {
        let mut queue = Queue::new();
        queue.push("a", at(5), Priority::Event);
        queue.push("b", at(9), Priority::Event);
        assert_eq!(queue.due(&"a"), Some(at(5)));
        assert_eq!(queue.due(&"c"), None);
        let due =
            |key, priority, seconds| Some(Due { key, priority, waited: SignedDuration::from_secs(seconds) });
        assert_eq!(queue.pop_due(at(7)), due("a", Priority::Event, 2));
        assert_eq!(queue.due(&"a"), None);
        queue.push("a", at(8), Priority::Edit);
        assert_eq!(queue.due(&"a"), Some(at(8)), "what is wished for during a pass counts");
        assert_eq!(queue.pop_due(at(10)), due("b", Priority::Event, 1));
        queue.push("d", at(10), Priority::Edit);
        queue.push("e", at(11), Priority::Edit);
        queue.push("f", at(10), Priority::Deletion);
        assert_eq!(queue.pop(at(10)), Some("f"));
        assert_eq!(queue.due_keys().copied().collect::<Vec<_>>(), ["d"]);
    }

    #[test]
    fn a_deletion_goes_before_an_edit_before_an_event_before_a_resync() {
        let mut queue = Queue::new();
        for (key, priority) in [
            ("resync", Priority::Resync),
            ("event", Priority::Event),
            ("edit", Priority::Edit),
            ("deletion", Priority::Deletion),
        ] {
            queue.push(key, at(1), priority);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(at(1))).collect();
        assert_eq!(order, ["deletion", "edit", "event", "resync"]);
    }

    #[test]
    fn an_urgent_key_that_is_not_due_does_not_hold_up_one_that_is() {
        let mut queue = Queue::new();
        queue.push("deletion", at(10), Priority::Deletion);
        queue.push("resync", at(1), Priority::Resync);
        assert_eq!(
            (queue.pop(at(5)), queue.pop(at(5)), queue.pop(at(10))),
            (Some("resync"), None, Some("deletion"))
        );
    }

    #[test]
    fn a_key_runs_once_at_a_time_and_again_for_what_came_meanwhile() {
        let mut queue = Queue::new();
        queue.push("a", at(0), Priority::Event);
        assert_eq!(queue.pop(at(0)), Some("a"));
        queue.push("a", at(0), Priority::Edit);
        assert_eq!((queue.pop(at(9)), queue.len(), queue.running(), queue.next_due()), (None, 0, 1, None));
        queue.done(&"a", at(9));
        assert_eq!((queue.next_due(), queue.running()), (Some(at(9)), 0));
        assert_eq!(queue.pop(at(9)), Some("a"));
    }

    #[test]
    fn a_busy_key_lines_up_behind_those_that_have_waited() {
        let mut queue = Queue::new();
        queue.push("busy", at(0), Priority::Event);
        queue.pop(at(0));
        queue.push("busy", at(1), Priority::Event);
        queue.push("patient", at(2), Priority::Event);
        queue.done(&"busy", at(3));
        assert_eq!((queue.pop(at(3)), queue.pop(at(3))), (Some("patient"), Some("busy")));
    }

    #[test]
    fn a_second_push_makes_a_key_earlier_and_more_urgent_never_less() {
        let mut queue = Queue::new();
        queue.push("a", at(10), Priority::Deletion);
        queue.push("a", at(20), Priority::Resync);
        queue.push("b", at(5), Priority::Edit);
        queue.push("a", at(5), Priority::Resync);
        assert_eq!((queue.len(), queue.next_due()), (2, Some(at(5))));
        assert_eq!((queue.pop(at(5)), queue.pop(at(5))), (Some("a"), Some("b")));
    }

    #[test]
    fn a_removed_key_is_forgotten_even_while_it_runs() {
        let mut queue = Queue::new();
        queue.push("waits", at(0), Priority::Event);
        queue.remove(&"waits");
        queue.push("runs", at(0), Priority::Event);
        assert_eq!(queue.pop(at(0)), Some("runs"));
        queue.push("runs", at(0), Priority::Event);
        queue.remove(&"runs");
        queue.done(&"runs", at(0));
        assert!(queue.is_empty() && queue.running() == 0);
    }

    /// The same promises over one plain list.
    #[derive(Default)]
    struct Model {
        waiting: Vec<(u8, i64, Priority)>,
        running: Vec<(u8, Option<(i64, Priority)>)>,
    }

    impl Model {
        fn push(&mut self, key: u8, due: i64, priority: Priority) {
            if let Some((_, remembered)) = self.running.iter_mut().find(|(running, _)| *running == key) {
                let (d, p) = remembered.unwrap_or((due, priority));
                *remembered = Some((d.min(due), p.max(priority)));
            } else if let Some((_, d, p)) = self.waiting.iter_mut().find(|(waiting, ..)| *waiting == key) {
                (*d, *p) = ((*d).min(due), (*p).max(priority));
            } else {
                self.waiting.push((key, due, priority));
            }
        }

        fn pop(&mut self, now: i64) -> Option<u8> {
            let due = self.waiting.iter().enumerate().filter(|(_, (_, due, _))| *due <= now);
            let (index, _) =
                due.min_by_key(|(index, (_, due, priority))| (Reverse(*priority), *due, *index))?;
            let (key, ..) = self.waiting.remove(index);
            self.running.push((key, None));
            Some(key)
        }

        fn done(&mut self, key: u8, now: i64) {
            let Some(index) = self.running.iter().position(|(running, _)| *running == key) else { return };
            if let (_, Some((due, priority))) = self.running.remove(index) {
                self.waiting.push((key, due.max(now), priority));
            }
        }

        fn remove(&mut self, key: u8) {
            self.waiting.retain(|(waiting, ..)| *waiting != key);
            self.running.iter_mut().filter(|(running, _)| *running == key).for_each(|(_, wish)| *wish = None);
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Push(u8, i64, Priority),
        Pop,
        Done(u8),
        Remove(u8),
        Pass(i64),
    }

    fn op() -> impl Strategy<Value = Op> {
        let priority = prop_oneof![
            Just(Priority::Resync),
            Just(Priority::Event),
            Just(Priority::Edit),
            Just(Priority::Deletion)
        ];
        prop_oneof![
            4 => (0..8_u8, -5..20_i64, priority).prop_map(|(key, due, priority)| Op::Push(key, due, priority)),
            4 => Just(Op::Pop),
            3 => (0..8_u8).prop_map(Op::Done),
            1 => (0..8_u8).prop_map(Op::Remove),
            2 => (0..6_i64).prop_map(Op::Pass),
        ]
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_list(ops in proptest::collection::vec(op(), 0..200)) {
            let (mut queue, mut model, mut now) = (Queue::new(), Model::default(), 0);
            for op in ops {
                match op {
                    Op::Push(key, after, priority) => {
                        queue.push(key, at(now + after), priority);
                        model.push(key, now + after, priority);
                    }
                    Op::Pop => prop_assert_eq!(queue.pop(at(now)), model.pop(now)),
                    Op::Done(key) => {
                        queue.done(&key, at(now));
                        model.done(key, now);
                    }
                    Op::Remove(key) => {
                        queue.remove(&key);
                        model.remove(key);
                    }
                    Op::Pass(seconds) => now += seconds,
                }
                prop_assert_eq!((queue.len(), queue.running()), (model.waiting.len(), model.running.len()));
                let next = model.waiting.iter().map(|(_, due, _)| *due).min();
                match queue.next_due() {
                    // Once something is known to be due, "in the past" is all that is promised.
                    Some(due) if due <= at(now) => prop_assert!(next.is_some_and(|next| next <= now)),
                    due => prop_assert_eq!(due, next.map(at)),
                }
            }
        }
    }
}
