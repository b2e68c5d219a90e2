//! A semaphore for calls, with priorities among those that wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::resources::urgency::{Alternation, Urgency};

/// The semaphore. A clone is the same semaphore.
#[derive(Clone)]
pub(crate) struct PrioritySemaphore(Arc<Mutex<QueueState>>);

/// A permit, given back when it is dropped.
pub(crate) struct Permit(PrioritySemaphore);

/// The priority of a call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// A call that is under way and gave its place away while it waited for something else.
    Returning,
    /// A call that has not begun.
    New(Urgency),
}

struct QueueState {
    /// Below zero when places were taken that are not there.
    free: isize,
    returning: VecDeque<oneshot::Sender<()>>,
    urgent: VecDeque<oneshot::Sender<()>>,
    normal: VecDeque<oneshot::Sender<()>>,
    alternation: Alternation,
}

impl PrioritySemaphore {
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(QueueState {
            free: isize::try_from(places).unwrap_or(isize::MAX),
            returning: VecDeque::new(),
            urgent: VecDeque::new(),
            normal: VecDeque::new(),
            alternation: Alternation::default(),
        })))
    }

    /// Takes a place, unless there is none or others wait for one.
    pub(crate) fn try_acquire(&self) -> Option<Permit> {
        let mut state = self.state();
        if state.free <= 0 || !state.is_empty() {
            return None;
        }
        state.free -= 1;
        Some(Permit(self.clone()))
    }

    /// Takes a place, whether there is one or not: no other call gets one until enough are given back.
    pub(crate) fn force(&self) -> Permit {
        self.state().free -= 1;
        Permit(self.clone())
    }

    /// Waits for a place. Dropping the future gives up the wait.
    pub(crate) async fn acquire(&self, rank: Rank) -> Permit {
        let mut waiting = {
            let mut state = self.state();
            if state.free > 0 && state.is_empty() {
                state.free -= 1;
                return Permit(self.clone());
            }
            let (sender, receiver) = oneshot::channel();
            state.queue(rank).push_back(sender);
            Waiting { priority_semaphore: self, receiver }
        };
        // The sender is in the state, which lives as long as this semaphore.
        let _called = (&mut waiting.receiver).await;
        Permit(self.clone())
    }

    pub(crate) fn free(&self) -> usize {
        usize::try_from(self.state().free).unwrap_or(0)
    }

    fn release(&self) {
        let mut state = self.state();
        state.free += 1;
        while state.free > 0 {
            let Some(next) = state.next() else { return };
            // A call that has given up: the next one gets the place.
            if next.send(()).is_ok() {
                state.free -= 1;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn queue(&mut self, rank: Rank) -> &mut VecDeque<oneshot::Sender<()>> {
        match rank {
            Rank::Returning => &mut self.returning,
            Rank::New(Urgency::Urgent) => &mut self.urgent,
            Rank::New(Urgency::Normal) => &mut self.normal,
        }
    }

    fn is_empty(&self) -> bool {
        self.returning.is_empty() && self.urgent.is_empty() && self.normal.is_empty()
    }

    fn next(&mut self) -> Option<oneshot::Sender<()>> {
        if let Some(returning) = self.returning.pop_front() {
            return Some(returning);
        }
        let urgency = match (self.urgent.is_empty(), self.normal.is_empty()) {
            (false, false) => self.alternation.next(),
            (false, true) => Urgency::Urgent,
            (true, _) => Urgency::Normal,
        };
        let next = self.queue(Rank::New(urgency)).pop_front()?;
        self.alternation.went(urgency);
        Some(next)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A place in the queue.
struct Waiting<'a> {
    priority_semaphore: &'a PrioritySemaphore,
    receiver: oneshot::Receiver<()>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        // The caller is gone, and got a place meanwhile: give it back.
        if self.receiver.try_recv().is_ok() {
            self.priority_semaphore.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    const CREATE: Rank = Rank::New(Urgency::Normal);
    const DELETE: Rank = Rank::New(Urgency::Urgent);

    fn waits(priority_semaphore: &PrioritySemaphore, rank: Rank) -> BoxFuture<'static, Permit> {
        let priority_semaphore = priority_semaphore.clone();
        let mut waiting = async move { priority_semaphore.acquire(rank).await }.boxed();
        assert!((&mut waiting).now_or_never().is_none(), "there is no place");
        waiting
    }

    #[test]
    fn returning_calls_go_first_then_urgent_ones_and_creates_do_not_starve() {
        let priority_semaphore = PrioritySemaphore::new(1);
        let mut place = priority_semaphore.try_acquire();
        let ranks = [CREATE, CREATE, DELETE, DELETE, DELETE, DELETE, DELETE, Rank::Returning];
        let mut waiting: Vec<_> = ranks
            .iter()
            .enumerate()
            .map(|(number, rank)| (number, waits(&priority_semaphore, *rank)))
            .collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(place.take());
            let called = waiting
                .iter_mut()
                .enumerate()
                .find_map(|(at, (_, waiting))| waiting.now_or_never().map(|pass| (at, pass)));
            let (at, pass) = called.expect("one is called");
            place = Some(pass);
            order.push(waiting.remove(at).0);
        }
        assert_eq!(order, [7, 2, 3, 4, 0, 5, 6, 1]);
        assert!(priority_semaphore.try_acquire().is_none());
        drop(place);
        assert_eq!(priority_semaphore.free(), 1);
    }

    #[test]
    fn a_call_that_gives_up_takes_no_place_with_it() {
        let priority_semaphore = PrioritySemaphore::new(1);
        let place = priority_semaphore.try_acquire();
        let (gone, called, next) = (
            waits(&priority_semaphore, CREATE),
            waits(&priority_semaphore, CREATE),
            waits(&priority_semaphore, CREATE),
        );
        drop(gone);
        drop(place);
        // The second call gets the place, and is dropped before it is polled.
        drop(called);
        assert!(next.now_or_never().is_some());
        assert_eq!(priority_semaphore.free(), 1);
    }

    #[test]
    fn a_place_that_is_not_there_is_given_back_first() {
        let priority_semaphore = PrioritySemaphore::new(1);
        let (one, two) = (priority_semaphore.force(), priority_semaphore.force());
        drop(one);
        assert!(priority_semaphore.try_acquire().is_none());
        drop(two);
        assert!(priority_semaphore.try_acquire().is_some());
    }
}
