//! Places for calls, with an order among those that wait for one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::calls::scheduling::urgency::{Alternation, Urgency};

/// Places. A clone is the same places.
#[derive(Clone)]
pub(crate) struct Turnstile(Arc<Mutex<State>>);

/// The right to a place, given back when it is dropped.
pub(crate) struct Pass(Turnstile);

/// A call that waits for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// A call that is under way and gave its place away while it waited for something else.
    Returning,
    /// A call that has not begun.
    New(Urgency),
}

struct State {
    /// Below zero when places were taken that are not there.
    free: isize,
    returning: VecDeque<oneshot::Sender<()>>,
    urgent: VecDeque<oneshot::Sender<()>>,
    patient: VecDeque<oneshot::Sender<()>>,
    alternation: Alternation,
}

impl Turnstile {
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: isize::try_from(places).unwrap_or(isize::MAX),
            returning: VecDeque::new(),
            urgent: VecDeque::new(),
            patient: VecDeque::new(),
            alternation: Alternation::default(),
        })))
    }

    /// A place, unless there is none or others wait for one.
    pub(crate) fn try_acquire(&self) -> Option<Pass> {
        let mut state = self.state();
        if state.free <= 0 || !state.is_empty() {
            return None;
        }
        state.free -= 1;
        Some(Pass(self.clone()))
    }

    /// A place, whether there is one or not: nobody gets another until enough are given back.
    pub(crate) fn force(&self) -> Pass {
        self.state().free -= 1;
        Pass(self.clone())
    }

    /// Waits for a place. Dropping the future gives up the wait.
    pub(crate) async fn acquire(&self, rank: Rank) -> Pass {
        let mut waiting = {
            let mut state = self.state();
            if state.free > 0 && state.is_empty() {
                state.free -= 1;
                return Pass(self.clone());
            }
            let (sender, receiver) = oneshot::channel();
            state.line(rank).push_back(sender);
            Waiting { turnstile: self, receiver }
        };
        // The sender lies in the state, which lives as long as this.
        let _called = (&mut waiting.receiver).await;
        Pass(self.clone())
    }

    /// Places that are free.
    pub(crate) fn free(&self) -> usize {
        usize::try_from(self.state().free).unwrap_or(0)
    }

    fn release(&self) {
        let mut state = self.state();
        state.free += 1;
        while state.free > 0 {
            let Some(next) = state.next() else { return };
            // One that has given up lets the next one go.
            if next.send(()).is_ok() {
                state.free -= 1;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn line(&mut self, rank: Rank) -> &mut VecDeque<oneshot::Sender<()>> {
        match rank {
            Rank::Returning => &mut self.returning,
            Rank::New(Urgency::Urgent) => &mut self.urgent,
            Rank::New(Urgency::Patient) => &mut self.patient,
        }
    }

    fn is_empty(&self) -> bool {
        self.returning.is_empty() && self.urgent.is_empty() && self.patient.is_empty()
    }

    fn next(&mut self) -> Option<oneshot::Sender<()>> {
        if let Some(returning) = self.returning.pop_front() {
            return Some(returning);
        }
        let urgency = match (self.urgent.is_empty(), self.patient.is_empty()) {
            (false, false) => self.alternation.next(),
            (false, true) => Urgency::Urgent,
            (true, _) => Urgency::Patient,
        };
        let next = self.line(Rank::New(urgency)).pop_front()?;
        self.alternation.went(urgency);
        Some(next)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A place in the line.
struct Waiting<'a> {
    turnstile: &'a Turnstile,
    receiver: oneshot::Receiver<()>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        // Called, and gone before it came: the place is somebody else's.
        if self.receiver.try_recv().is_ok() {
            self.turnstile.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    const CREATE: Rank = Rank::New(Urgency::Patient);
    const DELETE: Rank = Rank::New(Urgency::Urgent);

    fn waits(turnstile: &Turnstile, rank: Rank) -> BoxFuture<'static, Pass> {
        let turnstile = turnstile.clone();
        let mut waiting = async move { turnstile.acquire(rank).await }.boxed();
        assert!((&mut waiting).now_or_never().is_none(), "there is no place");
        waiting
    }

    #[test]
    fn a_call_under_way_goes_first_then_deletions_and_looks_and_creates_are_not_forgotten() {
        let turnstile = Turnstile::new(1);
        let mut place = turnstile.try_acquire();
        let ranks = [CREATE, CREATE, DELETE, DELETE, DELETE, DELETE, DELETE, Rank::Returning];
        let mut waiting: Vec<_> =
            ranks.iter().enumerate().map(|(number, rank)| (number, waits(&turnstile, *rank))).collect();
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
        assert!(turnstile.try_acquire().is_none());
        drop(place);
        assert_eq!(turnstile.free(), 1);
    }

    #[test]
    fn a_call_that_gives_up_takes_no_place_with_it() {
        let turnstile = Turnstile::new(1);
        let place = turnstile.try_acquire();
        let (gone, called, next) =
            (waits(&turnstile, CREATE), waits(&turnstile, CREATE), waits(&turnstile, CREATE));
        drop(gone);
        drop(place);
        // The second is called, and goes before it looks.
        drop(called);
        assert!(next.now_or_never().is_some());
        assert_eq!(turnstile.free(), 1);
    }

    #[test]
    fn a_place_that_is_not_there_is_given_back_first() {
        let turnstile = Turnstile::new(1);
        let (one, two) = (turnstile.force(), turnstile.force());
        drop(one);
        assert!(turnstile.try_acquire().is_none());
        drop(two);
        assert!(turnstile.try_acquire().is_some());
    }
}
