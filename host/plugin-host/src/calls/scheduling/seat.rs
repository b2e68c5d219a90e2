//! The place of a call among the calls in flight. A call that waits for the turn of its cloud account gives it away: one
//! throttled account would otherwise hold all places of its driver. Its instance stays alive meanwhile, so there is room
//! for a few such calls only, and the others of the account wait at its door, before they have an instance.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::calls::scheduling::turnstile::{Pass, Rank, Turnstile};
use crate::calls::scheduling::urgency::Urgency;

/// Instances that wait for an account without a place, over all plugins. The pool of instances has room for them beside
/// those of the calls in flight.
pub(crate) const MOST_PARKED: usize = 64;

/// The place that a call in flight holds.
pub(crate) struct Seat {
    pub(crate) urgency: Urgency,
    /// The class on behalf of which it is made.
    pub(crate) class: Option<String>,
    own: Turnstile,
    shared: Turnstile,
    held: Mutex<Held>,
    parking: Arc<Semaphore>,
}

#[derive(Default)]
struct Held {
    places: Option<(Pass, Pass)>,
    /// Of the door of its account, until its first request has had its turn.
    door: Option<Pass>,
    /// Requests of the call that wait. A driver may send several at a time.
    waiting: usize,
    parked: Option<OwnedSemaphorePermit>,
}

impl Seat {
    pub(crate) fn new(
        (urgency, class): (Urgency, Option<String>),
        (own, shared): (Turnstile, Turnstile),
        places: (Pass, Pass),
        door: Option<Pass>,
        parking: Arc<Semaphore>,
    ) -> Self {
        let held = Mutex::new(Held { places: Some(places), door, ..Held::default() });
        Self { urgency, class, own, shared, held, parking }
    }

    /// A request of the call waits for its account: while it does, one call fewer comes through this door.
    pub(crate) fn waits_behind(&self, door: &Turnstile) {
        let mut held = self.held();
        if held.door.is_none() {
            held.door = Some(door.force());
        }
    }

    /// A request of the call has its turn: the next call may come in.
    pub(crate) fn has_turn(&self) {
        let door = self.held().door.take();
        drop(door);
    }

    /// Waits without a place, and comes back to one before all calls that have not begun.
    pub(crate) async fn away<T>(&self, wait: impl Future<Output = T>) -> T {
        let away = self.leave();
        let answer = wait.await;
        drop(away);
        self.come_back().await;
        answer
    }

    fn leave(&self) -> Away<'_> {
        let mut held = self.held();
        held.waiting += 1;
        if held.parked.is_none() {
            held.parked = Arc::clone(&self.parking).try_acquire_owned().ok();
        }
        let places = if held.parked.is_some() { held.places.take() } else { None };
        drop(held);
        drop(places);
        Away(self)
    }

    async fn come_back(&self) {
        {
            let mut held = self.held();
            if held.places.is_some() {
                held.end_parking();
                return;
            }
        }
        let own = self.own.acquire(Rank::Returning).await;
        let shared = self.shared.acquire(Rank::Returning).await;
        let mut held = self.held();
        // Another request of the call may have come back meanwhile.
        let spare = held.places.replace((own, shared));
        held.end_parking();
        drop(held);
        drop(spare);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn end_parking(&mut self) {
        if self.waiting == 0 {
            self.parked = None;
        }
    }
}

/// A request waits.
struct Away<'a>(&'a Seat);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.held().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    fn seat(places: &Turnstile, parking: &Arc<Semaphore>) -> Seat {
        let pass = || places.try_acquire().expect("a place");
        let shared = Turnstile::new(100);
        let taken = (pass(), shared.force());
        Seat::new((Urgency::Patient, None), (places.clone(), shared), taken, None, Arc::clone(parking))
    }

    #[tokio::test]
    async fn a_call_that_waits_for_its_account_gives_its_place_away_and_takes_it_again() {
        let (places, parking) = (Turnstile::new(1), Arc::new(Semaphore::new(1)));
        let seat = seat(&places, &parking);
        let (open, opens) = oneshot::channel::<()>();
        let mut away = Box::pin(seat.away(opens));
        assert!((&mut away).now_or_never().is_none());
        let other = places.try_acquire().expect("the place is free");
        let _ = open.send(());
        assert!((&mut away).now_or_never().is_none(), "another has the place");
        let mut late = Box::pin(places.acquire(Rank::New(Urgency::Urgent)));
        assert!((&mut late).now_or_never().is_none());
        drop(other);
        assert!((&mut away).now_or_never().is_some(), "it goes before calls that have not begun");
        assert!((&mut late).now_or_never().is_none());
        drop(away);
        assert_eq!(parking.available_permits(), 1);
        drop(seat);
        assert!(late.now_or_never().is_some());
    }

    #[tokio::test]
    async fn without_room_for_its_instance_a_call_keeps_its_place() {
        let (places, parking) = (Turnstile::new(1), Arc::new(Semaphore::new(0)));
        let seat = seat(&places, &parking);
        let (_open, opens) = oneshot::channel::<()>();
        let mut away = Box::pin(seat.away(opens));
        assert!((&mut away).now_or_never().is_none());
        assert!(places.try_acquire().is_none());
        drop(away);
        drop(seat);
        assert!(places.try_acquire().is_some());
    }
}
