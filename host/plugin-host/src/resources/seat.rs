//! The place of a call among the calls in flight. A call that waits for its throttled cloud account gives the place
//! away: otherwise one account could hold all places of its driver. Its instance stays alive meanwhile, so only a few
//! such calls are parked. The other calls of the account wait at its door, before they have an instance.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::resources::priority_semaphore::{Permit, PrioritySemaphore, Rank};
use crate::resources::urgency::Urgency;

/// Instances that wait for an account without a place, over all plugins. The pool of instances has room for them beside
/// those of the calls in flight.
pub(crate) const MOST_PARKED: usize = 64;

/// The place that a call in flight holds.
pub(crate) struct Seat {
    pub(crate) urgency: Urgency,
    /// The class for which the call is made.
    pub(crate) class: Option<String>,
    own: PrioritySemaphore,
    shared: PrioritySemaphore,
    state: Mutex<SeatState>,
    parking: Arc<Semaphore>,
}

#[derive(Default)]
struct SeatState {
    places: Option<(Permit, Permit)>,
    /// The permit of the account's door, until the first request of the call is sent.
    door: Option<Permit>,
    /// Requests of the call that wait. A driver may send several at a time.
    waiting: usize,
    parked: Option<OwnedSemaphorePermit>,
}

impl Seat {
    pub(crate) fn new(
        (urgency, class): (Urgency, Option<String>),
        (own, shared): (PrioritySemaphore, PrioritySemaphore),
        places: (Permit, Permit),
        door: Option<Permit>,
        parking: Arc<Semaphore>,
    ) -> Self {
        let state = Mutex::new(SeatState { places: Some(places), door, ..SeatState::default() });
        Self { urgency, class, own, shared, state, parking }
    }

    /// A request of the call waits for its account: while it does, one call fewer comes through this door.
    pub(crate) fn waits_behind(&self, door: &PrioritySemaphore) {
        let mut state = self.state();
        if state.door.is_none() {
            state.door = Some(door.force());
        }
    }

    /// A request of the call is sent: the next call may come in.
    pub(crate) fn has_turn(&self) {
        let door = self.state().door.take();
        drop(door);
    }

    /// Waits without a place. Afterwards the call gets a place before all calls that have not begun.
    pub(crate) async fn away<T>(&self, wait: impl Future<Output = T>) -> T {
        let away = self.leave();
        let answer = wait.await;
        drop(away);
        self.come_back().await;
        answer
    }

    fn leave(&self) -> Away<'_> {
        let mut state = self.state();
        state.waiting += 1;
        if state.parked.is_none() {
            state.parked = Arc::clone(&self.parking).try_acquire_owned().ok();
        }
        let places = if state.parked.is_some() { state.places.take() } else { None };
        drop(state);
        drop(places);
        Away(self)
    }

    async fn come_back(&self) {
        {
            let mut state = self.state();
            if state.places.is_some() {
                state.end_parking();
                return;
            }
        }
        let own = self.own.acquire(Rank::Returning).await;
        let shared = self.shared.acquire(Rank::Returning).await;
        let mut state = self.state();
        // Another request of the call may have come back meanwhile.
        let spare = state.places.replace((own, shared));
        state.end_parking();
        drop(state);
        drop(spare);
    }

    fn state(&self) -> MutexGuard<'_, SeatState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeatState {
    fn end_parking(&mut self) {
        if self.waiting == 0 {
            self.parked = None;
        }
    }
}

struct Away<'a>(&'a Seat);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    fn seat(places: &PrioritySemaphore, parking: &Arc<Semaphore>) -> Seat {
        let pass = || places.try_acquire().expect("a place");
        let shared = PrioritySemaphore::new(100);
        let taken = (pass(), shared.force());
        Seat::new((Urgency::Normal, None), (places.clone(), shared), taken, None, Arc::clone(parking))
    }

    #[tokio::test]
    async fn a_call_that_waits_for_its_account_gives_its_place_away_and_takes_it_again() {
        let (places, parking) = (PrioritySemaphore::new(1), Arc::new(Semaphore::new(1)));
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
        let (places, parking) = (PrioritySemaphore::new(1), Arc::new(Semaphore::new(0)));
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
