//! Places for passes. A pass that waits for a driver gives its place away and comes back to one before passes that have
//! not begun: clouds that take their time hold up nobody else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// All places. A clone is the same places.
#[derive(Clone)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    given_away: Arc<Notify>,
}

/// The place of one pass.
pub(crate) struct Place {
    all: Places,
    held: Mutex<Held>,
}

struct Held {
    permit: Option<OwnedSemaphorePermit>,
    /// Calls of the pass that it waits for.
    calls: usize,
}

tokio::task_local! {
    static PLACE: Arc<Place>;
}

impl Places {
    pub(crate) fn new(places: usize) -> Self {
        let places = places.clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(places)), given_away: Arc::default() }
    }

    /// A place, unless all are taken. Those that come back get theirs first: the semaphore is fair.
    pub(crate) fn take(&self) -> Option<Place> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(Place { all: self.clone(), held: Mutex::new(Held { permit: Some(permit), calls: 0 }) })
    }

    /// True while no pass can begin.
    pub(crate) fn are_taken(&self) -> bool {
        self.free.available_permits() == 0
    }

    /// Waits until a pass that runs has given its place away.
    pub(crate) async fn given_away(&self) {
        self.given_away.notified().await;
    }
}

impl Place {
    /// Runs a pass here.
    pub(crate) async fn run<T>(self, pass: impl Future<Output = T>) -> T {
        PLACE.scope(Arc::new(self), pass).await
    }

    fn leave(&self) -> Away<'_> {
        let mut held = self.held();
        held.calls += 1;
        let permit = held.permit.take();
        drop(held);
        if permit.is_some() {
            drop(permit);
            self.all.given_away.notify_one();
        }
        Away(self)
    }

    async fn come_back(&self) {
        if self.held().calls > 0 {
            // The last of the calls brings the place back.
            return;
        }
        // It is never closed.
        let permit = Arc::clone(&self.all.free).acquire_owned().await.ok();
        self.held().permit = permit;
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a driver without the place of the pass that asks it. Whoever is no pass just waits.
pub(crate) async fn away<T>(call: impl Future<Output = T>) -> T {
    let Ok(place) = PLACE.try_with(Arc::clone) else { return call.await };
    let away = place.leave();
    let answer = call.await;
    drop(away);
    place.come_back().await;
    answer
}

/// A call that is waited for.
struct Away<'a>(&'a Place);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.held().calls -= 1;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_pass_that_waits_for_a_driver_holds_no_place_and_comes_back_before_others_begin() {
        let places = Places::new(1);
        let (answer, answers) = oneshot::channel();
        let mut pass = Box::pin(places.take().unwrap().run(async { away(answers).await.unwrap() }));
        assert!((&mut pass).now_or_never().is_none());
        places.given_away().await;
        let other = places.take().unwrap();
        assert!(places.are_taken());
        answer.send(7).unwrap();
        assert!((&mut pass).now_or_never().is_none(), "its place is taken");
        drop(other);
        assert!(places.take().is_none(), "it is kept for the pass that has begun");
        assert_eq!(pass.await, 7);
        assert!(!places.are_taken());
    }

    #[tokio::test]
    async fn a_pass_with_two_calls_comes_back_after_both() {
        let places = Places::new(1);
        let (one, first) = oneshot::channel();
        let (two, second) = oneshot::channel();
        let calls = async { join(away(first), away(second)).await };
        let mut pass = Box::pin(places.take().unwrap().run(calls));
        assert!((&mut pass).now_or_never().is_none());
        one.send(1).unwrap();
        assert!((&mut pass).now_or_never().is_none());
        assert!(!places.are_taken());
        two.send(2).unwrap();
        assert_eq!(pass.await, (Ok(1), Ok(2)));
    }

    #[tokio::test]
    async fn a_pass_that_is_cut_off_leaves_its_place() {
        let places = Places::new(1);
        let mut pass = Box::pin(places.take().unwrap().run(away(std::future::pending::<()>())));
        assert!((&mut pass).now_or_never().is_none());
        drop(pass);
        assert!(places.take().is_some());
    }
}
